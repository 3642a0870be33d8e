"""A block list for each layer, one for all layers, or one for each group of layers that are alike.

Every layer has keys and values of its own, so pages can be kept in three ways:

* rosellm (the small engine with which this study began), as first written: L lists. A page is page
  ``layer · num_blocks + index`` of one large tensor, and every allocation is made L times.
* vLLM: one list. A block id names the same place in the tensor of every layer, and one table
  serves all of them.
* vLLM V1: one list for each *group* of layers that keep the same tokens.

While all layers do the same, their L tables are equal, and all but one are wasted work
(:func:`alike`). When some have a sliding window, they keep less, and one list for all layers keeps
for them what no layer reads (:func:`unlike`). Groups waste neither; that is what they are for.

    python -m pagesim.studies.per_layer                    the three ways in figures
    python -m pagesim.studies.per_layer --out groups.html  and two groups in the player

A group is a `KVCacheManager` of `pagesim.v1` here, with a pool of its own. In vLLM V1 all groups
take their blocks from one pool.
"""

import argparse
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from pagesim import v1
from pagesim.cache.slot_mapping import pad_block_tables
from pagesim.checks import check_int
from pagesim.journal.effects import Name
from pagesim.timeline import Timeline, compare, record
from pagesim.timeline.pair import Compared
from pagesim.v0.block.common import cdiv
from pagesim.workload import Request, Workload
from pagesim.workload.synthetic import gamma

LAYERS, WINDOWED, WINDOW = 12, 10, 64
"""As in Gemma 3, five layers have a window for each layer that has none; its window is longer."""

MAX_NUM_SEQS = 16


@dataclass(frozen=True, slots=True)
class Lists:
    """What one way of keeping lists costs, on average over the steps of a workload.

    ``calls`` of block managers, ``table_bytes`` and ``host_us`` (allocating, freeing and building
    the tables, in µs of this thread) are those of a step. ``equal`` counts the ``steps`` in which
    all lists had the same tables, and ``blocks`` has the blocks in use, list by list.
    """

    steps: int
    equal: int
    calls: float
    table_bytes: float
    host_us: float
    blocks: tuple[float, ...]


def requests() -> Workload:
    """64 requests of 300 prompt and 60 output tokens on average."""
    return gamma(64, 300, 0.6, 60, 0.6)


def alike(
    workload: Workload | None = None, num_layers: int = LAYERS, block_size: int = 16
) -> tuple[Lists, Lists]:
    """One list for all layers, then one for each: the same tables, for L times the work."""
    check_int("num_layers", num_layers, 1)
    workload = workload or requests()
    return play(workload, [None], block_size), play(workload, [None] * num_layers, block_size)


def unlike(workload: Workload | None = None, window: int = WINDOW, block_size: int = 16) -> Lists:
    """Two groups, the second with a sliding ``window`` of tokens: their tables part."""
    return play(workload or requests(), [None, window], block_size)


def groups(window: int = 8) -> Compared:
    """Two groups on three short requests, for the player: full attention beside a window."""
    runs: list[Timeline] = []
    lengths = ((10, 12), (6, 18), (13, 11))
    three = tuple(Request(f"s{i}", 0.0, *tokens) for i, tokens in enumerate(lengths))
    play(Workload("three", "made up", three), [None, window], 4, runs)
    full, kept = runs
    return compare(full, kept, ("Full attention keeps every block", f"A window of {window} tokens"))


