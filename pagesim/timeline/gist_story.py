"""What a run without a scheduler shows, in a sentence: sequences that write into blocks."""

from collections.abc import Callable

from pagesim.journal import effects as fx
from pagesim.journal.state import MAMBA
from pagesim.player.describe import counted
from pagesim.timeline.facts import called, pick
from pagesim.timeline.seen import Seen


def filmed(seen: Seen) -> str:
    """How the programs of a kernel read the blocks."""
    if not (reads := [row for _, row in seen.rows[fx.HOLDS]]):
        return ""
    tables = dict.fromkeys(seen.held.owner(row[2]) for row in reads)
    size, whose = seen.start.block_size, pick(tables, "its tokens", "their tokens")
    attend = f"{called(tables)} {pick(tables, 'attends', 'attend')}"
    if any(kind == "reduce" for kind, _ in seen.events):
        return f"{attend}: parts of {whose} are read in parallel, and the results are merged"
    is_decode = len({row[2:4] for row in reads}) == len({row[2] for row in reads})
    loads = [{slot // size for slot in row[5] if slot is not None} for row in reads]
    how = "block by block" if max(map(len, loads)) < 2 else "several blocks at a time"
    return f"{attend}: each {'head' if is_decode else 'query'} reads {whose} {how}"


def swapped(seen: Seen) -> str:
    """Sequences that wait in the other memory, if possible while somebody writes."""
    said, changes = "", seen.rows[fx.PATCH]
    for out in dict.fromkeys(at for at, row in seen.rows[fx.MOVE] if row[2] not in seen.held):
        movers = dict.fromkeys(row[1] for at, row in changes if at == out)
        back = [at for at, row in changes if at > out and row[1] in movers]
        gone = [at for at, row in seen.rows[fx.CLOSE] if at > out and row[1] in movers]
        until = min([*back, *gone], default=len(seen.events))
        between = (row[2] for at, row in seen.rows[fx.WRITE] if out < at < until)
        writers = [name for name in dict.fromkeys(between) if name is not None]
        if movers and writers:
            waits = f"{called(movers)} {pick(movers, 'waits', 'wait')} in CPU memory"
            return f"{waits} while {called(writers)} {pick(writers, 'goes', 'go')} on"
        if movers and not said:
            moves = f"{called(movers)} {pick(movers, 'moves', 'move')} to CPU memory"
            said = f"{moves} and back" if back else moves
    return said


def copied(seen: Seen) -> str:
    """Copy-on-write."""
    if not (copies := seen.rows[fx.COPY]):
        return ""
    if len(copies) > 1 and seen.held.saved:
        saves = f"Sharing saves up to {counted(seen.held.saved, 'block')}"
        return f"{saves}; {len(copies):,} times, one is copied before a write"
    at, (_, block, *_) = copies[0]
    tables, writer = seen.run.at(at).tables, seen.events[at][1]
    owners = [name for name, table in tables.items() if block in table.block_ids]
    if writer is None or len(owners) < 2:
        return "A shared block is copied before one of its owners writes"
    return (
        f"{called(owners)} share a block, which is copied before {called([writer])} writes into it"
    )


def found(seen: Seen) -> str:
    """Prefix caching."""
    finds = dict(seen.finds)
    if len(finds) != 1 or seen.start.groups:
        of = f"{len(finds):,} of {counted(len(seen.held.sequences), 'sequence')}"
        find = pick(finds, "finds part of its", "find part of their")
        return f"{of} {find} prompt in the cache" if finds else ""
    ((who, when),) = finds.items()
    hits = {row[1] for at, row in seen.rows[fx.HIT] if at == when}
    count = max((row[2] + len(row[3:]) for at, row in seen.rows[fx.PATCH] if at == when), default=0)
    return f"{called([who])} finds {len(hits)} of its {counted(count, 'block')} in the cache"


def shared(seen: Seen) -> str:
    """Forks, or equal prompts at the same time."""
    if not seen.held.saved:
        return ""
    sequences, blocks = seen.held.of(seen.run.at(seen.held.best))
    fit = f"{counted(sequences, 'sequence')} fit in {counted(blocks, 'block')}"
    saved = counted(seen.held.saved, "block")
    return f"Sharing saves up to {saved}: {fit} instead of {blocks + seen.held.saved}"


def windowed(seen: Seen) -> str:
    """Blocks that no later token sees."""
    tables = [row[2] for _, row in seen.rows[fx.NULL] if row[2] is not None]
    left = [table for table in tables if seen.start.group_of(table).kind != MAMBA]
    who = dict.fromkeys(map(seen.held.owner, left))
    gives = pick(who, "gives back blocks that its", "give back blocks that their")
    return f"{called(who)} {gives} window has passed" if who else ""


def asked(seen: Seen) -> str:
    """A lookup in several KV cache groups, and nothing else."""
    if {kind for kind, _ in seen.events} != {fx.GET_COMPUTED_BLOCKS}:
        return ""
    return f"{len(seen.start.groups)} groups of layers must agree on what is cached"


def held(seen: Seen) -> str:
    """What can be said of all."""
    if not seen.held.most:
        return ""
    together = pick(seen.held.sequences, "holds", "together hold")
    most = f"{seen.held.most:,} of {seen.held.num_blocks:,} blocks"
    return f"{called(seen.held.sequences)} {together} at most {most}"


STORY: tuple[Callable[[Seen], str], ...] = (
    *(swapped, copied, found, shared, windowed, asked, held),
)
"""The most telling first."""
