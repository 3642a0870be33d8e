"""# 9.5 Final project: V1's KV cache manager ★★★

This is the final project. Write the KV cache manager of today's vLLM, for full attention, on top of
its block pool:

```python
def kv_cache_manager(pool, block_size, max_model_len, watermark_blocks):
    return tables, get_computed_blocks, allocate_slots, free
```

`tables` is a dict that you maintain: the blocks of each request, by `request.request_id`. The other
three are functions:

* `get_computed_blocks(request)` returns the list of cached blocks that the request could begin
  with, and it changes nothing. The list is empty if `pool.enable_caching` is False or
  `request.skip_reading_prefix_cache` is True. At least one token of the request must be left to
  compute.
* `allocate_slots(request, num_new_tokens, hits, lookahead, whole, reserved, others_run)` makes room
  for `num_new_tokens` more tokens and for `lookahead` slots behind them, but never for more than
  `max_model_len` tokens in all. `hits` are blocks that `get_computed_blocks` found. If there are
  any, the request has no table yet, and its table begins with them. The tokens in these blocks
  count as computed, in addition to `request.num_computed_tokens`. The function returns the list of
  new blocks, in order. If there is no room, it returns None and changes nothing. These rules say
  whether there is room:
    * A hit without an owner (`ref_cnt` 0) is in the free queue, so it costs a free block, too.
    * If `whole` is True, there must also be room for all `request.num_tokens` tokens, although only
      the next ones get blocks now. The check for `whole` ignores `reserved`.
    * `reserved` of the free blocks must not be used.
    * If `others_run` is True and `request.status.name` is not "RUNNING", another `watermark_blocks`
      of them must not be used. This rule holds for the check for `whole`, too.

  If caching is on, the function also caches every block that is full of tokens which are known, and
  which are computed after this step. Each block is cached once.

* `free(request)` frees its blocks, from the last to the first. It ignores a request without a
  table.

The pool does the rest: `pool.get_num_free_blocks()`, `pool.get_cached_block(block_hash)` (a list
with one block, or None), `pool.get_new_blocks(n)`, `pool.touch(blocks)` (one more owner),
`pool.free_blocks(blocks)` (one owner fewer) and
`pool.cache_full_blocks(request, table, start, end, block_size)` (blocks `start` to `end - 1` of the
table). A request has `num_tokens`, `num_computed_tokens` and `block_hashes`, one for each full
block. The pool refuses to cache a block twice, so remember for each request how many of its blocks
are cached.

Example, with blocks of 4 and an empty pool of 8 blocks, where block 0 is never handed out: request
`a` has a prompt of 6 tokens. `allocate_slots(a, 6, [], 0, False, 0, False)` returns blocks 1 and 2.
`tables["a"]` now holds these blocks, and block 1 is cached. Request `b` has the same prompt.
`get_computed_blocks(b)` returns block 1 alone, and
`allocate_slots(b, 2, [block 1], 0, False, 0, True)` returns block 3. Now `tables["b"]` holds blocks
1 and 3.

`check` first plays short scenes. Then it plays three recordings of vLLM 0.33.0, in which your
manager must return the same blocks as vLLM after every operation.

## Hints
1. Begin without caching. Then `hits` is always empty, and a table grows by the blocks that are
   missing. The first scenes need no more than this.
2. Find out everything before you change anything: how many blocks the table will have, how many of
   the hits are in the free queue, and how many blocks are free for this request.
3. Then touch the hits, take the new blocks, and cache the full ones. The first of them is the first
   block not yet cached: at the beginning, the one behind the hits. They end before block
   `min(tokens after this step, num_tokens) // block_size`.

## Wrong answers
* freed_first_to_last (it leaves): The blocks of a table are freed from the first to the last.
* a_hit_is_the_whole_prompt (all of it is cached): Tokens that are cached need not be computed.
* hits_cost_nothing (hits stand in the free queue): A hit is no new block, so it costs no free
  block.
* hits_have_no_owner (the same prompt again): A block that is found goes into the table, and that is
  all.
* caches_the_whole_prompt (a part of a prompt): The tokens of a prompt are known, so its blocks can
  be cached.
* takes_before_it_touches (a hit is not taken as a new block): There is room for the hits and for
  the new blocks, so their order does not matter.
* reserved_for_the_whole (the whole of it may use what is reserved): Reserved blocks must not be
  used, not even in the check for the whole.
* whole_without_watermark (the whole of it leaves the watermark): The watermark concerns only blocks
  that are taken now.
* longer_than_the_longest (no slots ahead beyond the longest): A step never needs room for more
  tokens than max_model_len.
* always_reads (it does not read the cache): Every request may read what is cached.
* watermark_for_all (the watermark): The watermark must never be used.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.get_computed_blocks, allocate_slots
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.free
* vllm/v1/core/single_type_kv_cache_manager.py: SingleTypeKVCacheManager
"""

from itertools import product
from pathlib import Path
from typing import Any

from pagesim.exercises.case import Function
from pagesim.exercises.ch09 import project_cases
from pagesim.exercises.ch09.project_run import TheirPlayer, recorded
from pagesim.exercises.kit import Cases, Random, Timeline, parted
from pagesim.files.jsonl import JsonObject
from pagesim.replay.v1 import KVCacheManagerPlayer

Config = JsonObject
Ops = list[project_cases.Op]
Seen = JsonObject
"""What an operation returned, and the state behind it."""

