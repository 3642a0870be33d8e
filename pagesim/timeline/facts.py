"""What captions are made of: an event by its effects, and the words for blocks and tokens."""

from collections.abc import Collection, Iterable, Sequence, Sized

from pagesim.journal.effects import Name
from pagesim.journal.state import FULL, MAMBA, State, name_parts
from pagesim.player.describe import counted, name_text
from pagesim.timeline.events import Effect, Event

LONG = 16
"""Letters: a title does not have longer names."""


NAMED = 8
"""More blocks than this are counted."""


def blocks(ids: Iterable[int]) -> str:
    """'block 7', 'blocks 7, 2 and 5', or 'no block'."""
    words = [str(block_id) for block_id in ids]
    if len(words) < 2:
        return f"block {words[0]}" if words else "no block"
    if len(words) > NAMED:
        return f"{len(words)} blocks ({', '.join(words[:3])} … {words[-1]})"
    return f"blocks {', '.join(words[:-1])} and {words[-1]}"


def tokens(count: int) -> str:
    """'1 token', or '7 tokens'."""
    return counted(count, "token")


def tokens_and_blocks(count: int, needed: int) -> str:
    """'1 token, which needs 1 block'."""
    return f"{tokens(count)}, which need{'s' * (count == 1)} {counted(needed, 'block')}"


def same(hits: Collection[int]) -> str:
    """Why blocks are found."""
    these_hold = pick(hits, "this block holds", "these blocks hold")
    return f"{these_hold} the same tokens after the same prefix"


def found_in(found: int, count: int, hits: Collection[int]) -> str:
    """'8 of its 12 tokens are found in blocks 1 and 2': what a hit is good for."""
    is_found = pick(range(found), "is", "are")
    return f"{found} of its {tokens(count)} {is_found} found in {blocks(hits)}"


def pick(items: Sized, one: str, several: str) -> str:
    """The wording that fits the number of items."""
    return one if len(items) == 1 else several


def called(names: Collection[Name]) -> str:
    """One or two names if they are short, or how many sequences they are."""
    texts = [name_text(name) for name in names]
    if len(texts) < 3 and max(map(len, texts)) <= LONG:
        return " and ".join(texts)
    return counted(len(texts), "sequence")


class Facts:
    """An event, who it is about, and its effects by kind."""

    def __init__(self, event: Event, state: State) -> None:
        self.event, self.effects, self.state = event, event.effects, state
        self.who = "" if event.subject is None else name_text(event.subject)
        self._of: dict[str, list[Effect]] = {}
        for effect in event.effects:
            self._of.setdefault(effect.kind, []).append(effect)
        null = {effect.block for effect in self.of("null") if effect.index is None}
        made = {effect.to for effect in self.effects if effect.to is not None} | null
        self.source = {effect.block: effect.list for effect in self.of("take")}
        """The lists from which blocks were taken."""
        self.evicted = self.ids("evict")
        self.fresh = [block for block in self.ids("take") if block not in {*self.evicted, *made}]
        """Taken from the free list, and neither for a copy or a swap nor to be the null block."""

    @property
    def is_v1(self) -> bool:
        """Whether the run is of vLLM V1: one free queue, and a null block from the beginning."""
        is_alone = len(self.state.lists) == 1 or self.state.tier is not None
        return is_alone and self.state.null_block is not None

    def of(self, kind: str) -> list[Effect]:
        return self._of.get(kind, [])

    def ids(self, kind: str) -> list[int]:
        return list(dict.fromkeys(effect.block for effect in self.of(kind)))

    @property
    def num_known(self) -> int:
        """How many tokens became known: each once, though each KV cache group has a table."""
        return sum(
            len(given.token_ids)
            for given in self.event.tokens
            if not self.state.groups or group_id_of(given.table) == 0
        )

    def positions(self, *kinds: str) -> range:
        """From the first position that these writes or hits concern to the last one."""
        effects = [effect for kind in kinds for effect in self.of(kind)]
        firsts = [effect.first or 0 for effect in effects]
        ends = [first + effect.count for first, effect in zip(firsts, effects, strict=True)]
        return range(min(firsts, default=0), max(ends, default=0))

    def is_state(self, effect: Effect) -> bool:
        """Whether an effect concerns a table of states."""
        return effect.table is not None and self.state.group_of(effect.table).kind == MAMBA

    @property
    def kept(self) -> list[int]:
        """Blocks that lost an owner and still have one."""
        owned = ("take", "share", "hit", "unshare", "free")
        last = {effect.block: effect.kind for effect in self.effects if effect.kind in owned}
        return [block for block in self.ids("unshare") if last[block] == "unshare"]

    @property
    def pool(self) -> str:
        """The pool that content moves to."""
        return self.state.pool_of(self.of("move")[0].to or 0)

    @property
    def origin(self) -> str:
        """Where the fresh blocks came from: 'the front of the free list'."""
        name = self.source[self.fresh[0]] or "free list"
        word = name.removeprefix(f"{self.state.pool_of(self.fresh[0])} ")
        return f"the {word}" if name in self.state.sorted_lists else f"the front of the {word}"

    @property
    def was_last_resort(self) -> bool:
        """Whether the evicted blocks came from another list than the free blocks do."""
        if len(self.state.lists) < 2 or self.state.tier is not None:
            return False
        first = next(iter(self.state.lists))
        return not self.evicted or self.source.get(self.evicted[0], "") != first


