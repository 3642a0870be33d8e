"""What `pagesim size` says of requests: which fit, what is missing, and what makes room."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from pagesim.commands.common import Options
from pagesim.files.jsonl import JsonObject
from pagesim.sizing.fixes import Fix, mib
from pagesim.sizing.room import Needs, Room
from pagesim.sizing.waste import counted

Rows = list[tuple[str, str]]
HEADS = {True: "enough alone", False: "not enough", None: "depends"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The longest sequence that is wanted (None: none), the requests, and the changes.

    ``started`` says that the log is of a server that started with this pool.
    """

    room: Room
    max_model_len: int | None
    requests: Sequence[Needs] = ()
    fixes: Sequence[Fix] = ()
    max_num_seqs: int | None = None
    gpus: dict[str, int] = field(default_factory=dict)
    started: bool = False

    @property
    def fits(self) -> bool:
        """Whether a sequence of the maximum length fits, and every request."""
        wanted = self.max_model_len
        long_enough = wanted is None or self.room.needs(wanted) <= self.room.usable[1]
        return long_enough and all(one.at_once for one in self.requests)

    def value(self) -> JsonObject:
        """The keys for --json."""
        wanted = self.max_model_len
        return {
            "fits": self.fits,
            "missing_blocks": None if wanted is None else self.room.missing_blocks(wanted),
            "missing_bytes": None if wanted is None else self.room.missing_bytes(wanted),
            "fixes": [one.as_dict() for one in self.fixes],
            "requests": [asdict(one) for one in self.requests],
            "gpus": self.gpus,
        }


def gpus_of(options: Options) -> dict[str, int]:
    """How many GPUs each kind of parallelism uses."""
    return {kind: options[f"{kind}_parallel_size"] for kind in ("tensor", "pipeline", "data")}


def wrong_rows(verdict: Verdict) -> Rows:
    """What is wrong and what to change; nothing if all fits."""
    room, wanted = verdict.room, verdict.max_model_len
    rows: Rows = []
    if wanted is not None and room.needs(wanted) > room.usable[1]:
        rows.append(("too long", _too_long(room, wanted, verdict.started)))
    else:
        never = [one for one in verdict.requests if not one.at_once]
        rows += [("never fits", _never(room, one)) for one in never[:1]]
    for enough, head in HEADS.items():
        some = [f"{one.flag}: {one.words}" for one in verdict.fixes if one.enough is enough]
        rows += zip((head, *("" for _ in some)), some, strict=False)
    return rows


def _too_long(room: Room, wanted: int, started: bool) -> str:
    longest = room.longest(wanted)
    least = f"the longest that fits has {longest:,}" if longest else "no sequence fits"
    if not started or room.engine == "v0":
        start = f"vLLM does not start with sequences of {wanted:,}"
        return f"{start}: {least}. {_missing(room, wanted)}"
    return (
        f"sequences of {wanted:,}: {least}. {_missing(room, wanted)}. vLLM 0.33.0 would not start; "
        "in this server, a request that does not fit waits at the head of the queue forever"
    )


def _missing(room: Room, tokens: int) -> str:
    blocks, size = room.missing_blocks(tokens), room.missing_bytes(tokens)
    beside = " beside the null block" if room.null_blocks else ""
    amount = "" if size is None else f", {mib(size)} on each GPU"
    needs = counted(room.needs(tokens), "block")
    return f"One needs {needs}{beside}, of {room.usable[0]:,}: {blocks:,} are missing{amount}"


def _never(room: Room, one: Needs) -> str:
    fate = (
        "it waits at the head of the queue forever, and everything behind it waits too"
        if room.engine == "v1"
        else "it is ignored, and its output is empty"
    )
    if one.at_start <= room.usable[1] and room.engine == "v1":
        fate = "it begins, outgrows the pool, preempts itself, and then waits forever"
    return f"a request of {_tokens(one)}: {fate}. {_missing(room, one.prompt + one.output)}"


def _tokens(one: Needs) -> str:
    more = f"+{one.output:,}" if one.output else ""
    return f"{one.prompt:,}{more} tokens"


def request_rows(verdict: Verdict) -> Rows:
    """A row for each request, one for the limit of sequences, and one for all GPUs."""
    room = verdict.room
    rows = [(_tokens(one), _fit(one)) for one in verdict.requests]
    rows += _bounded(verdict)
    tensor, pipeline, data = (verdict.gpus.get(kind, 1) for kind in ("tensor", "pipeline", "data"))
    if (number := tensor * pipeline * data) > 1:
        size = "" if room.block_bytes is None else _bytes(room, number)
        pools = (
            f"{data} pools of {room.blocks[1]:,} blocks: each replica caches for itself"
            if data > 1
            else f"one pool of {room.blocks[1]:,} blocks: every GPU holds its part of each block"
        )
        rows.append((f"{number} GPUs", f"{pools}{size}"))
    return rows


def _fit(one: Needs) -> str:
    words = f"{counted(one.at_start, 'block')} each: {one.at_once:,} at once"
    if one.at_end != one.at_start:
        words = (
            f"{counted(one.at_start, 'block')} to begin, {one.at_end:,} at the end: "
            f"{one.admitted:,} are admitted at once, {one.at_once:,} fit to their end"
        )
    if one.found is not None and one.at_once:
        words += f"; sent again, {one.found:,} tokens are found ({one.found / one.prompt:.1%})"
    return words


def _bounded(verdict: Verdict) -> Rows:
    """The blocks that max_num_seqs sequences can use at most, and what the others are for."""
    room, wanted, most = verdict.room, verdict.max_model_len, verdict.max_num_seqs
    if wanted is None or most is None:
        return []
    blocks = most * room.needs(wanted) + room.null_blocks
    null = " with the null block" if room.null_blocks else ""
    words = f"{most:,} of {wanted:,} tokens use at most {blocks:,} blocks{null}"
    if room.block_bytes is not None:
        words += f", {mib(blocks * room.block_bytes.high)}"
    if blocks < room.blocks[0]:
        words += (
            f" (--num-gpu-blocks-override {blocks}); the other {room.blocks[0] - blocks:,} keep "
            "prefixes for later requests"
        )
    return [("max_num_seqs", words)]


def _bytes(room: Room, number: int) -> str:
    assert room.block_bytes is not None
    each = room.blocks[1] * room.block_bytes.low
    return f". Cache: {mib(each)} on each GPU, {mib(each * number)} in all"
