"""What windows beside full attention do to prefix hits, in equal memory.

With windows a conversation takes less memory, so more of them stay cached. But a hit needs every
group: it ends where all windows still have their blocks. `table` shows both, on conversations that
take turns. `sent_again` shows what a window's blocks may do to the others' while nothing runs: if
all of them are cached ("dense"), they push out prompts that are still wanted, although most of the
pool is free. A retention interval caches fewer of them. Then a prompt that is sent again is found,
but one that ends earlier only up to the last interval.

    python -m pagesim.studies.group_hits           both tables

A user of vLLM measured 0 % and, with an interval, 90 %: see `SOURCE`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pagesim.simulation import Limits, PagedV1, Simulation, simulate
from pagesim.studies.paper import Comparison
from pagesim.v1.group_words import parse_groups
from pagesim.workload import Request, Workload

SOURCE = "a comment of 2026-05-27 on github.com/vllm-project/vllm, issue 42948"

BLOCK_SIZE, WINDOW = 16, 128
CONVERSATIONS, TURNS = 12, 5
FIRST, MORE, ANSWER = 160, 80, 32
"""Tokens of the first prompt, those that each turn adds to it, and how many of these answer it."""

CHUNKED = Limits(8192, max_num_batched_tokens=256)
"""A long prompt is computed in two steps, so that its windows hold less at once."""

MEMORY = (350, 250, 200, 150)
"""Blocks of 16 tokens in all layers."""

LAYOUTS: Mapping[str, str] = {
    "full": "full",
    "1 : 1": f"full,window:{WINDOW}",
    "1 : 5": f"full,window:{WINDOW}*5",
}
"""Groups of full attention, and of windows of 128 tokens."""

DENSE: int | None = None
DEFAULT = 0
"""Intervals of retention: every block is cached, or those that the prompt's last token needs."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Tokens of prompts that were found, and the largest share of the pool that was in use."""

    hit: int
    asked: int
    lost: int
    """Tokens that were computed again although some groups had them."""
    peak: float

    @property
    def rate(self) -> float:
        """Percent of the tokens that were found."""
        return 100 * self.hit / self.asked


def conversations() -> Workload:
    """All turns of all conversations, each when the one before is long over.

    A conversation is its own first token, over and over, so that no two begin alike. An answer is
    what a server without a model samples for the request's row: minus the row, minus 1.
    """
    texts: list[tuple[int, ...]] = [(number,) * FIRST for number in range(CONVERSATIONS)]
    requests: list[Request] = []
    for turn in range(TURNS):
        for number, text in enumerate(texts):
            row = len(requests)
            name = f"{number}, turn {turn}"
            requests.append(Request(name, 1000.0 * row, len(text), ANSWER, (), text))
            texts[number] = (*text, *[-1 - row] * ANSWER, *[number] * (MORE - ANSWER))
    return Workload("conversations", "made up", tuple(requests))


def play(memory: int, layout: str, interval: int | None = 0) -> Hits:
    """Serve the conversations in ``memory`` blocks of all layers."""
    retention = 0 if layout == "full" else interval
    policy = PagedV1(BLOCK_SIZE, groups=LAYOUTS[layout], retention_interval=retention)
    return hits_of(_served(conversations(), policy, memory))


def hits_of(run: Simulation) -> Hits:
    """The hits of a run."""
    held = run.waste.column("token") + run.waste.column("internal")
    asked = sum(request.prompt_tokens for request in run.workload)
    lost = sum(run.requests.lost.values())
    return Hits(sum(run.requests.hits), asked, lost, 100 * float(held.max()) / run.waste.pool)


@cache
def table(memory: Sequence[int] = MEMORY) -> Mapping[str, Mapping[int, Hits]]:
    """The hits by name and memory: full attention alone, then each layout, dense and by default."""
    found = {"full": {blocks: play(blocks, "full") for blocks in memory}}
    for layout in ("1 : 1", "1 : 5"):
        for name, interval in (("dense", DENSE), ("default", DEFAULT)):
            found[f"{layout} {name}"] = {
                blocks: play(blocks, layout, interval) for blocks in memory
            }
    return found


PROMPTS, AT_ONCE, TOKENS = 8, 4, 4425
"""A tenth of the tokens of the published run, whose 8 prompts came 4 at a time."""

KEPT: Mapping[str, int | None] = {
    "dense": DENSE,
    "every 512": 512,
    "every 2048": 2048,
    "default": DEFAULT,
}
"""Intervals of retention. After 512 tokens a window's blocks are a quarter of all."""

ROOM = 1_000
"""Blocks of 16 tokens in all layers. The prompts with the windows at their ends take 42 % of it."""

PUBLISHED = {"dense": 0.0, "every 2048": 90.03}
"""Percent found in the second pass, of another model: DeepSeek-V4-Flash on two H200.

The comment gives no interval: it stands beside ours of 2048.
"""


