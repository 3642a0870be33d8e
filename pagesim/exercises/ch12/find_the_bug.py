"""# 12.4 Find the bug: three tiers ★★

The second tiers `"A"`, `"B"` and `"C"` are broken: each has one fault. Find the fault, and prove it
with a few requests, one of which loads wrong bytes:

```python
def show_wrong_bytes(tier, num_chunks):
    return requests, cause
```

* `tier`: one of the three letters.
* `num_chunks`: how many chunks the tier has room for, at least 2. A chunk is one block of 2 tokens.
* `requests`: at most 4 pairs `(step, prompt)`, the first of which is called `s0`. A request arrives
  before this step, from 0 to 30. Its prompt is a list of 1 to `2 * num_chunks` ints. It generates
  one token and ends.
* `cause`: one of
  * `"early"`: A store begins before its blocks are computed.
  * `"unwatched"`: A request has ended, and its blocks are written again while a store still reads
    them.
  * `"evicted"`: A chunk is evicted while a load still reads it.
  * `"pending"`: A chunk is loaded before its store has ended.
  * `"own tokens"`: A chunk is found by its own tokens, whatever precedes them.

On the GPU, prefix caching is off, so whatever is found is loaded. The GPU has room for all
requests. A copy takes two steps. If the bytes that it reads change meanwhile, it copies a mixture.

To see what vLLM's tier does in each step, and then a broken one:

```python
from pagesim.exercises.ch12.find_the_bug import log

requests = [(0, [1, 1]), (5, [1, 1])]
print(log(requests, 2))
print(log(requests, 2, "B"))
```

The broken classes are in the package. If you read them, you know the cause, but you still need
requests that show the fault.

## Hints
1. Wrong bytes show only when they are loaded. So a prompt must be stored, and come back when its
   store has ended.
2. For B and C, another prompt has to come between. What could it write into at the wrong moment:
   into a block, or into a chunk?
3. For A, the same prompt comes twice. For B, another prompt comes in step 1 and takes the block of
   `s0`. For C, let `s0` and `s1` have the same prompt, which fills the tier. `s2` has another one
   and arrives together with `s1`.

## Wrong answers
* not_a_whole_block (A): Every token of a prompt is stored.
* at_the_same_time (A): The second of two equal prompts always loads.
* symptom (B): A store that copies wrong bytes has begun too early.
* not_loaded (B): The wrong bytes show as soon as the store has ended.
* room_is_left (C): Any chunk may be evicted when a new one is stored.
* too_late (C): It does not matter when the other prompt arrives.

## vLLM 0.33.0
* vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py:
  OffloadingConnectorScheduler.build_connector_meta, request_finished
* vllm/distributed/kv_transfer/kv_connector/v1/offloading/worker.py: OffloadingConnectorWorker
* vllm/v1/kv_offload/cpu/policies/lru.py: LRUCachePolicy.evict
"""

from pagesim.exercises.ch12.faulty import CAUSES, FAULTY
from pagesim.exercises.ch12.tiers import LATEST, Arrivals, Tier
from pagesim.exercises.kit import Case, Cases, Goal, Random, Value


def show_wrong_bytes(tier: str, num_chunks: int) -> tuple[list[tuple[int, list[int]]], str]:
    """Up to four (step, prompt) that show the fault of tier "A", "B" or "C", and its cause."""
    ### BEGIN SOLUTION
    first = [1] * 2 * num_chunks
    ### room_is_left: first = [1] * 2
    if tier == "A":  # it comes back
        return [(0, first), (9, first)], "early"
        ### not_a_whole_block: return [(0, [1]), (9, [1])], "early"
        ### at_the_same_time: return [(0, first), (0, first)], "early"
    if tier == "B":  # its block is written in the next step
        return [(0, [1, 1]), (1, [2, 2]), (9, [1, 1])], "unwatched"
        ### symptom: return [(0, [1, 1]), (1, [2, 2]), (9, [1, 1])], "early"
        ### not_loaded: return [(0, [1, 1]), (1, [2, 2])], "unwatched"
    return [(0, first), (9, first), (9, [2, 2])], "evicted"  # the tier is full
    ### too_late: return [(0, first), (9, first), (19, [2, 2])], "evicted"
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Each tier, with room for several numbers of chunks."""
    for letter in FAULTY:
        for num_chunks in (rng.randint(5, 9),) if hidden else (2, 4):
            yield Case((letter, num_chunks), f"tier {letter} with {num_chunks} chunks", letter)


def oracle(letter: str, num_chunks: int) -> Goal:
    """That the fault is shown, and named."""
    shows = f"up to 4 requests, one of which loads wrong bytes from {letter}, and the cause"
    return Goal(([(0, [1])], "cause"), shows)


def log(requests: Arrivals, num_chunks: int, letter: str = "") -> str:
    """What happens in each step, in vLLM's tier without a letter."""
    return "\n".join(tier_of(letter, num_chunks).serve(requests))


def tier_of(letter: str, num_chunks: int) -> Tier:
    return FAULTY[letter][0](num_chunks) if letter else Tier(num_chunks)


def why(yours: Value, letter: str, num_chunks: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "Return a list of requests and a cause."
    requests, cause = yours
    if not 1 <= len(requests) <= 4:
        return f"Return 1 to 4 requests, not {len(requests)}."
    for request in requests:
        if not is_request(request, 2 * num_chunks):
            most = f"a step from 0 to {LATEST}, and a list of 1 to {2 * num_chunks} ints"
            return f"A request is a pair: {most}."
    tier = tier_of(letter, num_chunks)
    lines = tier.serve(requests)
    if not tier.wrong:
        if not any("load of" in line for line in lines):
            return "No request loads anything, so nobody reads what the tier has stored."
        return (
            f"All loads give the right bytes, so these requests do not show the fault of {letter}."
        )
    if cause not in CAUSES:
        return f"The cause must be one of {', '.join(CAUSES)}."
    if cause != FAULTY[letter][1]:
        return f"It is true that {tier.wrong[0]}. So the fault shows, but the cause is another one."
    return ""


def is_request(request: Value, most: int) -> bool:
    if not (isinstance(request, list) and len(request) == 2 and isinstance(request[1], list)):
        return False
    step, prompt = request
    ints = all(type(each) is int for each in [step, *prompt])
    return ints and 0 <= step <= LATEST and 1 <= len(prompt) <= most
