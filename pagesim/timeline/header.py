"""Converts a state to the header of a file and back; everything read is checked."""

from collections.abc import Mapping, Sequence

from pagesim.files.jsonl import Json
from pagesim.journal.effects import MAX_BLOCKS, Name, show
from pagesim.journal.state import (
    FULL,
    KINDS,
    WINDOW,
    Group,
    Queues,
    State,
    TableState,
    name_parts,
)
from pagesim.timeline.checked import Checked

FORMAT = "pagesim-timeline/2"
LINKED, SORTED = ORDERS = ("linked", "sorted")
MAX_NAMES = 1_000
"""Pools, lists, or queues."""


def groups_as_dict(state: State) -> dict[str, Json]:
    """The key of the header for several KV cache groups; no key for one."""
    groups: list[Json] = []
    for group in state.groups:
        shown: dict[str, Json] = {"kind": group.kind, "block_size": group.block_size}
        if group.sliding_window is not None:
            shown["sliding_window"] = group.sliding_window
        groups.append(shown)
    return {"groups": groups} if groups else {}


def state_as_dict(state: State) -> dict[str, Json]:
    """A state as the header of a file has it."""
    return {
        "tables": [
            [name, list(table.block_ids), list(table.token_ids), *_written(table)]
            for name, table in state.tables.items()
        ],
        "lists": [list(ids) for ids in state.lists.values()],
        "refs": [[block, count] for block, count in state.ref_counts.items() if count],
        "cached": sorted(state.cached),
        "computed": sorted(state.computed),
        "null": state.null_block,
        "queues": [list(names) for names in state.queues.values()],
        **({"requests": [list(pair) for pair in state.requests.items()]} if state.requests else {}),
    }


def _written(table: TableState) -> list[int]:
    """The number of written slots, if it differs from the number of tokens."""
    return [] if table.num_slots == table.num_tokens else [table.num_slots]


def read_state(words: Mapping[str, Json], check: Checked) -> State:
    """The state in a header. TimelineError if it is impossible."""
    block_size = check.integer(words.get("block_size"), "block_size", 1)
    pools = {
        name: check.integer(size, "a pool's size")
        for name, size in _named(check.pairs(words.get("pools"), "pools"), "pool", check)
    }
    check.num_blocks = sum(pools.values())
    if check.num_blocks > MAX_BLOCKS or block_size > MAX_BLOCKS:
        raise check.error(f"more than {MAX_BLOCKS} blocks, or slots in a block")
    orders = _orders(words, check)
    groups = _groups(words.get("groups", []), block_size, check)
    given = [(name, None) for name in check.items(words.get("queues", []), "queues")]
    queues = dict(_named(given, "queue", check))
    state = words.get("state")
    if not isinstance(state, dict):
        raise check.error(f"state must be an object, not {show(state)}")
    null = None if state.get("null") is None else check.block(state["null"])
    refs = _refs(state, check)
    return State(
        block_size=block_size,
        pools=pools,
        caching=words.get("caching") is True,
        tables=_tables(state, groups or (Group(FULL, block_size),), null, check),
        ref_counts=refs,
        lists=_lists(state, orders, refs, check),
        cached=frozenset(check.blocks(state.get("cached", []), "cached")),
        computed=frozenset(check.blocks(state.get("computed", []), "computed")),
        null_block=null,
        queues=Queues(
            (queue, tuple(map(check.name, check.items(names, queue))))
            for queue, names in _each(queues, state, "queues", check)
        ),
        requests={
            check.name(request): check.name(sequence)
            for request, sequence in check.pairs(state.get("requests", []), "requests")
        },
        sorted_lists=frozenset(name for name, order in orders.items() if order == SORTED),
        groups=groups,
    )


def _refs(state: Mapping[str, Json], check: Checked) -> dict[int, int]:
    """The number of owners of every block."""
    refs = dict.fromkeys(range(check.num_blocks), 0)
    for block, count in check.pairs(state.get("refs", []), "refs"):
        refs[check.block(block)] = check.integer(count, "count", 1)
    return refs


