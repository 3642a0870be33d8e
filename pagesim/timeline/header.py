"""Converts a state to the header of a file and back; everything read is checked."""

from collections.abc import Mapping, Sequence

from pagesim.files.jsonl import Json
from pagesim.journal.effects import MAX_BLOCKS, Name, show
from pagesim.journal.state import Queues, State, TableState
from pagesim.timeline.checked import Checked

FORMAT = "pagesim-timeline/2"
LINKED, SORTED = ORDERS = ("linked", "sorted")
MAX_NAMES = 1_000
"""Pools, lists, or queues."""


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
    given = [(name, None) for name in check.items(words.get("queues", []), "queues")]
    queues = dict(_named(given, "queue", check))
    state = words.get("state")
    if not isinstance(state, dict):
        raise check.error(f"state must be an object, not {show(state)}")
    null = None if state.get("null") is None else check.block(state["null"])
    refs = dict.fromkeys(range(check.num_blocks), 0)
    for block, count in check.pairs(state.get("refs", []), "refs"):
        refs[check.block(block)] = check.integer(count, "count", 1)
    return State(
        block_size=block_size,
        pools=pools,
        caching=words.get("caching") is True,
        tables=_tables(state, block_size, null, check),
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
    )


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


def _tables(
    state: Mapping[str, Json], block_size: int, null: int | None, check: Checked
) -> dict[Name, TableState]:
    tables: dict[Name, TableState] = {}
    for entry in check.items(state.get("tables", []), "tables"):
        given_name, ids, given, *more = check.parts(entry, "a table", 3, 4)
        if (name := check.name(given_name)) in tables:
            raise check.error(f"table {show(name)} appears twice")
        block_ids, tokens = check.blocks(ids, "ids"), tuple(check.integers(given, "tokens"))
        num_slots = check.integer(more[0], "written slots") if more else len(tokens)
        if num_slots > len(block_ids) * block_size:
            raise check.error(f"table {show(name)} has more written slots than its blocks hold")
        tables[name] = TableState.of(block_ids, tokens, block_size, null, num_slots)
    return tables
