"""The alternative text for a picture of a state."""

from collections.abc import Sequence

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.journal.state import State, TableState
from pagesim.player.cache_view import CacheView
from pagesim.player.groups import group_of

MAX_NAMED = 8
MAX_LISTED = 8


def name_text(name: Name) -> str:
    """The displayed name of a table: sequence 3 is s3, a label is itself."""
    return f"s{name}" if isinstance(name, int) else name


def counted(count: int, word: str) -> str:
    """A number of things: 1 block, 2 blocks."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def listed(names: Sequence[Name]) -> str:
    """The first few of them, and how many more there are."""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(map(str, names[:MAX_LISTED])) + more


def describe(header: JsonObject, state: JsonObject) -> str:
    """A few sentences about a state of the format: tables, sharing, free blocks.

    Small caches are described table by table, large ones by counts.
    """
    return words_of(CacheView.of(header, state))


def words_of(cache: CacheView) -> str:
    """The same for a cache that is read already."""
    state = cache.state
    *others, (name, size) = [(name, len(ids)) for name, ids in cache.pools.items()] or [("", 0)]
    pools = [f"{size} {name}" for name, size in others] + [counted(size, f"{name} block".strip())]
    slots = counted(cache.block_size, "slot")
    if cache.groups:
        labels = listed([group.label for group in cache.groups])
        sentences = [f"A cache of {' and '.join(pools)} for {len(cache.groups)} groups: {labels}."]
    else:
        sentences = [f"A cache of {' and '.join(pools)} with {slots} each."]
    if not cache.tables:
        sentences.append("No sequence holds a block.")
    elif cache.groups and len(cache.requests) <= MAX_NAMED:
        sentences += [_request(name, cache) for name in cache.requests]
    elif len(cache.tables) <= MAX_NAMED:
        sentences += [_table(name, table) for name, table in cache.tables.items()]
    else:
        held = counted(len(cache.owners), "block")
        sentences.append(f"{len(cache.requests)} sequences hold {held} between them.")
    if shared := cache.shared():
        sentences.append(f"Shared: {_blocks(shared)}.")
    if idle := [block for ids in state.lists.values() for block in ids if block in state.cached]:
        sentences.append(f"Cached, but without an owner: {_blocks(idle)}.")
    for place, (name, ids) in enumerate(state.lists.items()):
        if ids:
            sentences.append(f"{name}: {counted(len(ids), 'block')}, {ids[0]} in front.")
        elif place == 0:
            sentences.append(f"{name}: empty.")
    for queue, names in state.queues.items():
        if names:
            requests = [request_text(name, state) for name in names]
            label = queue if "_" in queue else queue.capitalize()
            sentences.append(f"{label}: {listed(requests)}.")
    return " ".join(sentences + _copies(cache))


def _copies(cache: CacheView) -> list[str]:
    """What the second tier is, and the copies under way."""
    if cache.tier is None:
        return []
    *_, (name, count) = cache.state.pools.items()
    chunks = counted(count // cache.tier.blocks_per_chunk, "chunk")
    found = [f"The {name} is a second tier of {chunks}."]
    for job in cache.tier.jobs:
        who = name_text(cache.state.requests.get(job.request, job.request))
        pairs = listed([f"{source} to {target}" for source, target in job.pairs])
        found.append(f"{who} {job.kind}s {counted(len(job.pairs), 'block')}: {pairs}.")
    return found


def request_text(request: Name, state: State) -> str:
    """A request with its first sequence; only one name if they have the same."""
    first = state.requests.get(request, request)
    name = name_text(first)
    alike = str(request) == str(first) or str(request) == name
    return name if alike else f"{name} {name_text(request)}"


def _request(name: Name, cache: CacheView) -> str:
    """The tables of a request in several groups."""
    tables, parts, null = cache.requests[name], [], cache.state.null_block
    for table_name, table in tables.items():
        group = group_of(table_name, cache.groups)
        if group is None:
            continue
        own = [block for block in table.block_ids if block != null]
        where = f"in {_blocks(own)}" if own else "in no block"
        if group.is_state:
            kept = [f"after {cache.states[block]} in block {block}" for block in own
                    if block in cache.states]  # fmt: skip
            parts.append(f"{group.label} {' and '.join(kept) or where}")
            continue
        gone = len(table.block_ids) - len(own)
        parts.append(f"{group.label} {where}" + (f", {gone} behind the window" if gone else ""))
    first = next(iter(tables.values()))
    return f"{name_text(name)} has {counted(first.num_tokens, 'token')}: {'; '.join(parts)}."


def _table(name: Name, table: TableState) -> str:
    where = f"in {_blocks(table.block_ids)}" if table.block_ids else "and no blocks"
    return f"{name_text(name)} has {counted(table.num_tokens, 'token')} {where}."


def _blocks(ids: Sequence[int]) -> str:
    return f"{'block' if len(ids) == 1 else 'blocks'} {listed(ids)}"
