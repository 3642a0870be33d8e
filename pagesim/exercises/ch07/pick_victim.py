"""# 7.3 A better victim ★★★

A running sequence needs a block, and none is free. vLLM preempts the **last** request of `running`,
and all its tokens are computed again later. Find a better rule:

```python
def pick_victim(running):
    return place
```

`running` lists the candidates, the oldest first, as `(tokens, blocks, times)`: the number of tokens
of the request, the number of its blocks, and how often it was preempted before. `place` is the
victim's index in this list, from 0. The request that needs the block is not in the list. If nothing
else runs, that request is preempted itself, and your function is not called.

`check` serves a stream of 40 requests with 30 blocks of 4 tokens. Your rule must

* waste fewer tokens than vLLM's rule. A token is wasted if it was computed and its block was then
  taken away;
* let no request starve: none may be preempted more than 5 times;
* finish within 1,000 steps.

Example: vLLM's rule is `return len(running) - 1`. You can try your own rule on the stream that
`check` uses:

```python
from pagesim.exercises.ch07.pick_victim import STREAM, measure

served = measure(STREAM, pick_victim)
print(served, max(served.preempted.values()))
```

## Hints
1. What does a victim cost? And if you always take the cheapest one, what happens to this request
   after it returns?
2. Take the request with the fewest tokens, but do not take the same one again and again.
3. Among the requests that were preempted fewer than 2 or 3 times, take the one with the fewest
   tokens. If there are none, take the one with the fewest tokens of all.

## Wrong answers
* last_in (the stream): The last request to come in has the fewest computed tokens.
* longest (the stream): The longest request makes the most room.
* shortest (the stream): The request with the fewest tokens is always the best victim.
* oldest (the stream): The request that has run longest has used the GPU long enough.
* places_from_one (the stream): The indices of a list are counted from 1.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_running
* vllm/core/scheduler.py: Scheduler._preempt_by_recompute
"""

from functools import lru_cache

from pagesim.exercises.ch07.chosen_victims import Candidate, ChosenVictims, Pick
from pagesim.exercises.ch07.serving import Request, Served, recorded, serve
from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline, Value

SECONDS = 30.0
MOST_STEPS = 1000
STREAM, HIDDEN = 150, (123, 9, 78)
"""Streams on which the last one in is a bad victim and the smallest one starves, but no rule that
spares those which were preempted twice or three times."""


def pick_victim(running: list[tuple[int, int, int]]) -> int:
    """The place of the victim in `running`, whose entries are (tokens, blocks, times)."""

    ### BEGIN SOLUTION
    def cost(place: int) -> tuple[bool, int]:
        tokens, _, times = running[place]
        return times >= 2, tokens
        ### longest: return False, -tokens
        ### shortest: return False, tokens
        ### oldest: return False, 0

    return min(range(len(running)), key=cost)
    ### places_from_one: return 1 + min(range(len(running)), key=cost)
    ### END SOLUTION


def last_in(running: list[Candidate]) -> int:
    """vLLM's rule."""
    return len(running) - 1


def cases(rng: Random, hidden: bool) -> Cases:
    """One stream, or three others."""
    for stream in HIDDEN if hidden else (STREAM,):
        yield Case((stream,), f"stream {stream}: 40 requests", "the stream")


def requests(stream: int) -> list[Request]:
    """The stream of this number: (prompt, answer) in tokens."""
    tokens = Random(stream).lognormvariate
    drawn = [(int(tokens(2.0, 0.9)), int(tokens(2.5, 0.8))) for _ in range(40)]
    return [(max(1, min(prompt, 120)), max(1, min(output, 200))) for prompt, output in drawn]


def measure(stream: int, pick: Pick) -> Served:
    """Serve a stream; the victims are those that ``pick`` names."""
    return serve(choosing(pick), requests(stream), MOST_STEPS)


def choosing(pick: Pick) -> ChosenVictims:
    scheduler = ChosenVictims(30, max_num_seqs=64)
    scheduler.pick = pick
    return scheduler


@lru_cache(maxsize=16)
def baseline(stream: int) -> Served:
    """vLLM's rule on a stream."""
    return measure(stream, last_in)


def call(pick: Pick, stream: int) -> list[int]:
    """The victims that were picked one after the other, each by its place."""
    picked: list[int] = []

    def noted(running: list[Candidate]) -> int:
        picked.append(pick(list(running)))
        return picked[-1]

    measure(stream, noted)
    return picked


def again(picked: list[int] | list[None]) -> Pick:
    """The same victims by their places alone; LookupError where they do not fit the run."""
    left = iter(picked[: 10 * MOST_STEPS])

    def pick(running: list[Candidate]) -> int:
        place = next(left, None)
        if type(place) is not int or not -len(running) <= place < len(running):
            raise LookupError
        return place

    return pick


def oracle(stream: int) -> Goal:
    """Better than vLLM's rule, without a request that starves."""
    fewer = f"fewer than {baseline(stream).wasted:,} tokens wasted"
    return Goal([0], f"{fewer}, no request preempted more than 5 times")


def why(yours: Value, stream: int) -> str:
    try:
        served = measure(stream, again(yours if isinstance(yours, list) else [None]))
    except LookupError:
        return "Return the index of the victim in the list, as an int."
    worst, most = max(served.preempted.items(), key=lambda item: item[1], default=(0, 0))
    times = f"s{worst} was preempted {most} times"
    if not served.finished:
        return f"After {MOST_STEPS:,} steps, the stream is not done: {times}."
    if most > 5:
        turn = "Spare a request that was already preempted a few times"
        return f"{times}, so it starves. {turn}."
    lost = baseline(stream)
    if served.ignored > lost.ignored:
        return "A request had grown too long for the GPU when it was preempted, so it was given up."
    if served.wasted < lost.wasted:
        return ""
    lose = f"Your victims waste {served.wasted:,} tokens, and those of vLLM {lost.wasted:,}"
    return f"{lose}. A victim wastes all tokens that it has computed."


def play(stream: int) -> Timeline:
    """The first steps with vLLM's victims."""
    title = "The last request is the victim: the first 60 steps"
    return recorded(choosing(last_in), requests(stream), title)


def replay(yours: list[int], stream: int) -> Timeline:
    """The first steps with those of the answer, if they fit."""
    return recorded(choosing(again(yours)), requests(stream), "With your victims")
