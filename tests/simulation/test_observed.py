"""What a run of V1 tells of its blocks: for a router, and about their lives."""

import json
import math
import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.simulation import Paged, PagedV1, Simulation
from pagesim.simulation.observed import KVEvents
from pagesim.v1 import AllBlocksCleared, BlockRemoved, BlockStored
from pagesim.v1.kv_event_files import KVEventBatch, read_kv_events
from pagesim.v1.kv_event_index import RouterIndex
from pagesim.workload.request import Request, Workload
from tests.commands.runs import Shell


class Seconds:
    """A clock on which every step takes a second."""

    def seconds(self, *_: int) -> float:
        return 1.0


def asking(*texts: str, outputs: int = 2) -> Workload:
    """Requests that come one by one, each long after the one before; a letter is a token."""
    rows = enumerate(texts)
    return Workload(
        "letters",
        "given",
        tuple(
            Request(str(i), 10.0 * i, len(t), outputs, token_ids=tuple(map(ord, t)))
            for i, t in rows
        ),
    )


def run(workload: Workload, slots: int, **options: Any) -> Simulation:
    options = {
        "policy": "v1",
        "block_size": 2,
        "cost_model": Seconds(),
        "max_model_len": 64,
    } | options
    return pagesim.simulate(workload, pool=slots, progress=False, **options)


LONG = "PAGESIM_STREAMS" in os.environ  # make nightly
MANY = pagesim.workload.sharegpt_like(25, seed=3)
STREAM, POOL = (MANY, 3000) if LONG else (pagesim.workload.sharegpt_like(12, seed=3), 1500)
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "asynchronous": {"async_scheduling": True},
    "window": {"sliding_window": 40},
    "groups": {"groups": "full,window:64", "retention_interval": None},
    "no caching": {"enable_prefix_caching": False},
}


def served(stream: Workload = STREAM, **options: Any) -> Simulation:
    options = {"policy": "v1", "pool": POOL, "progress": False} | options
    return pagesim.simulate(stream, **options)


@pytest.mark.parametrize("name", CASES)
def test_observing_changes_nothing(name: str) -> None:
    plain, seen = served(**CASES[name]), served(kv_events=True, residency=1.0, **CASES[name])
    assert plain.waste.rows.tolist() == seen.waste.rows.tolist()
    assert plain.requests.finished == seen.requests.finished
    extra = {"kv_events", "residency"}
    assert {k: v for k, v in seen.summary().items() if k not in extra} == plain.summary()
    assert seen.summary().keys() - plain.summary().keys() == extra
    assert plain.kv_events is None and plain.residency is None


@pytest.mark.parametrize("name", CASES)
def test_a_router_knows_at_the_end_what_is_cached(name: str) -> None:
    seen = served(kv_events=True, record=True, **CASES[name])
    assert seen.kv_events is not None and seen.timeline is not None
    assert seen.timeline.notes.kv_events == ("GPU",)
    index = RouterIndex()
    index.apply(chain.from_iterable(batch.events for batch in seen.kv_events))
    num_known = sum(sum(copies.values()) for copies in index.copies.values())
    assert num_known == len(seen.timeline.at(-1).cached)
    assert (num_known > 0) == (name != "no caching")
    ends = set(seen.waste.seconds.tolist())
    times = [batch.ts for batch in seen.kv_events]
    assert times == sorted(times) and set(times) <= ends


def test_the_second_tier_is_heard_of_as_well() -> None:
    plain, seen = (
        served(MANY, pool=3000, cpu_blocks=100, kv_events=told) for told in (False, True)
    )
    assert seen.kv_events is not None and seen.tier is not None
    heard, copied = seen.kv_events.summary(), seen.tier.summary()
    assert heard["stored"]["CPU"] == copied["blocks_out"] > 100
    assert heard["removed"]["CPU"] == copied["evicted_blocks"] > 0
    assert plain.waste.rows.tolist() == seen.waste.rows.tolist()


def test_a_batch_is_published_when_its_step_ends() -> None:
    seen = run(asking("aabbc"), 20, kv_events=True)
    assert seen.kv_events is not None
    first, second = seen.kv_events
    assert (first.ts, second.ts) == (1.0, 2.0)
    (event,) = first.events
    assert isinstance(event, BlockStored) and event.token_ids == list(map(ord, "aabb"))


