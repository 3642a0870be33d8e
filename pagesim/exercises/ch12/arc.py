"""# 12.1 ARC by hand ★★★

When the second tier is full, a new chunk needs the place of another one. ARC, one of vLLM's two
rules, decides which chunk is evicted. It keeps four lists, each from the oldest chunk to the
newest:

* `t1`: the chunks in the tier that one request has needed.
* `t2`: the chunks in the tier that more than one request has needed.
* `b1`, `b2`: the **ghosts**. They are chunks that were evicted from `t1` and from `t2`. Only their
  names are left.

The number `target` says how long `t1` should be. It is 0.0 at the beginning. Write

```python
def arc(num_chunks, requests):
    return t1, t2, b1, b2, target
```

* `num_chunks`: how many chunks the tier has room for.
* `requests`: for each request, the names of the chunks that it needs, at most `num_chunks`. A
  request ends before the next one begins.

For each request, three things happen, one after the other:

1. **Ghosts.** Some chunks of the request are missing in the tier. Look at these from the last to
   the first. If such a chunk is in `b1`, `target` grows by `max(1, len(b2) / len(b1))`, but not
   above `num_chunks`. If it is in `b2`, `target` falls by `max(1, len(b1) / len(b2))`, but not
   below 0. In both cases, the ghost moves to the end of its own list.
2. **Eviction.** Chunks are evicted one by one, until the missing chunks have room. If
   `len(t1) >= int(target)`, the oldest chunk of `t1` goes, and otherwise the oldest of `t2`. Chunks
   that this request needs must stay. If a list has no other chunks, the oldest of the other list
   goes. An evicted chunk becomes the newest ghost of `b1` or `b2`. If a list then has more than
   `num_chunks` ghosts, its oldest ghost is forgotten.
3. **End.** The request ends. Now its chunks move, from the last to the first. A chunk that was in
   the tier before moves to the end of `t2`. A chunk that was missing is stored: it moves to the end
   of `t1`, even if it was a ghost. (In the textbook, a ghost moves to `t2`.)

Example: `arc(2, [["x"], ["x"], ["a"], ["b"]])` is `(["b"], ["x"], ["a"], [], 0.0)`. The second
request finds `x`, so `x` moves to `t2`. For `b`, one chunk must go. It is the oldest of `t1`.

## Hints
1. Write one helper that takes a name out of whichever list it is in. In which of the three parts do
   you need it?
2. Before part 1, note which chunks are missing, because part 3 needs to know it. In part 2, look
   for the first chunk of a list that is not in the request.
3. In part 2, the lists are tried in the order `(t1, t2)` if `len(t1) >= int(target)`, and otherwise
   in the order `(t2, t1)`. In part 3, go through `reversed(request)`, take each chunk out of its
   list, and append it to `t1` if it was missing, or else to `t2`.

## Wrong answers
* ghosts_to_t2 (a ghost): A ghost that returns has been needed twice, so it belongs in t2.
* the_head_first (two chunks): The last chunk of a request was used last, so it is the newest.
* found_moves_at_once (found and missing): A chunk moves to t2 as soon as a request finds it.
* longer_than_the_target (as long as the target): A list that is as long as it should be loses
  nothing.
* always_by_one (more ghosts in one list): A ghost changes the target by 1.
* needed_ones_go_too (the oldest is needed): The oldest chunk goes, whoever needs it.
* all_ghosts_stay (many ghosts): A ghost takes no memory, so all of them are kept.
* always_t1 (found again): A chunk that is needed again becomes the newest chunk of t1.

## vLLM 0.33.0
* vllm/v1/kv_offload/cpu/policies/arc.py: ARCCachePolicy
* vllm/v1/kv_offload/cpu/manager.py: CPUOffloadingManager.prepare_store
"""

from pagesim.exercises.kit import Case, Cases, Random, close
from pagesim.v1 import CPUOffloadingManager, ReqContext

Lists = tuple[list[str], list[str], list[str], list[str], float]
Requests = list[list[str]]
NAMES = "t1", "t2", "b1", "b2"
SHOWN = (
    (2, "x", "one chunk"),
    (2, "x x", "found again"),
    (2, "xy", "two chunks"),
    (2, "x y z", "one goes"),
    (2, "xy zy", "the oldest is needed"),
    (2, "x yz x", "a ghost"),
    (2, "xy zy x", "as long as the target"),
    (2, "x yz ab", "many ghosts"),
    (3, "xy zay x za", "found and missing"),
    (2, "xy yx z ab z", "more ghosts in one list"),
    (4, "x y x y a b c d e z", "a scan"),
)
"""Chunks of the tier, and the requests: each is a word, whose letters are its chunks."""
same = close(1e-9)


