"""Every figure takes what there is: a run, its timeline, what was printed, a trace; no more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pagesim import Device, Sequence, Simulation, UsageError, figures, record
from pagesim.figures import sources
from pagesim.figures.scenes import forked_and_swapped
from pagesim.simulation import PARTS, WasteLog, simulate
from pagesim.studies.paper import block_sizes
from pagesim.workload import Request, Workload, load
from tests.commands.runs import requests
from tests.figures.charts import comparison, shown

pytestmark = pytest.mark.ch01

RUNS = (figures.memory_waste, figures.occupancy_timeline, figures.batch_size)
LIMITS: dict[str, Any] = {"pool": 640, "max_model_len": 128}
LENGTHS = [(20 + 7 * i % 50, 10 + 11 * i % 40) for i in range(12)]


@pytest.fixture(scope="module")
def recorded() -> Simulation:
    requests = [Request(str(i), 0.0, *lengths) for i, lengths in enumerate(LENGTHS)]
    return simulate(requests, record=True, saturated=True, progress=False, **LIMITS)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    rows = [f"{50 * i},{prompt},{output}" for i, (prompt, output) in enumerate(LENGTHS)]
    return requests(tmp_path / "trace.csv", *rows)


def test_a_timeline_says_what_the_log_of_its_run_says(recorded: Simulation) -> None:
    """Step by step: tokens, empty slots of blocks, what is free, and the batch."""
    run = recorded.timeline
    log, rebuilt = recorded.waste, sources.log_of(run)
    assert len(rebuilt) == log.iterations > 50
    for name in ("token", "reserved", "internal", "batch"):
        assert rebuilt.column(name).tolist() == log.column(name).tolist(), name
    unused = log.column("external") + log.column("free")
    assert rebuilt.column("free").tolist() == unused.tolist()
    assert rebuilt.seconds.tolist() == list(range(1, len(rebuilt) + 1))


def test_shared_and_swapped_blocks_count_once_and_not_at_all() -> None:
    manager = forked_and_swapped()
    with record(manager) as run:
        manager.free(Sequence(2, [1], 4))
    usage = sources.log_of(run).at(-1)
    # A and B share two full blocks, and each has a third one with two tokens; C was on the CPU.
    assert (usage.token, usage.internal, usage.reserved) == (4 + 4 + 2 + 2, 4, 0)
    assert (usage.external, usage.free) == (0, 4 * (12 - 4))
    assert sources.log_of(run).at(0).batch == 2
    manager = forked_and_swapped()
    with record(manager) as run:
        manager.free(Sequence(1, [1], 4))
    usage = sources.log_of(run).at(-1)
    assert (usage.token, usage.internal, usage.external, usage.free) == (10, 2, 0, 4 * (12 - 3))
    with record(manager) as run:
        manager.block_allocator.allocate_mutable_block(None, Device.GPU)
    assert sources.log_of(run).at(-1).external == 4, "on no table and on no list"


@pytest.mark.parametrize("draw", RUNS)
def test_a_run_and_its_files_give_one_picture(
    draw: Callable[..., figures.Picture], recorded: Simulation, tmp_path: Path
) -> None:
    run, path = recorded.timeline, tmp_path / "run.jsonl.gz"
    run.save(path)
    options = {"by": "iterations"} if draw is figures.occupancy_timeline else {}
    texts = [
        figures.alt_text(draw({"it": source}, notes=["x"], **options))
        for source in (run, str(path))
    ]
    assert len({*texts}) == 1 and "it" in texts[0]
    assert "paged (vLLM)" in shown(draw(recorded))
    assert "run" in shown(draw(path))
    assert "paged (vLLM)" in shown(draw([recorded, run]))
    assert shown(draw([recorded, recorded])).count("paged (2)") == 1


@pytest.mark.parametrize("draw", RUNS)
def test_a_trace_is_simulated_under_the_policies(
    draw: Callable[..., figures.Picture], trace: Path
) -> None:
    options = LIMITS | {"policies": ("max", "paged")}
    picture = draw(trace, **options)
    words = shown(picture)
    assert {"Orca (Max)", "paged (vLLM)"} <= set(words)
    assert "12 requests of trace.csv, in 640 slots." in words
    given = LIMITS | {"saturated": True, "progress": False}
    runs = {policy: simulate(load(trace), policy=policy, **given) for policy in ("max", "paged")}
    assert figures.alt_text(draw(runs)) == figures.alt_text(picture)
    assert figures.alt_text(draw(load(trace), **options)) == figures.alt_text(picture)
    assert "mine, max" in shown(draw({"mine": trace}, **options))


@pytest.mark.parametrize("draw", [figures.memory_waste, figures.batch_size])
def test_what_the_command_printed_is_drawn(
    draw: Callable[..., figures.Picture], recorded: Simulation, tmp_path: Path
) -> None:
    simulated, wasted, other = (tmp_path / name for name in ("s.json", "w.json", "o.json"))
    simulated.write_text(json.dumps({"ok": True, **recorded.summary()}))
    wasted.write_text(json.dumps({"policies": {"paged": recorded.waste.mean()}, "source": "x"}))
    plain = figures.alt_text(draw(recorded, notes=["x"]))
    for path in (simulated, wasted):
        assert figures.alt_text(draw(path, notes=["x"])) == plain
        with pytest.raises(UsageError, match="means have no iterations: give the run"):
            figures.occupancy_timeline(path)
    for text, message in (
        ("{}", r"o\.json: there are no means in this file: write it with"),
        ('{"waste": null}', r"o\.json: there are no means in this file"),
        ("[1]", r"o\.json: must be a JSON object, not \[1\]"),
        ("{", r"o\.json: not JSON: "),
    ):
        other.write_text(text)
        with pytest.raises(UsageError, match=message):
            draw(other)


def test_a_comparison_brings_its_published_numbers_and_its_notes() -> None:
    row = dict.fromkeys(PARTS, 20.0) | {"batch": 3.0}
    found = comparison({"max": row}, {"max": {"token": 33.3}})
    words = shown(figures.memory_waste(found))
    assert {"33.3", "by hand", "nothing was calibrated"} <= set(words)


def test_block_sizes_of_runs_of_a_trace_and_of_the_paper(trace: Path) -> None:
    given = LIMITS | {"saturated": True, "progress": False}
    runs = [simulate(load(trace), block_size=n, **given) for n in (16, 4)]
    drawn = figures.block_size_sweep(runs)
    again = figures.block_size_sweep(trace, sizes=(4, 16), **LIMITS)
    assert figures.alt_text(drawn) == figures.alt_text(again)
    assert "Percent of the cache's 640 slots without a token, on average" in shown(drawn)
    found = block_sizes((1, 16), n=50)
    assert "15,728" in " ".join(shown(figures.block_size_sweep(found)))
    with pytest.raises(UsageError, match="'max' has no block size"):
        figures.block_size_sweep(simulate(load(trace), policy="max", **given))
    half = simulate(load(trace), block_size=4, pool=320, progress=False)
    with pytest.raises(UsageError, match=r"pools of \[320, 640\] slots: draw equal pools"):
        figures.block_size_sweep([runs[0], half])


def test_sharing_of_recorded_samples(trace: Path) -> None:
    requests = [Request(str(i), 0.0, 16, 8) for i in range(3)]
    given: dict[str, Any] = {"block_size": 4, "record": True, "progress": False}
    one, two = (simulate(requests, pool=640, samples=n, **given) for n in (1, 2))
    words = shown(figures.sharing({"one": one, "two": two}))
    assert "0.0" in words
    # Of 2 x (4 + 1) blocks at the least, 2 x (4 + 2) at the most, the 4 of the prompt are shared.
    (saved,) = [float(w) for w in words if w.replace(".", "").isdecimal() and 30 < float(w) < 41]
    assert saved
    with pytest.raises(UsageError, match=r"trace\.csv is a trace of requests: .* samples=2"):
        figures.sharing(trace)
    with pytest.raises(UsageError, match="'max' recorded no pages"):
        figures.sharing(simulate(requests, policy="max", pool=4096, progress=False))


def test_a_timeline_of_v1_tells_what_the_simulation_counted() -> None:
    """The null block is in no share, and what is cached and free is apart; a wait is not known."""
    requests = [Request(str(i), 0.0, 1024, 40, (7, i)) for i in range(4)]
    given: dict[str, Any] = {"pool": 1600, "record": True, "progress": False}
    for window in (None, 200):
        run = simulate(requests, policy="v1", sliding_window=window, **given)
        log = sources.log_of(run.timeline)
        steps = [i for i in range(len(log)) if log.at(i).batch]
        assert run.preemptions or window
        assert len(steps) == run.iterations > 40
        for part in ("token", "internal", "cached", "batch"):
            assert log.column(part)[steps].tolist() == run.waste.column(part).tolist(), part
        assert set(log.column("external")) == {0}
        assert log.pool == run.waste.pool == 1600 - 16
        assert max(log.column("cached")) > 0


def test_a_trace_with_hashes_is_measured() -> None:
    requests = [Request(str(i), 0.0, 1024, 1, (7, 8 + i)) for i in range(4)]
    picture = figures.prefix_hits(Workload("mine", "my trace", tuple(requests)))
    assert "Data: the first 4 requests of my trace" in figures.alt_text(picture)
    assert "37.50 % with endless room: 3 of the 8 full blocks" in figures.alt_text(picture)
    with pytest.raises(UsageError, match="hash"):
        figures.prefix_hits(Workload("mine", "x", (Request("0", 0.0, 9, 9),)))


def test_reports_come_as_data_as_objects_and_as_files(tmp_path: Path) -> None:
    data = Path(figures.__path__[0]) / "data" / "thread_map.json"
    plain = json.loads(data.read_text("utf-8"))
    assert figures.alt_text(figures.thread_map(data)) == figures.alt_text(figures.thread_map(plain))
    assert figures.alt_text(figures.kv_size("opt-13b")).startswith("Bytes per token")
    known = next((Path(__file__).parents[1] / "data" / "configs").glob("*.json"))
    assert figures.alt_text(figures.kv_size(known)).startswith("Bytes per token")
    config = tmp_path / "config.json"
    config.write_text("{}")
    with pytest.raises(UsageError, match=r"config\.json"):
        figures.kv_size(config)


@pytest.mark.parametrize(
    ("draw", "refused", "way_out"),
    [
        (figures.memory_waste, 3, r"give a pagesim\.Simulation, a Timeline"),
        (figures.occupancy_timeline, {"a": object()}, r"give a pagesim\.Simulation"),
        (figures.batch_size, [None], r"give a pagesim\.Simulation"),
        (figures.block_size_sweep, 3.5, r"give a pagesim\.Simulation"),
        (figures.sharing, object(), r"give a pagesim\.Simulation"),
        (figures.kv_size, 3, "give ModelSpecs, names of presets"),
        (figures.kv_size, [3], "give ModelSpecs, names of presets"),
        (figures.prefix_hits, WasteLog(3), r"give what figures\..*measure\(workload\)"),
        (figures.roofline, WasteLog(3), r"give what python -m pagesim\.kernels\.bench"),
        (figures.thread_map, [1], r"give what kernels\.simt\.thread_map\(config\) makes"),
        (figures.access_map, WasteLog(3), r"give what kernels\.xray\(…\) makes, or its JSON file"),
    ],
)
def test_what_cannot_be_drawn_is_said_by_name(
    draw: Callable[..., figures.Picture], refused: Any, way_out: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{draw.__name__} cannot draw an? \w+: {way_out}"):
        draw(refused)


def test_a_timeline_has_no_clock(recorded: Simulation) -> None:
    with pytest.raises(UsageError, match="'recorded run' is a timeline, which has no clock"):
        figures.occupancy_timeline(recorded.timeline, by="seconds")