def _groups(given: Json, block_size: int, check: Checked) -> tuple[Group, ...]:
    """The KV cache groups of a header; none if there is only one kind of memory."""
    groups = []
    for group_id, group in enumerate(check.items(given, "groups")[: MAX_NAMES + 1]):
        name = f"group {group_id}"
        if not isinstance(group, dict) or group.get("kind") not in KINDS:
            raise check.error(f"{name} must be of kind {', '.join(KINDS)}, not {show(group)}")
        kind, window = group["kind"], group.get("sliding_window")
        size = check.integer(group.get("block_size"), f"the block_size of {name}", 1)
        if kind == WINDOW or window is not None:
            check.integer(window, f"the sliding_window of {name}", 1)
        groups.append(Group(kind, size, window))
    if len(groups) > MAX_NAMES:
        raise check.error(f"more than {MAX_NAMES} groups")
    if len(groups) == 1:
        raise check.error("groups must be omitted where there is only one")
    if groups and max(group.block_size for group in groups) != block_size:
        raise check.error(f"block_size must be the largest of the groups', not {block_size}")
    return tuple(groups)


def _orders(words: Mapping[str, Json], check: Checked) -> dict[str, str]:
    """In which order each list is kept."""
    orders: dict[str, str] = {}
    for name, order in _named(check.pairs(words.get("lists"), "lists"), "list", check):
        if not isinstance(order, str) or order not in ORDERS:
            raise check.error(f"the list {show(name)} must be linked or sorted, not {show(order)}")
        orders[name] = order
    return orders


def _named(pairs: Sequence[tuple[Json, Json]], what: str, check: Checked) -> list[tuple[str, Json]]:
    """Pairs that begin with unique names."""
    if len(pairs) > MAX_NAMES:
        raise check.error(f"more than {MAX_NAMES} {what}s")
    names = [check.text(name, f"a {what}'s name") for name, _ in pairs]
    if len(set(names)) != len(names):
        raise check.error(f"two {what}s have the same name: {show(names)}")
    return [(name, value) for name, (_, value) in zip(names, pairs, strict=True)]


def _each(
    names: Mapping[str, Json], state: Mapping[str, Json], key: str, check: Checked
) -> list[tuple[str, Json]]:
    """The state's value for each of the header's lists or queues."""
    values = check.parts(state.get(key, [[] for _ in names]), f"the state's {key}", len(names))
    return list(zip(names, values, strict=True))


def _lists(
    state: Mapping[str, Json], orders: Mapping[str, str], refs: Mapping[int, int], check: Checked
) -> dict[str, tuple[int, ...]]:
    lists = {name: check.blocks(ids, name) for name, ids in _each(orders, state, "lists", check)}
    idle = [block for ids in lists.values() for block in ids]
    if len(set(idle)) != len(idle) or any(refs[block] for block in idle):
        raise check.error("a block is in two places at once")
    return {n: tuple(sorted(ids)) if orders[n] == SORTED else ids for n, ids in lists.items()}


def check_group(name: Name, groups: Sequence[Group], check: Checked) -> Group:
    """The group of a table in a file with several; TimelineError if its name has none of them."""
    parts = name_parts(name)
    if parts is None or parts[1] >= len(groups):
        raise check.error(f"table {show(name)} is of no group: there are {len(groups)}")
    return groups[parts[1]]


def _tables(
    state: Mapping[str, Json], groups: Sequence[Group], null: int | None, check: Checked
) -> dict[Name, TableState]:
    tables: dict[Name, TableState] = {}
    for entry in check.items(state.get("tables", []), "tables"):
        given_name, ids, given, *more = check.parts(entry, "a table", 3, 4)
        if (name := check.name(given_name)) in tables:
            raise check.error(f"table {show(name)} appears twice")
        block_ids, tokens = check.blocks(ids, "ids"), tuple(check.integers(given, "tokens"))
        num_slots = check.integer(more[0], "written slots") if more else len(tokens)
        group = groups[0] if len(groups) == 1 else check_group(name, groups, check)
        if num_slots > len(block_ids) * group.block_size:
            raise check.error(f"table {show(name)} has more written slots than its blocks hold")
        tables[name] = group.table(block_ids, tokens, null, num_slots)
    return tables
