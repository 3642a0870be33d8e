"""What a run with a scheduler shows, in a sentence: how requests share a memory."""

from collections.abc import Callable

from pagesim.journal.effects import BEGIN, COPY, ENTER, LOAD, PATCH
from pagesim.timeline.seen import Seen

RESERVE = "ensure_num_empty_slots"
"""The event in which contiguous memory is granted."""


def preempted(seen: Seen) -> str:
    """The memory is too small for those who run."""
    times = sum(kind == "preempt" for kind, _ in seen.events)
    swaps = sum(row[1] == "swapped" for _, row in seen.rows[ENTER])
    what = "moves to the CPU and waits" if swaps == times else "loses its blocks and waits again"
    return f"{_shared(seen)}: {_often(times)}a request {what}" if times else ""


def loaded(seen: Seen) -> str:
    """What a second tier is for."""
    is_used = any(row[2] == LOAD for _, row in seen.rows[BEGIN])
    return f"{_shared(seen)}; some are copied to the CPU and loaded back" if is_used else ""


def found(seen: Seen) -> str:
    """Prompts, or their beginnings, that were there before."""
    some = len(dict(seen.finds))
    finds = "finds part of its" if some == 1 else "find part of their"
    return f"{_shared(seen)}: {some:,} {finds} prompt in the cache" if some else ""


def copied(seen: Seen) -> str:
    """Samples of one prompt that go their own ways."""
    times = len(seen.rows[COPY])
    copies = f"{_often(times)}a shared block is copied before a write"
    return f"{_shared(seen)}: {copies}" if times else ""


def reserved(seen: Seen) -> str:
    """Memory before paging: what a request holds from its beginning."""
    patches = seen.rows[PATCH]
    grants = [len(row) - 3 for at, row in patches if seen.events[at][0] == RESERVE]
    if not seen.start.is_contiguous or seen.start.tables or len(grants) < len(patches):
        return ""  # it is paged, or cut from a longer run, or it grows
    sizes = sorted({size * _unit(seen) for size in grants})
    size = " to ".join(f"{size:,}" for size in dict.fromkeys((*sizes[:1], *sizes[-1:])))
    if not grants or len(seen.requests) == 1:
        return f"1 request reserves {size} of {_memory(seen)}" if grants else ""
    each = "each" if len(grants) == len(seen.requests) else "each that runs"
    return f"{_shared(seen)}: {each} reserves {size}, {_at_once(seen)}"


def running(seen: Seen) -> str:
    """What can be said of all."""
    most = seen.held.most
    if most and len(seen.requests) == 1:
        return f"1 request holds at most {most * _unit(seen):,} of {_memory(seen)}"
    used = "all of them" if most == seen.held.num_blocks else f"at most {_sized(seen, most)}"
    return f"{_shared(seen)}: {_at_once(seen)}, using {used}" if most else _shared(seen)


SERVED: tuple[Callable[[Seen], str], ...] = (preempted, loaded, found, copied, reserved, running)
"""The most telling first."""


def _unit(seen: Seen) -> int:
    """Before paging there are no blocks: slots are counted."""
    return seen.start.block_size if seen.start.is_contiguous else 1


def _memory(seen: Seen) -> str:
    return _sized(seen, seen.held.num_blocks)


def _sized(seen: Seen, count: int) -> str:
    size, word = count * _unit(seen), "slot" if seen.start.is_contiguous else "block"
    return f"{size:,} {word}{'s' * (size != 1)}"


def _shared(seen: Seen) -> str:
    """How many requests have how much memory."""
    count = len(seen.requests)
    return f"{f'{count:,} requests share' if count > 1 else '1 request has'} {_memory(seen)}"


def _often(times: int) -> str:
    return f"{times:,} times, " if times > 1 else ""


def _at_once(seen: Seen) -> str:
    most = seen.num_running
    if most == len(seen.requests):
        return "all run at once"
    return f"at most {most:,} run at once" if most > 1 else "one runs at a time"
