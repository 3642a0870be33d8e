"""FORMAT.md is enough: a program that knows only that page finds the states that we find."""

import gzip
import json
import re
from pathlib import Path

import pytest

import pagesim
from pagesim.journal import effects
from pagesim.timeline import file
from pagesim.timeline.header import state_as_dict
from tests.timeline import applier
from tests.timeline.runs import SOURCES, recorded

PAGE = (Path(pagesim.timeline.__file__).parent / "FORMAT.md").read_text()


@pytest.mark.parametrize("kind", SOURCES)
def test_an_independent_reader_finds_the_same_states(kind: str, tmp_path: Path) -> None:
    for seed in range(3):
        run = recorded(kind, seed, 60)
        run[seed % 4 :].save(tmp_path / "run.jsonl.gz")
        count = 0
        for step, state in enumerate(applier.states(tmp_path / "run.jsonl.gz"), seed % 4):
            assert state == json.loads(json.dumps(state_as_dict(run.at(step)))), (seed, step)
            count += 1
        assert count == len(run) - seed % 4 + 1 > 10


def test_the_applier_knows_nothing_of_us() -> None:
    source = Path(applier.__file__).read_text()
    assert not re.search(r"^(import|from) .*(pagesim|tests)", source, re.MULTILINE)


def test_the_page_has_the_table_of_effects() -> None:
    rows = [f"| `{kind.form}` | {kind.meaning} |" for kind in effects.EFFECTS.values()]
    written = PAGE.partition("## Effects\n")[2].splitlines()[2:]
    assert written[: written.index("")] == rows


def test_the_example_of_the_page_is_a_file(tmp_path: Path) -> None:
    story = pagesim.Story(gpu_blocks=3, cpu_blocks=2, block_size=2)
    first = story.arrive("the cat sat")
    second = first.fork()
    second.write("up")
    first.write("down")
    first.leave()
    second.swap_out()
    second.swap_in()
    second.write("slowly")
    second.leave()
    story.run.save(tmp_path / "run.jsonl")
    shown = PAGE.partition("```json\n")[2].partition("```")[0]
    assert shown == (tmp_path / "run.jsonl").read_text() and shown.count("\n") == 10


def test_the_page_names_every_kind_of_event() -> None:
    assert all(
        f"`{word}`" in PAGE for word in (*effects.DECISIONS, *effects.TIER_DECISIONS, "failed")
    )
    asked = [word for word in effects.CALLS if f"`{word}`" not in PAGE]
    assert all("block" in word for word in asked), "only the allocator's calls stand behind a …"


@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_has_only_the_keys_of_the_page(kind: str) -> None:
    keys = set(re.findall(r"^\| (`.*?`) \|", PAGE, re.M))
    known = {word for cell in re.findall(r"^\| (`.*?) \|", PAGE, re.M) for word in cell.split("`")}
    assert len(keys) > 20
    lines = gzip.decompress(file.packed(recorded(kind, 3, 80))).splitlines()
    header, *events = map(json.loads, lines)
    found = {*header, *header["state"], *(key for event in events for key in event)}
    assert found <= known
