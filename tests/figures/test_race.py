"""A moment of a race: areas are slots, numbers are of the run, and what is no race is said."""

from functools import cache

import pytest

from pagesim import Story, figures
from pagesim.errors import UsageError
from pagesim.figures.charts import race as chart
from pagesim.simulation import Limits, Simulation, simulate
from pagesim.workload import Request

POOL = 256


@cache
def served(policy: str, pool: int = POOL) -> Simulation:
    asked = [Request(f"r{i}", 0.01 * i, 20 + 7 * (i % 4), 9 + 8 * (i % 3)) for i in range(9)]
    limits = Limits(max_model_len=64)
    return simulate(asked, policy=policy, pool=pool, limits=limits, record=True, progress=False)


@pytest.mark.parametrize("policy", ["max", "paged", "v1", "token"])
def test_the_score_is_that_of_the_run(policy: str) -> None:
    run = served(policy, POOL + 16 * (policy == "v1"))
    side = chart._side(policy, run)
    assert run.timeline is not None
    for row, end in enumerate(side.ends[:-1]):
        usage = run.waste.at(row)
        held = usage.token + usage.reserved + usage.internal
        expected = (
            f"{usage.batch} run, {100 * usage.token / POOL:.0f} % is written, "
            f"{100 * (held - usage.token) / POOL:.0f} % held and empty"
        )
        assert side.score(end) == expected, row
    assert side.score(side.ends[-1]).startswith("all have finished")


@pytest.mark.parametrize("policy", ["max", "paged", "v1"])
def test_a_slot_has_one_area(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is painted in the memory is what is held, and of it what is written."""
    run = served(policy, POOL + 16 * (policy == "v1"))
    side = chart._side(policy, run)
    moment = side.ends[len(side.ends) // 3]
    painted: list[tuple[str | None, float]] = []
    figure, sheet = chart.page.blank(500, 300)
    monkeypatch.setattr(
        sheet, "rectangle", lambda box, **how: painted.append((how.get("fill", ""), box.w))
    )
    chart._memory(sheet, side, 0.0, 0.0, side.at(moment))
    row = POOL / (chart.CELLS / chart.COLUMNS) / chart.SIDE
    held = sum(w for fill, w in painted if fill == chart.style.HELD) * row
    written = sum(w for fill, w in painted if fill not in ("", None, chart.style.HELD)) * row
    shares = chart.shares(side.at(moment)).values()
    assert held == pytest.approx(sum(all_ for all_, _ in shares)) != 0
    assert written == pytest.approx(sum(full for _, full in shares))
    assert figure is not None


def test_what_is_no_race_is_said() -> None:
    one, other = served("max"), served("paged")
    with pytest.raises(UsageError, match="two runs, not 1"):
        figures.race(one)
    with pytest.raises(UsageError, match="256 and 512"):
        figures.race([one, served("paged", 512)])
    with pytest.raises(UsageError, match="no clock"):
        figures.race([one, Story(gpu_blocks=4).run])
    assert "at 0.00 s" in figures.race([one, other], at=-1).alt
    assert figures.race([one, other], at=99).alt.count("all have finished") >= 1
