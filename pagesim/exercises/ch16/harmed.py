"""# 16.1 A page is lost ★★

The model of chapter 16 has read the facts of a map. Its prompt is `a>k;m>.;k>c;c>m;`, four tokens
per fact. `a>k;` says that a leads to k, and `m>.;` that a route ends at m. Then page `page` of the
prompt is overwritten with zeros in the cache, in every layer, and the model is asked for routes.
`?a` should give `kcm.`, because the facts lead from a to k, from k to c and from c to m, where the
route ends. Which routes come out wrong? Write

```python
def harmed(facts, starts, page, block_size):
    return wrong
```

* `facts`: the pairs (from, to) of places, in the order of the prompt. `to` is `"."` where a route
  ends. No place leads to two others;
* `starts`: the places that the model is asked about, one question after the other;
* `page`: the index of a page in the prompt, from 0. A page has `block_size` tokens, 4, 8 or 16, all
  of which belong to facts;
* `wrong`: those of `starts`, in order, whose route is no longer right.

The model looks up every token of its output in one fact. It cannot find a fact in a damaged page.

Example, with pages of four tokens: the facts are those above, and page 2 holds `k>c;`. The routes
from a and from k need this fact, and the routes from c and m do not. So
`harmed(facts, ["a", "m", "k", "c"], 2, 4)` is `["a", "k"]`.

## Hints
1. Which facts are in the page? Which facts does a route need?
2. A page of `block_size` tokens holds `block_size // 4` facts. Follow the route from its start,
   fact by fact.
3. The lost places are those whose fact is in
   `facts[page * block_size // 4 : (page + 1) * block_size // 4]`. A route is wrong if it comes to
   one of these places before it ends.

## Wrong answers
* only_the_first_step (a fact in the middle): Once a page of the prompt is lost, every route is
  wrong.
* its_own_fact (the end of all routes): A route is wrong only if the page holds the fact of the
  place where it starts.
* a_fact_a_page (two facts a page): A page holds one fact.
* everything_behind_it (a fact in the middle): All facts behind the damaged page of the prompt are
  lost, too.

## vLLM
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
"""

from functools import cache

from pagesim.exercises.kit import Case, Cases, Random

Facts = list[tuple[str, str]]


def harmed(
    facts: list[tuple[str, str]], starts: list[str], page: int, block_size: int
) -> list[str]:
    """Those of `starts` whose route is wrong when a page of the prompt is lost."""
    ### BEGIN SOLUTION
    first, last = page * block_size // 4, (page + 1) * block_size // 4
    ### a_fact_a_page: first, last = page * block_size // 4, page * block_size // 4 + 1
    lost = {place for place, _ in facts[first:last]}
    way = dict(facts)
    wrong = []
    for start in starts:
        place = start
        while place != "." and place not in lost:
            ### only_the_first_step: while False:
            place = way[place]
        if place != ".":
            wrong.append(start)
    return wrong
    ### its_own_fact: return [start for start in starts if start in lost]
    ### everything_behind_it: return [start for start in starts if start in dict(facts[first:])]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """The map of the statement, then larger pages, then others."""
    facts = [("a", "k"), ("m", "."), ("k", "c"), ("c", "m")]
    if hidden:
        facts = [("x", "."), ("t", "y"), ("y", "z"), ("z", "x")]
    places = [place for place, _ in facts]
    for page, (place, to) in enumerate(facts):
        tag = "the end of all routes" if to == "." else "a fact in the middle"
        yield Case(([*facts], [place], page, 4), tag="the fact of the start")
        yield Case(([*facts], places, page, 4), tag=tag)
    for page in range(2):
        yield Case(([*facts], places, page, 8), tag="two facts a page")
    for block_size in (4, 8, 16, 4, 8):
        yield Case(drawn(rng, block_size), tag="two chains")


def drawn(rng: Random, block_size: int) -> tuple[Facts, list[str], int, int]:
    """Two chains of places as a map, the questions, the page that is lost, and its size.

    What the model answers without a fact is a guess: a map where it guesses right is drawn again.
    """
    while True:
        num_facts = 8 if block_size < 16 else 12
        places = rng.sample("abcdefghijklmnopqrstuvwxyz", num_facts)
        cut = rng.randint(1, num_facts - 1)
        ends = [*places[1:cut], ".", *places[cut + 1 :], "."]
        facts = list(zip(places, ends, strict=True))
        rng.shuffle(facts)
        starts = [place for place, _ in facts]
        rng.shuffle(starts)
        case = facts, starts, rng.randrange(num_facts * 4 // block_size), block_size
        if harmed(*case) == oracle(*case):
            return case


def written(facts: Facts) -> str:
    return "".join(f"{source}>{to};" for source, to in facts)


def words(facts: Facts, starts: list[str], page: int, block_size: int) -> str:
    asked = f"page {page} is lost; asked from {', '.join(starts)}"
    return f"{written(facts)} in pages of {block_size}; {asked}"


def way(facts: Facts, start: str) -> str:
    """The walk from a place to its end, "akcm."."""
    walk = start
    while walk[-1] != ".":
        walk += dict(facts)[walk[-1]]
    return walk


def oracle(facts: Facts, starts: list[str], page: int, block_size: int) -> list[str]:
    """The walks that the model gets wrong."""
    ways = tuple(way(facts, start) for start in starts)
    right = walks(written(facts), page * block_size, (page + 1) * block_size, ways)
    return [start for start, is_right in zip(starts, right, strict=True) if not is_right]


@cache
def walks(prompt: str, first: int, end: int, right: tuple[str, ...]) -> list[bool]:
    """Of each walk, whether every token of it is the model's likeliest, so that greedy finds it."""
    import torch

    from pagesim.kernels.tiny_llm import Contiguous, by_hand, maps

    model = by_hand()
    read = Contiguous(model, len(prompt) + len(prompt) // 4 + 2)
    read.logits(maps.encode(prompt))
    read.cache[:, :, :, first:end] = 0
    found = []
    for walk in right:
        asked = torch.tensor(maps.encode(f"?{walk}"))
        positions = torch.arange(read.length, read.length + len(asked))
        with torch.inference_mode():
            best = model.logits(model(asked, positions, read.fork())[1:-1]).argmax(-1)
        found.append(best.tolist() == asked[2:].tolist())
    return found


def why(yours: list[str], right: list[str], facts: Facts, starts: list[str], *lost: int) -> str:
    page, block_size = lost
    unlike = next((start for start in starts if (start in yours) != (start in right)), None)
    if unlike is None:
        return "Return each place once, in the order of starts."
    held = facts[page * block_size // 4 : (page + 1) * block_size // 4]
    holds = " and ".join(written([fact]) for fact in held)
    needs = "needs a fact" if unlike in right else "needs no fact"
    route = " ".join(way(facts, unlike))
    return f"Page {page} holds {holds}. The route {route} {needs} of this page."
