"""How fast is the block manager? Prints operations per second; run by `make bench`.

The work: 64 sequences with prompts of 512 tokens are allocated, each then gets 256 tokens, one a
step (`append_slots`; in half of the rows `can_append_slots` is asked before, as the scheduler
does), and all are freed. Blocks of 16 slots, a pool of 4,096. The medians of several runs; an
operation is one call of the manager's.
"""

import argparse
import contextlib
import gc
import json
import statistics
from time import perf_counter

import pagesim

NUM_SEQS, PROMPT, TOKENS, BLOCK_SIZE, NUM_BLOCKS = 64, 512, 256, 16, 4096


def work(enable_caching: bool, ask_first: bool, record: bool = False) -> dict[str, float]:
    """Seconds spent in allocating, appending and freeing, in one run of the work."""
    manager = pagesim.SelfAttnBlockSpaceManager(
        BLOCK_SIZE, NUM_BLOCKS, 0, enable_caching=enable_caching
    )
    with pagesim.record(manager) if record else contextlib.nullcontext():
        return _work(manager, ask_first)


def _work(manager: pagesim.SelfAttnBlockSpaceManager, ask_first: bool) -> dict[str, float]:
    groups = []
    for i in range(NUM_SEQS):
        prompt = [(i * 1_000_003 + j * 7919) % 50_000 for j in range(PROMPT)]
        seq = pagesim.Sequence(i, prompt, BLOCK_SIZE)
        groups.append(pagesim.SequenceGroup(str(i), [seq]))
    members = [group.first_seq for group in groups]
    gc.collect()

    start = perf_counter()
    for group in groups:
        manager.allocate(group)
    seconds = {"allocate": perf_counter() - start, "append": 0.0}
    for seq in members:
        seq.status = pagesim.SequenceStatus.RUNNING
    logprobs = {7: pagesim.Logprob(0.0)}
    for _ in range(TOKENS):
        for seq in members:
            seq.append_token_id(7, logprobs)
        start = perf_counter()
        for group, seq in zip(groups, members, strict=True):
            if not ask_first or manager.can_append_slots(group, 0):
                manager.append_slots(seq, 0)
        seconds["append"] += perf_counter() - start
    start = perf_counter()
    for seq in members:
        manager.free(seq)
    seconds["free"] = perf_counter() - start
    if manager.get_num_free_gpu_blocks() != NUM_BLOCKS:
        raise RuntimeError("blocks were lost: the figures mean nothing")
    return seconds


def measure(enable_caching: bool, ask_first: bool, repeat: int) -> dict[str, float | bool]:
    """Operations per second of one kind of work, from the median of ``repeat`` runs."""
    work(enable_caching, ask_first)
    runs = [work(enable_caching, ask_first) for _ in range(repeat)]
    median = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
    total = statistics.median(sum(run.values()) for run in runs)
    appends = NUM_SEQS * TOKENS * (2 if ask_first else 1)
    return {
        "enable_caching": enable_caching,
        "can_append_slots": ask_first,
        "ops_per_s": round((2 * NUM_SEQS + appends) / total),
        "appends_per_s": round(appends / median["append"]),
        "prompt_blocks_per_s": round(NUM_SEQS * PROMPT / BLOCK_SIZE / median["allocate"]),
        "freed_blocks_per_s": round(NUM_SEQS * (PROMPT + TOKENS) / BLOCK_SIZE / median["free"]),
    }


def main() -> None:
    """Print a row of JSON for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="runs of each row (default 7)")
    repeat = parser.parse_args().repeat
    for enable_caching in (False, True):
        for ask_first in (False, True):
            print(json.dumps(measure(enable_caching, ask_first, repeat)))


if __name__ == "__main__":
    main()
