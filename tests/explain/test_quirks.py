"""What surprises people is recognized in the scene that shows it."""

import pytest

from pagesim.explain.reading import history_of
from pagesim.explain.report import findings
from pagesim.quirks import get, quirks

FOUND = {
    **{name: name for name in ("w04", "w08", "w09", "w10", "w13", "w15", "w23")},
    **{name: name for name in ("q16", "q18", "q19", "q20", "q21", "q22", "q43")},
    **{name: name for name in ("g06", "g09", "o01", "o06", "o12", "o16", "o21")},
    "w01": "w08",  # it is one block too large, and that block is the null block
    "g05": "g04",
    "g07": "g04",
    "g10": "g09",
    "g11": "g09",
}


@pytest.mark.parametrize(("name", "quirk"), FOUND.items())
def test_a_surprise_is_recognized_in_its_scene(name: str, quirk: str) -> None:
    run = get(name).scenario().run
    assert run is not None
    assert quirk in [finding.quirk for finding in findings(history_of(run))]


def test_a_load_is_no_wait_for_room() -> None:
    run = get("o16").scenario().run
    assert run is not None
    assert "o21" not in [finding.quirk for finding in findings(history_of(run))]


def test_whatever_a_report_names_can_be_read() -> None:
    known = {quirk.quirk_id for quirk in quirks()}
    named = set()
    for quirk in quirks():
        if (run := quirk.scenario().run) is not None:
            named |= {finding.quirk for finding in findings(history_of(run))}
    assert named - {None} <= known and len(named) > 15
