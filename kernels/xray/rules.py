"""What a correct kernel does not do, judged by its accesses alone.

Every kernel: no access outside the tensors of the call; no element written by one program and
touched by another of the same launch (programs run in no order, so that is a race); and nothing
written but what the launcher made itself.

Attention: a program may read what the rows and heads of q that it holds can see, and no element
twice. Together, the programs of a row and a head read every visible slot exactly once: a slice each
when the KV axis is split. A prefill's tile may read what only its later rows see.

Writers of the cache: only the slots that `slot_mapping` names, or the destination blocks of `pairs`
(read: the source blocks), each element once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import torch

from pagesim.kernels.xray.accesses import Numbers, Program, Region
from pagesim.kernels.xray.ownership import Arguments, Ownership

Programs = Sequence[Program]
Regions = Mapping[str, Region]


def problems(
    programs: Programs, regions: Regions, arguments: Arguments, ownership: Ownership | None
) -> list[str]:
    """One sentence for each thing that is wrong; [] for a trace in order."""
    found = [*_outside(programs), *_races(programs, regions), *_inputs_written(programs, arguments)]
    if ownership is not None:
        found += _attention(programs, regions, arguments["q"].shape[1], ownership)
    if "slot_mapping" in arguments:
        found += _slots_written(programs, regions, arguments["slot_mapping"])
    elif "pairs" in arguments:
        found += _blocks_copied(programs, regions, arguments["pairs"].tolist())
    return found


def _outside(programs: Programs) -> Iterator[str]:
    for program in programs:
        for access in program.accesses:
            if access.region is None:
                yield (
                    f"{program.label}: {access.kind} of {access.elements.size} elements outside "
                    "every tensor of the call"
                )


def _races(programs: Programs, regions: Regions) -> Iterator[str]:
    """Elements with a writer, and another program that touches them in the same launch."""
    launches: dict[tuple[int, str], list[tuple[int, str, Numbers]]] = {}
    for number, program in enumerate(programs):
        for access in program.accesses:
            if access.region is not None:
                group = launches.setdefault((program.launch, access.tensor), [])
                group.append((number, access.kind, access.elements))
    for (_, tensor), group in launches.items():
        region = regions[tensor]
        writes = [touch for touch in group if touch[1] == "write"]
        others = [touch for touch in group if touch[1] != "write"]
        writer = np.full(region.size if writes else 0, -1)
        for number, kind, elements in [*writes, *others] if writes else ():
            before = writer[elements]
            clash = (before >= 0) & (before != number)
            if clash.any():
                first = int(np.argmax(clash))
                yield (
                    f"{programs[number].label} {kind}s {_at(region, elements[first])}, which "
                    f"{programs[int(before[first])].label} writes: programs run in no order"
                )
            if kind == "write":
                writer[elements] = number


def _inputs_written(programs: Programs, arguments: Arguments) -> Iterator[str]:
    moves = "slot_mapping" in arguments or "pairs" in arguments
    for program in programs:
        for access in [*program.of("write"), *program.of("atomic")]:
            region = access.region
            if region is not None and region.from_caller and not (moves and region.is_cache):
                yield f"{program.label} writes {region.name}, which is not an output"


def _attention(
    programs: Programs, regions: Regions, num_heads: int, ownership: Ownership
) -> Iterator[str]:
    caches = [region for region in regions.values() if region.is_cache]
    visible = [sorted(ownership.visible(row)) for row in range(len(ownership.queries))]
    for region in caches:
        group = num_heads // region.shape[2]
        # What a row of q sees of a KV head: slot · KV heads + KV head.
        steps = np.array([region.shape[1], 1]) * region.shape[2]
        seen = {
            (row, kv_head): np.array(slots, dtype=np.int64).reshape(-1, 2) @ steps + kv_head
            for row, slots in enumerate(visible)
            for kv_head in range(region.shape[2])
        }
        # How often each row and head of q has read each slot that it sees.
        met = {
            (row, head): np.zeros(len(slots), dtype=np.int64)
            for row, slots in enumerate(visible)
            for head in range(num_heads)
        }
        for program in programs:
            rows, heads = program.rows, program.heads
            kv_heads = sorted({head // group for head in heads})
            reads = [access.elements for access in program.of("read", region.name)]
            if reads:
                elements, times = np.unique(np.concatenate(reads), return_counts=True)
                may = [seen[pair] for pair in product(rows, kv_heads)]
                yield from _read(program, region, may, elements, times, ownership)
                for row, head in product(rows, heads):
                    met[row, head] += np.isin(seen[row, head // group], elements // region.shape[3])
        for (row, head), times in met.items():
            wrong = np.flatnonzero(times != 1)
            if wrong.size:
                yield (
                    f"sequence {ownership.queries[row].seq}, row {row} of q, head {head}: "
                    f"{region.name}'s {_slot(visible[row][wrong[0]])} was read {times[wrong[0]]} "
                    f"times, expected once ({wrong.size} slots like this)"
                )


def _read(
    program: Program,
    region: Region,
    may: list[Numbers],
    elements: Numbers,
    times: Numbers,
    ownership: Ownership,
) -> Iterator[str]:
    """What is wrong with one program's reads of one cache: `may` is what its rows see."""
    found, widths = np.unique(elements // region.shape[3], return_counts=True)
    foreign = found[~np.isin(found, np.concatenate(may))] if may else found
    if foreign.size:
        block, row, _ = np.unravel_index(int(foreign[0]), region.shape[:3])
        owners = ownership.owners.get((int(block), int(row)), [])
        whose = f"a slot of sequence {owners[0]}" if owners else "a slot of no sequence"
        mine = ", ".join(map(str, ownership.sequences(program.rows))) or "none"
        yield (
            f"{program.label} works for sequence {mine} and reads "
            f"{_at(region, foreign[0] * region.shape[3])}, {whose}, which it must not see "
            f"({foreign.size} pairs of slot and head like this)"
        )
    if (times > region.uses).any():
        worst = int(np.argmax(times))
        yield f"{program.label} reads {_at(region, elements[worst])} {times[worst]} times"
    if (widths < region.shape[3]).any():
        narrow = int(np.argmin(widths))
        yield (
            f"{program.label} reads {widths[narrow]} of {region.shape[3]} dimensions of "
            f"{_at(region, found[narrow] * region.shape[3])}"
        )


def _slots_written(
    programs: Programs, regions: Regions, slot_mapping: torch.Tensor
) -> Iterator[str]:
    slots = np.asarray(slot_mapping.cpu(), dtype=np.int64)
    slots = slots[slots >= 0]
    for region in regions.values():
        if region.is_cache:
            rows = region.size // (region.shape[0] * region.shape[1])
            yield from _written(
                programs, region, _spread(slots, rows), _spread(slots, rows), "slots"
            )


def _blocks_copied(programs: Programs, regions: Regions, pairs: list[list[int]]) -> Iterator[str]:
    # Which block's content each block holds after all pairs, in order.
    holds: dict[int, int] = {}
    for source, destination in pairs:
        holds[destination] = holds.get(source, source)
    changed = [block for block, source in holds.items() if block != source]
    sources = np.array(sorted(set(holds.values())), dtype=np.int64)
    for region in regions.values() if programs else ():
        if not region.is_cache:
            continue
        width = region.size // region.shape[0]
        # swap_blocks numbers the blocks of two caches; copy_blocks' pairs lie within one.
        apart = region.name in ("src", "dst")
        may = [] if region.name == "src" else [destination for _, destination in pairs]
        must = may if apart else changed
        yield from _written(programs, region, _spread(may, width), _spread(must, width), "blocks")
        readable = np.array([source for source, _ in pairs]) if apart else sources
        for program in programs:
            for access in program.of("read", region.name):
                wrong = ~np.isin(access.elements // width, readable)
                if wrong.any():
                    first = access.elements[int(np.argmax(wrong))]
                    yield f"{program.label} reads {_at(region, first)}, which is not a source"


def _written(
    programs: Programs, region: Region, may: Numbers, must: Numbers, what: str
) -> Iterator[str]:
    """Whether all writes to a cache are among `may`, and all of `must` are written, each once."""
    done: dict[int, list[Numbers]] = {}
    for program in programs:
        for access in program.of("write", region.name):
            done.setdefault(program.launch, []).append(access.elements)
            wrong = access.elements[~np.isin(access.elements, may)]
            if wrong.size:
                yield (
                    f"{program.label} writes {_at(region, wrong[0])}, which is not among the "
                    f"{what} to write"
                )
    # `_races` compares the programs of a launch; this compares the lanes of one program.
    for writes in done.values():
        elements, times = np.unique(np.concatenate(writes), return_counts=True)
        if (times > 1).any():
            worst = int(np.argmax(times))
            yield f"{_at(region, elements[worst])} was written {times[worst]} times in one launch"
    written = [access for writes in done.values() for access in writes]
    left = np.setdiff1d(must, np.concatenate([must[:0], *written]))
    if left.size:
        yield f"{_at(region, left[0])} was never written ({left.size} elements like this)"


def _spread(units: Iterable[int] | Numbers, width: int) -> Numbers:
    """Units of `width` elements each, as their elements."""
    starts = np.asarray(list(units), dtype=np.int64)[:, None] * width
    return (starts + np.arange(width)).ravel()


def _at(region: Region, element: int) -> str:
    index = [int(i) for i in np.unravel_index(int(element), region.shape)]
    if not region.is_cache:
        return f"{region.name}{index}"
    return f"{region.name} {_slot((index[0], index[1]))}, head {index[2]}"


def _slot(slot: tuple[int, int]) -> str:
    return f"block {slot[0]}, row {slot[1]}"
