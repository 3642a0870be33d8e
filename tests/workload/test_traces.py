"""The trace in the package is the published one."""

from pathlib import Path

import pytest

from pagesim.studies.prefix_hits import ids_seen_before
from pagesim.workload import load, mooncake_conversation

PUBLISHED = Path(__file__).parents[1] / "data" / "mooncake_conversation-first250.jsonl.gz"
SHARED = Path(__file__).parents[3] / "shared" / "waste" / "traces"


def test_it_begins_as_the_original_does() -> None:
    assert mooncake_conversation().first(250).requests == load(PUBLISHED).requests


def test_it_is_all_there_and_names_its_source() -> None:
    trace = mooncake_conversation()
    seen = ids_seen_before(trace)
    assert (len(trace), seen.lookups, seen.hits) == (1000, 27305, 5791)
    assert trace.name == "mooncake_conversation" and "Apache-2.0" in trace.source
    assert trace is mooncake_conversation()


def test_it_is_the_beginning_of_the_longer_extract() -> None:
    path = SHARED / "mooncake_fast25_conversation_first3000_hashes.csv"
    if not path.exists():
        pytest.skip("the longer extract is not here")
    assert mooncake_conversation().requests == load(path, first=1000).requests