SECONDS = 5.0
RULES = {
    "others": "Hits must leave the free queue before new blocks are taken.",
    "returned": "Count the blocks that the request needs, and those that it may use.",
    "computed": "Which blocks may be found, and how many tokens must be left to compute?",
    "free": "The last block of a table is freed first. A hit leaves the queue.",
    "ref": "Each table that names a block is one of its owners.",
    "cached": "A full block is cached once, when its tokens are known and computed.",
}


def kv_cache_manager(
    pool: Any, block_size: int, max_model_len: int, watermark_blocks: int
) -> tuple[Any, Any, Any, Any]:
    """The tables of a KV cache manager, get_computed_blocks, allocate_slots and free."""
    ### BEGIN SOLUTION
    tables: dict[str, list[Any]] = {}
    num_cached: dict[str, int] = {}

    def get_computed_blocks(request: Any) -> Any:
        hits: list[Any] = []
        if pool.enable_caching and not request.skip_reading_prefix_cache:
            ### always_reads: if pool.enable_caching:
            for block_hash in request.block_hashes[: (request.num_tokens - 1) // block_size]:
                ### a_hit_is_the_whole_prompt: num_full = request.num_tokens // block_size
                ### a_hit_is_the_whole_prompt: for block_hash in request.block_hashes[:num_full]:
                found = pool.get_cached_block(block_hash)
                if found is None:
                    break
                hits += found
        return hits

    def allocate_slots(
        request: Any, num_new_tokens: int, hits: Any, lookahead: int, whole: bool, reserved: int,
        others_run: bool,
    ) -> Any:  # fmt: skip
        name = request.request_id
        table = tables.get(name, []) + hits
        end = request.num_computed_tokens + len(hits) * block_size + num_new_tokens
        free = pool.get_num_free_blocks() - sum(block.ref_cnt == 0 for block in hits)
        ### hits_cost_nothing: free = pool.get_num_free_blocks()
        if others_run and request.status.name != "RUNNING":
            ### watermark_for_all: if True:
            free -= watermark_blocks

        def missing(num_tokens: int) -> int:
            return -(-min(num_tokens, max_model_len) // block_size) - len(table)
            ### longer_than_the_longest: return -(-num_tokens // block_size) - len(table)

        if whole and missing(request.num_tokens) > free:
            ### reserved_for_the_whole: if whole and missing(request.num_tokens) > free - reserved:
            ### whole_without_watermark: most = pool.get_num_free_blocks()
            ### whole_without_watermark: if whole and missing(request.num_tokens) > most:
            return None
        num_new_blocks = max(missing(end + lookahead), 0)
        if num_new_blocks > free - reserved:
            return None
        pool.touch(hits)
        ### hits_have_no_owner:
        ### takes_before_it_touches:
        new_blocks = pool.get_new_blocks(num_new_blocks)
        ### takes_before_it_touches: new_blocks = pool.get_new_blocks(num_new_blocks)
        ### takes_before_it_touches: pool.touch(hits)
        tables[name] = table + new_blocks
        if pool.enable_caching:
            start = num_cached.get(name, len(hits))
            num_cached[name] = max(min(end, request.num_tokens) // block_size, start)
            ### caches_the_whole_prompt: num_full = request.num_tokens // block_size
            ### caches_the_whole_prompt: num_cached[name] = max(num_full, start)
            pool.cache_full_blocks(request, tables[name], start, num_cached[name], block_size)
        return new_blocks

    def free(request: Any) -> None:
        num_cached.pop(request.request_id, None)
        pool.free_blocks(tables.pop(request.request_id, [])[::-1])
        ### freed_first_to_last: pool.free_blocks(tables.pop(request.request_id, []))

    return tables, get_computed_blocks, allocate_slots, free
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Short scenes, then the recordings, or random operations of other seeds."""
    yield from project_cases.scenes(3 if hidden else 4)
    kinds = product((1, 3, 5, 8), (False, True))
    recordings = sorted(Path(__file__).with_name("recordings").iterdir())
    drawn = (project_cases.random_case(rng, size, caching) for size, caching in kinds)
    yield from drawn if hidden else map(project_cases.recording, recordings)


def call(kv_cache_manager: Function, config: Config, ops: Ops) -> list[Seen]:
    return project_cases.observed(TheirPlayer(kv_cache_manager), config, ops)


def oracle(config: Config, ops: Ops) -> list[Seen]:
    """What each operation returns, and the state behind it, with V1's manager."""
    return project_cases.observed(KVCacheManagerPlayer(), config, ops)


def why(yours: list[Seen], right: list[Seen], ops: Ops) -> str:
    place = parted(yours, right)
    mine, theirs = yours[place], right[place]
    what = next(each for each in {**theirs, **mine} if mine.get(each) != theirs.get(each))
    ours, vllms = mine.get(what), theirs.get(what)
    op, args = ops[place]
    done = " ".join([op, *(f"{key}={value!r:.60}" for key, value in args.items())])
    found = f"{what} is {vllms} in vLLM, but {ours} in yours"
    if what == "returned" and isinstance(ours, dict) and isinstance(vllms, dict):
        sizes = {len(each.get("blocks") or ()) for each in (ours, vllms)}
        what = "others" if sizes - {0} and len(sizes) == 1 else what
        what = "computed" if op == "computed" else what
    return f"Operation {place}, {done}: {found}. {RULES.get(what, '')}".strip()


def play(config: Config, ops: Ops) -> Timeline:
    """The operations on V1's manager."""
    run = recorded(KVCacheManagerPlayer(), config, ops)
    return run.annotate(title="The same operations in vLLM")


def replay(config: Config, ops: Ops, function: Function) -> Timeline:
    """The operations on the student's manager."""
    run = recorded(TheirPlayer(function, noted=True), config, ops)
    return run.annotate(title="With your manager")
