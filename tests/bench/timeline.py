"""What does recording cost, how large is a run, and how fast is any step of it? For `make bench`.

Recording: the block manager's work (see block_manager.py), and 96 requests (256 prompt tokens, 128
output tokens, 2,000 blocks of 16) through a scheduler, with and without a recorder. Size and seek:
256 sequences that grow, leave and come back in a pool of 4,096 blocks of 16, until there are as
many events as asked for; then the state at 200 random steps. Files: 300 requests like ShareGPT's
are simulated, stepped and recorded, and the run is saved (gzipped) and loaded. Medians.
"""

import argparse
import contextlib
import gc
import json
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import block_manager

import pagesim

NUM_SEQS, NUM_BLOCKS, BLOCK_SIZE = 256, 4096, 16


def recording_cost(repeat: int) -> list[dict[str, float | bool]]:
    """Seconds of the block manager's work, plain and recorded, for each kind of it."""
    rows: list[dict[str, float | bool]] = []
    for caching in (False, True):
        for ask_first in (False, True):
            plain, recorded = [], []
            for _ in range(repeat):
                plain.append(sum(block_manager.work(caching, ask_first).values()))
                recorded.append(sum(block_manager.work(caching, ask_first, record=True).values()))
            a, b = statistics.median(plain), statistics.median(recorded)
            rows.append({"enable_caching": caching, "can_append_slots": ask_first, "times": b / a})
    return rows


def scheduling_cost(repeat: int) -> list[dict[str, float | str]]:
    """Seconds inside a scheduler, plain and recorded, for each way to preempt."""
    rows: list[dict[str, float | str]] = []
    for mode in ("recompute", "swap"):
        plain = statistics.median(scheduling(mode) for _ in range(repeat))
        recorded = statistics.median(scheduling(mode, record=True) for _ in range(repeat))
        rows.append({"preemption_mode": mode, "times": recorded / plain})
    return rows


def scheduling(mode: str, record: bool = False) -> float:
    """Seconds in `schedule()` and `free_finished_seq_groups()` until all requests are done."""
    scheduler = pagesim.Scheduler(
        pagesim.SchedulerConfig(4096, 96, 1024, preemption_mode=mode),
        pagesim.CacheConfig(16, 2000, 2000),
        clock=lambda: 0.0,
    )
    for i in range(96):
        prompt = [(i * 7919 + j * 31) % 50_000 for j in range(256)]
        seq = pagesim.Sequence(i, prompt, 16)
        scheduler.add_seq_group(pagesim.SequenceGroup(f"{i}", [seq], float(i)))
    logprobs, seconds = {7: pagesim.Logprob(0.0)}, 0.0
    gc.collect()
    with pagesim.record(scheduler) if record else contextlib.nullcontext():
        while scheduler.has_unfinished_seqs():
            start = perf_counter()
            metadata, outputs, _ = scheduler.schedule()
            seconds += perf_counter() - start
            for given, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
                seq = given.seq_group.first_seq
                seq.data.update_num_computed_tokens(meta.token_chunk_size)
                seq.append_token_id(7, logprobs)
                if seq.get_output_len() >= 128:
                    seq.status = pagesim.SequenceStatus.FINISHED_LENGTH_CAPPED
            start = perf_counter()
            scheduler.free_finished_seq_groups()
            seconds += perf_counter() - start
    return seconds


def long_run(num_events: int) -> pagesim.Timeline:
    """A run of so many events: sequences arrive with 16 tokens, grow to 240, leave, come back."""
    rng = random.Random(0)
    manager = pagesim.SelfAttnBlockSpaceManager(BLOCK_SIZE, NUM_BLOCKS, 0, watermark=0.0)
    logprobs = {7: pagesim.Logprob(0.0)}
    seqs: list[pagesim.Sequence] = []
    with pagesim.record(manager) as run:
        ids = 0
        while len(run) < num_events:
            if len(seqs) < NUM_SEQS:
                seq = pagesim.Sequence(ids, list(range(rng.randrange(1, 32))), BLOCK_SIZE)
                ids += 1
                manager.allocate(pagesim.SequenceGroup(str(ids), [seq]))
                seq.status = pagesim.SequenceStatus.RUNNING
                seqs.append(seq)
                continue
            for seq in seqs[: num_events - len(run)]:
                seq.append_token_id(7, logprobs)
                manager.append_slots(seq, 0)
            done = [seq for seq in seqs if seq.get_len() > 200 + seq.seq_id % 40]
            for seq in done[: num_events - len(run)]:
                manager.free(seq)
                seqs.remove(seq)
    return run


def size_and_seek(num_events: int) -> dict[str, float]:
    """Bytes an event in memory, after all kept states exist, and milliseconds to a random step."""
    gc.collect()
    run = long_run(num_events)
    start = perf_counter()
    run.at(len(run))
    first = perf_counter() - start
    rng = random.Random(1)
    times = []
    for _ in range(200):
        step = rng.randrange(len(run) + 1)
        start = perf_counter()
        run.at(step)
        times.append(perf_counter() - start)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl.gz"
        piece = run[: min(len(run), 20_000)]
        piece.save(path)
        on_disk = path.stat().st_size / len(piece)
    return {
        "events": len(run),
        "bytes_per_event": run.nbytes / len(run),
        "first_seek_s": first,
        "seek_ms": statistics.median(times) * 1e3,
        "seek_p95_ms": sorted(times)[190] * 1e3,
        "file_bytes_per_event": on_disk,
    }


def file_cost(repeat: int) -> dict[str, float]:
    """Seconds to step through a workload, to record that, to save the run and to load it."""
    stream = pagesim.workload.sharegpt_like(300, seed=0)
    seconds: dict[str, list[float]] = {"stepped": [], "recorded": [], "save": [], "load": []}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        gc.collect()
        start = perf_counter()
        result = call()
        seconds[name].append(perf_counter() - start)
        return result

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl.gz"
        for _ in range(repeat):
            timed("stepped", lambda: pagesim.simulate(stream, policy="paged", fast_forward=False))
            made = timed("recorded", lambda: pagesim.simulate(stream, policy="paged", record=True))
            timed("save", lambda run=made.timeline: run.save(path))
            timed("load", lambda: pagesim.load(path))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {"requests": len(stream), "events": len(made.timeline)} | medians


def main() -> None:
    """Print a row of JSON for each cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--events", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    rows: list[dict[str, Any]] = [
        *recording_cost(options.repeat),
        *scheduling_cost(options.repeat),
        *map(size_and_seek, options.events),
        file_cost(options.repeat),
    ]
    for row in rows:
        numbers = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
        print(json.dumps(numbers))


if __name__ == "__main__":
    main()
