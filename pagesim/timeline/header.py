"""Converts a state to the header of a file and back; everything read is checked."""

from collections.abc import Mapping, Sequence
from sys import intern

from pagesim.files.jsonl import Json
from pagesim.journal.effects import COPIES, MAX_BLOCKS, STORE, Name, show
from pagesim.journal.state import (
    FULL,
    KINDS,
    WINDOW,
    Group,
    Job,
    Queues,
    State,
    TableState,
    Tier,
    name_parts,
)
from pagesim.timeline.checked import Checked

FORMAT = "pagesim-timeline/2"
LINKED, SORTED = ORDERS = ("linked", "sorted")
MAX_NAMES = 1_000
"""Pools, lists, or queues."""
POLICIES = ("lru", "arc")


def groups_as_dict(state: State) -> dict[str, Json]:
    """The key of the header for several KV cache groups; no key for one."""
    groups: list[Json] = []
    for group in state.groups:
        shown: dict[str, Json] = {"kind": group.kind, "block_size": group.block_size}
        if group.sliding_window is not None:
            shown["sliding_window"] = group.sliding_window
        groups.append(shown)
    return {"groups": groups} if groups else {}


def tier_as_dict(state: State) -> dict[str, Json]:
    """The key of the header for a second tier; no key for none."""
    if (tier := state.tier) is None:
        return {}
    return {"tier": {"blocks_per_chunk": tier.blocks_per_chunk, "policy": tier.policy}}


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
        **({"jobs": [_job_as_list(job) for job in state.jobs]} if state.tier else {}),
    }


def _job_as_list(job: Job) -> list[Json]:
    return [job.job, job.kind, job.request, [list(pair) for pair in job.blocks]]


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
    tier = _tier(words.get("tier"), pools, check)
    orders = _orders(words, check)
    groups = _groups(words.get("groups", []), block_size, check)
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
        queues=_queues(words, state, check),
        requests={
            check.name(request): check.name(sequence)
            for request, sequence in check.pairs(state.get("requests", []), "requests")
        },
        sorted_lists=frozenset(name for name, order in orders.items() if order == SORTED),
        groups=groups,
        tier=tier,
        jobs=_jobs(state, tier, next(iter(pools.values()), 0), check),
    )


def _queues(words: Mapping[str, Json], state: Mapping[str, Json], check: Checked) -> Queues:
    """The requests in each queue that the header names."""
    given = [(name, None) for name in check.items(words.get("queues", []), "queues")]
    queues = dict(_named(given, "queue", check))
    return Queues(
        (queue, tuple(map(check.name, check.items(names, queue))))
        for queue, names in _each(queues, state, "queues", check)
    )


def _tier(given: Json, pools: Mapping[str, int], check: Checked) -> Tier | None:
    """The second tier of a header, which has one pool for each tier."""
    if given is None:
        return None
    if not isinstance(given, dict) or given.get("policy") not in POLICIES:
        raise check.error(f"tier must have a policy, {' or '.join(POLICIES)}, not {show(given)}")
    width = check.integer(given.get("blocks_per_chunk"), "blocks_per_chunk", 1)
    sizes = list(pools.values())
    if len(sizes) != 2 or sizes[1] % width:
        raise check.error(
            f"a tier needs two pools, the second with whole chunks of {width} blocks: {sizes}"
        )
    return Tier(width, given["policy"])


def _jobs(
    state: Mapping[str, Json], tier: Tier | None, num_gpu_blocks: int, check: Checked
) -> tuple[Job, ...]:
    """The copies under way."""
    given = check.items(state.get("jobs", []), "jobs")
    if given and tier is None:
        raise check.error("there are jobs, but no tier")
    jobs = [read_job(check.parts(job, "a job", 4), num_gpu_blocks, check) for job in given]
    if len({job.job for job in jobs}) < len(jobs):
        raise check.error("a job is under way twice")
    return tuple(jobs)


def read_job(given: Sequence[Json], num_gpu_blocks: int, check: Checked) -> Job:
    """A copy between the tiers, from one to the other."""
    number, kind, request, blocks = given
    if not isinstance(kind, str) or kind not in COPIES:
        raise check.error(f"a job must be a {' or a '.join(COPIES)}, not {show(kind)}")
    pairs = [(check.block(a), check.block(b)) for a, b in check.pairs(blocks, "a job's blocks")]
    check.count(3 * len(pairs))
    is_store = kind == STORE
    for a, b in pairs:
        if (a < num_gpu_blocks) is not is_store or (b < num_gpu_blocks) is is_store:
            raise check.error(f"a {kind} cannot copy block {a} to block {b}: see the pools")
    return Job(
        check.integer(number, "a job's number"), intern(kind), check.name(request), tuple(pairs)
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
