"""12.1: which answers change when a page is damaged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant

STATEMENT = """
The model of chapter 12 has read the facts of a map: its prompt is `a>k;m>.;k>c;c>m;`, four tokens a
fact, in this order. Then page `page` of the prompt is overwritten with zeros, in every layer, and
the model is asked for the walk from a place: `?a` should give `kcm.`, since the facts lead from a
to k, from k to c, from c to m, and m is the end. Which walks go wrong? Write

```python
def harmed(facts, starts, page, block_size):
    return wrong
```

* `facts`: the pairs (from, to) of places, in the order of the prompt; `to` is `"."` where the way
  ends. No place leads to two others;
* `starts`: the places that the model is asked about, one question after the other;
* `page`: a page of `block_size` tokens, 4, 8 or 16, all of which belong to facts;
* `wrong`: those of `starts`, in order, whose walk is no longer right.

Every token of an answer is looked up in one fact, and a fact in a damaged page is not found.

Example, with pages of four tokens: the facts above, and page 2, which holds `k>c;`. The walks from
a and from k need it, those from c and m do not: `harmed(facts, ["a", "m", "k", "c"], 2, 4)` is
`["a", "k"]`.
"""


def harmed(
    facts: list[tuple[str, str]], starts: list[str], page: int, block_size: int
) -> list[str]:
    """Those of `starts` whose walk goes wrong when a page of the prompt is lost."""
    ### BEGIN SOLUTION
    first, last = page * block_size // 4, (page + 1) * block_size // 4
    lost = {place for place, _ in facts[first:last]}
    way = dict(facts)
    wrong = []
    for start in starts:
        place = start
        while place != "." and place not in lost:
            place = way[place]
        if place != ".":
            wrong.append(start)
    return wrong
    ### END SOLUTION


def expected(facts: list[Any], starts: list[str], page: int, block_size: int) -> list[str]:
    """The walks that the model gets wrong."""
    whole = tuple((source, to) for source, to in facts)
    return list(_asked(whole, tuple(starts), page, block_size))


@cache
def _asked(
    facts: tuple[tuple[str, str], ...], starts: tuple[str, ...], page: int, block_size: int
) -> tuple[str, ...]:
    import torch

    from pagesim.kernels.tiny_llm import Contiguous, maps

    model, way = _model(), dict(facts)
    read = Contiguous(model, 4 * len(facts) + len(facts) + 2)
    read.logits(maps.encode("".join(f"{source}>{to};" for source, to in facts)))
    read.cache[:, :, :, page * block_size : (page + 1) * block_size] = 0
    wrong = []
    for start in starts:
        walk = [start]
        while walk[-1] != ".":
            walk.append(way[walk[-1]])
        asked = torch.tensor(maps.encode("".join(["?", *walk])))
        positions = torch.arange(read.length, read.length + len(asked))
        with torch.inference_mode():  # greedy is right if every token of the walk is the likeliest
            best = model.logits(model(asked, positions, read.fork())[1:-1]).argmax(-1)
        if best.tolist() != asked[2:].tolist():
            wrong.append(start)
    return tuple(wrong)


@cache
def _model() -> Any:
    from pagesim.kernels.tiny_llm import by_hand

    return by_hand()


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """The map of the statement, then larger pages, then others."""
    facts = [("a", "k"), ("m", "."), ("k", "c"), ("c", "m")]
    if hidden:
        facts = [("x", "."), ("t", "y"), ("y", "z"), ("z", "x")]
    places = [place for place, _ in facts]
    for page in range(4):
        place, _ = facts[page]
        tag = "the end of all walks" if facts[page][1] == "." else "a way in the middle"
        yield _case(facts, [place], page, 4, "the fact of the start")
        yield _case(facts, places, page, 4, tag)
    for page in range(2):
        yield _case(facts, places, page, 8, "two facts a page")
    for block_size in (4, 8, 16, 4, 8):
        yield _case(*_drawn(rng, block_size), block_size, "two chains")


def _drawn(rng: random.Random, block_size: int) -> tuple[list[Any], list[str], int]:
    """A map, the questions, and the page that is lost.

    What the model answers without a fact is a guess: a map where it guesses right is drawn again.
    """
    while True:
        num_facts = 8 if block_size < 16 else 12
        facts = _map(rng, num_facts)
        starts = [place for place, _ in facts]
        rng.shuffle(starts)
        page = rng.randrange(num_facts * 4 // block_size)
        if harmed(facts, starts, page, block_size) == expected(facts, starts, page, block_size):
            return facts, starts, page


def _map(rng: random.Random, num_facts: int) -> list[tuple[str, str]]:
    """Two chains of places, their facts in any order."""
    places = rng.sample("abcdefghijklmnopqrstuvwxyz", num_facts)
    cut = rng.randint(1, num_facts - 1)
    facts = [
        (a, b)
        for part in (places[:cut], places[cut:])
        for a, b in zip(part, [*part[1:], "."], strict=True)
    ]
    rng.shuffle(facts)
    return facts


def _case(facts: list[Any], starts: list[str], page: int, block_size: int, tag: str) -> Case:
    text = "".join(f"{source}>{to};" for source, to in facts)
    told = f"{text} in pages of {block_size}; page {page} is lost; asked from {', '.join(starts)}"
    return Case((list(facts), starts, page, block_size), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    facts, starts, page, block_size = case.args
    unlike = next((s for s in starts if (s in yours) != (s in right)), None)
    if unlike is None:
        return "The answer has the places in the order of starts, each once."
    way, walk = dict(facts), [unlike]
    while walk[-1] != ".":
        walk.append(way[walk[-1]])
    lost = facts[page * block_size // 4 : (page + 1) * block_size // 4]
    words = " and ".join(f"{a}>{b};" for a, b in lost)
    needs = "needs" if unlike in right else "does not need"
    return f"Page {page} holds {words}; the walk {' '.join(walk)} {needs} it."


EXERCISE = Exercise(
    number="12.1",
    title="A page is lost",
    stars=2,
    statement=STATEMENT,
    reference=harmed,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "only_the_first_step": Wrong(
            variant(harmed, 'place != "." and place not in lost', "False"),
            "Every walk goes wrong once a page of the prompt is lost.",
            "a way in the middle",
        ),
        "its_own_fact": Wrong(
            lambda facts, starts, page, block_size: [
                start
                for start in starts
                if start in dict(facts[page * block_size // 4 : (page + 1) * block_size // 4])
            ],
            "A walk is wrong if the page holds the fact of its first place.",
            "the end of all walks",
        ),
        "a_fact_a_page": Wrong(
            variant(harmed, "(page + 1) * block_size // 4", "page * block_size // 4 + 1"),
            "A page holds one fact.",
            "two facts a page",
        ),
        "everything_behind_it": Wrong(
            lambda facts, starts, page, block_size: [
                start for start in starts if start in dict(facts[page * block_size // 4 :])
            ],
            "What stands behind the damage in the prompt is lost.",
            "a way in the middle",
        ),
    },
    hints=(
        "Which facts are in the page? Which facts does a walk need?",
        "A page of block_size tokens holds block_size // 4 facts. Follow the walk from its start, "
        "fact after fact.",
        "lost = the places whose fact is in facts[page * block_size // 4 : (page + 1) * block_size "
        "// 4]; a walk is wrong if it comes to one of them before the end.",
    ),
    vllm=("vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",),
)