def play(
    workload: Workload,
    windows: Sequence[int | None],
    block_size: int = 16,
    runs: list[Timeline] | None = None,
) -> Lists:
    """Serve a workload with a block list for each of ``windows``; None is full attention.

    Up to `MAX_NUM_SEQS` requests run at once, and each has room. ``runs`` is given a recorded run
    of each list; host time means nothing then. UsageError for a window below 1.
    """
    longest = max(request.total_tokens for request in workload)
    num_blocks = 1 + min(MAX_NUM_SEQS, len(workload)) * cdiv(longest, block_size)  # the null block
    managers = [
        v1.KVCacheManager(num_blocks, block_size, longest, False, window) for window in windows
    ]
    calls = table_bytes = equal = steps = 0
    seconds, in_use = 0.0, np.zeros(len(managers))
    with ExitStack() as recording:
        if runs is not None:
            runs += [recording.enter_context(record(manager)) for manager in managers]
        for ended, running, new_tokens in _steps(workload):
            start = process_time()
            tables = []
            for manager in managers:
                for request in ended:
                    manager.free(request)
                for request in running:
                    manager.allocate_slots(request, new_tokens[request.request_id])
                ids = [manager.get_block_ids(request.request_id)[0] for request in running]
                tables.append(pad_block_tables(ids))
            seconds += process_time() - start
            calls += len(managers) * (len(ended) + 2 * len(running))
            if running:
                steps += 1
                table_bytes += sum(table.nbytes for table in tables)
                equal += all(np.array_equal(tables[0], table) for table in tables[1:])
                in_use += [manager.usage * (num_blocks - 1) for manager in managers]
    blocks = tuple((in_use / steps).tolist())
    return Lists(steps, equal, calls / steps, table_bytes / steps, seconds / steps * 1e6, blocks)


def _steps(
    workload: Workload,
) -> Iterator[tuple[list[v1.Request], list[v1.Request], dict[Name, int]]]:
    """Each step: the requests that have ended, those that run, and how many tokens are new.

    The last step only frees. A manager reads a request and does not change it, so all share it.
    A token's id is its position: no manager looks at it.
    """
    waiting, running = deque(workload), list[v1.Request]()
    goals: dict[Name, int] = {request.request_id: request.total_tokens for request in workload}
    while True:
        ended = [each for each in running if each.num_tokens == goals[each.request_id]]
        running = [each for each in running if each not in ended]
        while waiting and len(running) < MAX_NUM_SEQS:
            arrived = waiting.popleft()
            running.append(v1.Request(arrived.request_id, range(arrived.prompt_tokens)))
        new = {each.request_id: each.num_tokens - each.num_computed_tokens for each in running}
        yield ended, running, new
        if not running:
            return
        for request in running:
            request.num_computed_tokens = request.num_tokens
            request.append_output_token_ids(request.num_tokens)


def report(num_layers: int = LAYERS, windowed: int = WINDOWED, window: int = WINDOW) -> str:
    """Both comparisons as text."""
    one, each = alike(num_layers=num_layers)
    two = unlike(window=window)
    full, kept = two.blocks
    exact = (num_layers - windowed) * full + windowed * kept
    lines = [
        f"{num_layers} layers that are alike",
        f"{'':32}{'lists':>6}{'calls':>8}{'bytes of tables':>17}{'host time':>12}   (a step)",
        *(
            f"{name:32}{lists:>6}{it.calls:>8.0f}{it.table_bytes:>17,.0f}{it.host_us:>9,.0f} µs"
            for name, lists, it in (
                ("one list for all (vLLM)", 1, one),
                ("a list for each (rosellm)", num_layers, each),
            )
        ),
        f"the {num_layers} tables were equal in {each.equal} of {each.steps} steps",
        "",
        f"{windowed} of them have a window of {window} tokens",
        f"{'':32}{'lists':>6}{'pages in use, of all layers':>37}   (a step)",
        f"{'one list for all':32}{1:>6}{num_layers * full:>37,.0f}",
        f"{'a list for each':32}{num_layers:>6}{exact:>37,.0f}",
        f"{'a list for each group (vLLM V1)':32}{2:>6}{exact:>37,.0f}",
        f"the 2 tables were equal in {two.equal} of {two.steps} steps",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and write the two groups to a page if asked."""
    parser = argparse.ArgumentParser(prog="python -m pagesim.studies.per_layer")
    parser.description = "A block list for each layer, for all layers, or for each group of them."
    parser.add_argument("--out", type=Path, help="write a page that plays two groups side by side")
    out = parser.parse_args(arguments).out
    print(report())
    if out is not None:
        groups().to_html(out)
        print(f"wrote {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