def arc(
    num_chunks: int, requests: list[list[str]]
) -> tuple[list[str], list[str], list[str], list[str], float]:
    """The lists t1, t2, b1 and b2 after these requests, oldest chunk first, and the target."""
    ### BEGIN SOLUTION
    t1: list[str] = []
    t2: list[str] = []
    b1: list[str] = []
    b2: list[str] = []
    target = 0.0
    for request in requests:
        missing = [chunk for chunk in request if chunk not in t1 + t2]
        ### found_moves_at_once: missing = [chunk for chunk in request if chunk not in t1 + t2]
        ### found_moves_at_once: t2 += [chunk for chunk in t1 if chunk in request]
        ### found_moves_at_once: t1 = [chunk for chunk in t1 if chunk not in request]
        for chunk in reversed(missing):
            if chunk in b1:
                target = min(target + max(1, len(b2) / len(b1)), float(num_chunks))
                ### always_by_one: target = min(target + 1, float(num_chunks))
                b1.remove(chunk)
                b1.append(chunk)
            elif chunk in b2:
                target = max(target - max(1, len(b1) / len(b2)), 0.0)
                ### always_by_one: target = max(target - 1, 0.0)
                b2.remove(chunk)
                b2.append(chunk)
        while len(t1) + len(t2) + len(missing) > num_chunks:
            ways = [(t1, b1), (t2, b2)] if len(t1) >= int(target) else [(t2, b2), (t1, b1)]
            ### longer_than_the_target: ways = [(t1, b1), (t2, b2)]
            ### longer_than_the_target: ways = ways if len(t1) > int(target) else ways[::-1]
            pairs = [(row, ghosts) for row, ghosts in ways if {*row} - {*request}]
            ### needed_ones_go_too: pairs = [(row, ghosts) for row, ghosts in ways if row]
            row, ghosts = pairs[0]
            victim = next(chunk for chunk in row if chunk not in request)
            ### needed_ones_go_too: victim = row[0]
            row.remove(victim)
            ghosts.append(victim)
            del ghosts[:-num_chunks]
            ### all_ghosts_stay:
        for chunk in reversed(request):
            ### the_head_first: for chunk in request:
            ### ghosts_to_t2: for chunk in reversed(request):
            ### ghosts_to_t2:     is_ghost = chunk in b1 + b2
            for row in (t1, t2, b1, b2):
                if chunk in row:
                    row.remove(chunk)
            (t1 if chunk in missing else t2).append(chunk)
            ### ghosts_to_t2: (t1 if chunk in missing and not is_ghost else t2).append(chunk)
            ### always_t1: t1.append(chunk)
    return t1, t2, b1, b2, target
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Few chunks, each for a rule, then a scan, then many requests."""
    names = "pqrstuvw" if hidden else "xyzabcde"
    for num_chunks, requests, tag in SHOWN:
        there = str.maketrans("xyzabcde", names)
        yield Case((num_chunks, [[*each.translate(there)] for each in requests.split()]), tag=tag)
    for _ in range(60):
        num_chunks, needed = rng.randint(2, 5), list[list[str]]()
        for _ in range(rng.randint(4, 14)):
            first, some = rng.randrange(8), rng.randint(1, min(3, num_chunks))
            needed.append([2 * name for name in (names * 2)[first : first + some]])
        yield Case((num_chunks, needed), tag="many")


def valid(num_chunks: int, requests: Requests) -> bool:
    return num_chunks > 0 and all(0 < len({*r}) == len(r) <= num_chunks for r in requests)


def words(num_chunks: int, requests: Requests) -> str:
    needs = ", then ".join(" ".join(request) for request in requests)
    return f"a tier of {num_chunks} chunks; the requests need {needs}"


def oracle(num_chunks: int, requests: Requests) -> Lists:
    """The lists of the tier's manager, to which each request offers its chunks."""
    manager = CPUOffloadingManager(num_chunks, "arc")
    for number, chunks in enumerate(requests):
        request = ReqContext(number)
        for place, chunk in enumerate(chunks):
            request.set_offload_key_position(chunk, place)
        manager.on_new_request(request)
        manager.prepare_store(chunks, request)
        manager.complete_store(chunks, request)
        manager.on_request_finished(request)
    state = manager.policy.state()
    return tuple(state[name] for name in (*NAMES, "target"))  # type: ignore[return-value]


def why(yours: Lists, right: Lists, num_chunks: int, requests: Requests) -> str:
    *before, target = oracle(num_chunks, requests[:-1])
    rows = [f"{name} is {' '.join(row)}" for name, row in zip(NAMES, before, strict=True) if row]
    begins = f"Before the last request, {', '.join(rows or ['all lists are empty'])}"
    begins += f", and the target is {target:.3g}"
    there, stays = {*before[0], *before[1]}, {*right[0], *right[1]}
    gone = [chunk for chunk in right[2] + right[3] if chunk in there - stays]
    if not same(yours[4], right[4]):
        return f"{begins}. By part 1, the request makes the target {right[4]:.3g}."
    if {*yours[0], *yours[1]} != stays:
        return f"{begins}. By part 2, the chunks that go are: {' '.join(gone) or 'none'}."
    if [*map(set, yours[2:4])] != [*map(set, right[2:4])]:
        b1, b2 = (" ".join(row) or "empty" for row in right[2:4])
        most = f"a list has at most {num_chunks} ghosts, and a chunk in the tier is no ghost"
        return f"{begins}. After it, b1 is {b1} and b2 is {b2}: {most}."
    if {*yours[0]} != {*right[0]}:
        unlike = {*yours[0]} ^ {*right[0]}
        chunk = next((chunk for chunk in requests[-1] if chunk in unlike), min(unlike))
        was = "was in the tier" if chunk in there else "was not in the tier"
        return f"{begins}. By part 3, look at {chunk}: it {was} when the last request began."
    return f"{begins}. A list ends with its newest chunk, which is the first one of a request."