def test_lives_by_hand() -> None:
    """Three blocks: two of "aabb" live from 0, are found at 10 and 20, and end at 30.

    The third is taken at 0, 10 and 20 for the last token and what follows it, and lasts 10 each.
    """
    seen = run(asking("aabbc", "aabbc", "aabbc", "ddeef"), 8, residency=1.0)
    assert seen.residency is not None
    lives = seen.residency
    assert sorted(lives.lifetime) == [10, 10, 10, 30, 30]
    assert sorted(lives.idle) == [10, 10, 10, 10, 10]
    assert lives.reuse_gaps.tolist() == [10, 10]
    assert (lives.alive, lives.sample_rate) == (3, 1.0)
    summary = lives.summary()
    assert summary["lifetime"] == {"mean": 18.0, "p50": 10.0, "p90": 30.0, "p99": 30.0}
    assert (summary["ended"], summary["alive"]) == (5, 3)
    assert json.loads(json.dumps(seen.summary()))["residency"] == summary


def test_a_sample_is_the_same_each_time_and_without_caching_nothing_ends() -> None:
    first, second = served(residency=0.2).residency, served(residency=0.2).residency
    everything = served(residency=1.0).residency
    assert first is not None and second is not None and everything is not None
    assert first.lifetime.tolist() == second.lifetime.tolist()
    assert 0.1 < len(first.lifetime) / len(everything.lifetime) < 0.3
    nothing = served(residency=1.0, enable_prefix_caching=False).residency
    assert nothing is not None and nothing.summary()["lifetime"]["mean"] is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"policy": "paged", "kv_events": True}, UsageError, "vLLM V1, not of policy 'paged'"),
        ({"policy": "max", "residency": 0.5}, UsageError, "vLLM V1, not of policy 'max'"),
        ({"policy": Paged(), "kv_events": True}, UsageError, "pass policy='v1'"),
        ({"fast_forward": True, "kv_events": True}, UsageError, "need every step. Omit it"),
        ({"policy": PagedV1(fast_forward=True), "residency": 1}, UsageError, "need every step"),
        ({"kv_events": 1}, TypeError, "kv_events must be True or False, not 1"),
        ({"residency": True}, TypeError, "residency must be a number, not True"),
        ({"residency": 0}, UsageError, "residency must be a fraction above 0 and at most 1, not 0"),
        ({"residency": 1.5}, UsageError, "residency must be a fraction .* not 1.5"),
        ({"residency": math.nan}, UsageError, "residency must be a number, not nan"),
    ],
)
def test_what_cannot_be_observed_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        served(**options)


def test_the_summary_of_events_counts_hashes_by_medium() -> None:
    stored, chunk = BlockStored([1, 2], None, [], 2), BlockStored([7], None, [], 0, medium="CPU")
    events = KVEvents([KVEventBatch(0, [stored, chunk]), KVEventBatch(1, [BlockRemoved([1])])])
    events.append(KVEventBatch(2, [AllBlocksCleared()]))
    counts = {"stored": {"GPU": 2, "CPU": 1}, "removed": {"GPU": 1}, "cleared": 1}
    assert events.summary() == {"batches": 3} | counts


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,50,30\n0.1,80,10\n0.2,20,40\n")
    return path


def test_the_command_writes_events_and_reports_lives(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, out = Shell(capsys), tmp_path / "events.jsonl.gz"
    options = ("simulate", trace, "--policy", "v1", "--pool", "400", "--residency", "1")
    answer = shell.answer(*options, "--kv-events", out, "--compare", "paged")
    batches = KVEvents(read_kv_events(out))
    assert answer["kv_events"] == batches.summary() and answer["kv_events_jsonl"] == str(out)
    assert answer["kv_events"]["stored"]["GPU"] > 5 and answer["residency"]["ended"] > 0
    assert "residency" not in answer["compared"]
    text, plain = shell(*options), shell(*options[:-2])
    assert "lifetime" in text and "lifetime" not in plain and "KV events" not in text


def test_the_command_refuses_another_engine(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "events.jsonl"
    refusal: Callable[..., str] = Shell(capsys).refusal
    assert "vLLM V1" in refusal("simulate", trace, "--pool", "400", "--kv-events", out)
    assert not out.exists()