def group_id_of(table: Name) -> int:
    """The KV cache group of a table; 0 where there is only one."""
    parts = name_parts(table)
    return parts[1] if parts else 0


def group_text(group_ids: Sequence[int], state: State) -> str:
    """'full attention', 'the window of group 1', or 'the states of groups 2, 3 and 4'."""
    kind, word = state.groups[group_ids[0]].kind, state.groups[group_ids[0]].word
    words = [str(group_id) for group_id in group_ids]
    which = f"group {words[0]}" if len(words) < 2 else f"groups {', '.join(words[:-1])} and "
    which += words[-1] if len(words) > 1 else ""
    if kind == FULL:
        is_only = sum(group.kind == FULL for group in state.groups) == len(words)
        return "full attention" if is_only else f"full attention of {which}"
    return f"the {word}{'s' * (len(words) > 1)} of {which}"


def still_used(facts: Facts) -> list[str]:
    """The blocks that lost an owner and have another."""
    kept = facts.kept
    words = pick(kept, "stays: others use it", "stay: others use them")
    return [f"{blocks(kept)} {words}"] if kept else []


def nulls(facts: Facts) -> list[str]:
    """What became the null block, because no window reaches it any more."""
    parts = []
    for effect in facts.of("null"):
        if effect.index is None:
            why = f": {facts.who} has a sliding window" if facts.who else ""
            parts.append(f"block {effect.block} becomes the null block{why}")
    gone: dict[Name | None, list[str]] = {}
    for effect in facts.of("null"):
        if effect.index is not None:
            table = effect.table if facts.state.groups else None
            gone.setdefault(table, []).append(str(effect.index))
    for table, entries in gone.items():
        more = f"entries {', '.join(entries[:-1])} and {entries[-1]}"
        which = pick(entries, f"entry {entries[0]}", more)
        null = f"the null {blocks(facts.ids('null')[-1:])} takes"
        instead = f"{null} {pick(entries, 'its', 'their')} place"
        window, owner = "the sliding window", facts.who or "the table"
        if table is not None:
            window = group_text([group_id_of(table)], facts.state)
            if facts.state.group_of(table).kind == MAMBA:
                only = f"only its last state is needed in group {group_id_of(table)}"
                parts.append(f"{only}: {null} the place of {which}")
                continue
        parts.append(f"{which} of {owner} fell out of {window}: {instead}")
    return parts