def sent_again(interval: int | None, shorter: int = 0, passes: int = 3) -> list[Hits]:
    """The hits of each pass. From the second one on the prompts lack their last tokens.

    Another text follows in their place if any are missing, as when a user edits a question.
    """
    requests = []
    for number in range(passes):
        for prompt in range(PROMPTS):
            text = (prompt,) * TOKENS
            if number and shorter:
                text = (*text[:-shorter], *[100 * number + prompt] * shorter)
            name = f"{prompt}, pass {number}"
            requests.append(Request(name, 1e6 * number, len(text), 2, (), text))
    policy = PagedV1(BLOCK_SIZE, groups=LAYOUTS["1 : 5"], retention_interval=interval)
    limits = Limits(8192, max_num_seqs=AT_ONCE, max_num_batched_tokens=2048)
    run = _served(Workload("sent again", "made up", tuple(requests)), policy, ROOM, limits)
    held = run.waste.column("token") + run.waste.column("internal")
    asked, peak = PROMPTS * TOKENS, 100 * float(held.max()) / run.waste.pool
    found = []
    for number in range(passes):
        rows = range(number * PROMPTS, (number + 1) * PROMPTS)
        lost = sum(run.requests.lost.get(row, 0) for row in rows)
        found.append(Hits(sum(run.requests.hits[row] for row in rows), asked, lost, peak))
    return found


EDITED = 600
"""Tokens at a prompt's end that are replaced in a later pass."""


@cache
def retention() -> Mapping[str, tuple[Hits, Hits, Hits]]:
    """By interval: sent again, sent again with another end, and that once more."""
    found = {}
    for name, interval in KEPT.items():
        _, edited, once_more = sent_again(interval, EDITED)
        found[name] = sent_again(interval, passes=2)[1], edited, once_more
    return found


def figure() -> Comparison:
    """What is found again, by interval, beside what a user of vLLM measured."""
    ours = {name: {"hits": found[0].rate} for name, found in retention().items()}
    ours |= {f"edited, {name}": {"hits": found[1].rate} for name, found in retention().items()}
    blocks = ROOM * len(parse_groups(LAYOUTS["1 : 5"]))
    return Comparison(
        "Found when prompts are sent again",
        "% of the prompts' tokens",
        ours,
        {name: {"hits": rate} for name, rate in PUBLISHED.items()},
        f"One group of full attention and five with a window of {WINDOW} tokens; {PROMPTS} prompts "
        f"of {TOKENS:,} tokens, {AT_ONCE} at once, in {blocks:,} blocks. Edited: the last {EDITED} "
        "tokens are others.",
        "The published prompts are ten times as long, for DeepSeek-V4-Flash, which has other "
        "groups; their interval is not given and stands beside ours of 2048.",
        SOURCE,
    )


def _served(stream: Workload, policy: PagedV1, memory: int, limits: Limits = CHUNKED) -> Simulation:
    pool = memory * BLOCK_SIZE
    return simulate(stream, policy=policy, pool=pool, limits=limits, progress=False)


def report() -> Iterator[str]:
    """The lines of the tables."""
    yield f"{CONVERSATIONS} conversations in turn, {TURNS} turns: % of the prompts' tokens found"
    found = table()
    head = f"{'blocks':>8}" + "".join(f"{name:>16}" for name in found)
    yield head + f"{'peak usage':>26}"
    for memory in MEMORY:
        rates = "".join(f"{by_memory[memory].rate:>16.1f}" for by_memory in found.values())
        peaks = [found[name][memory].peak for name in ("full", "1 : 1 default", "1 : 5 default")]
        yield f"{memory:>8}{rates}" + f"{', '.join(f'{peak:.1f}' for peak in peaks) + ' %':>26}"
    yield ""
    yield f"{PROMPTS} prompts of {TOKENS} tokens, {AT_ONCE} at once: % found (% in some groups)"
    columns = ("sent again", f"with {EDITED} other tokens", "that once more", "peak usage")
    yield f"{'':>12}" + "".join(f"{name:>24}" for name in columns)
    for name, passes in retention().items():
        cells = [f"{hits.rate:.1f} ({100 * hits.lost / hits.asked:.1f})" for hits in passes]
        cells.append(f"{max(hits.peak for hits in passes):.1f} %")
        yield f"{name:>12}" + "".join(f"{cell:>24}" for cell in cells)
    rates = f"dense {PUBLISHED['dense']:.1f}, with an interval {PUBLISHED['every 2048']:.1f}"
    yield f"Published, sent again, for another model: {rates}"


def main() -> None:
    """Print the tables."""
    for line in report():
        print(line, flush=True)


if __name__ == "__main__":
    main()
