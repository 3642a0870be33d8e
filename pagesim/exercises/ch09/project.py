"""# 9.5 Final project: V1's KV cache manager ★★★

The final project. Write the KV cache manager of today's vLLM, for full attention, on top of its
block pool:

```python
def kv_cache_manager(pool, block_size, max_model_len, watermark_blocks):
    return tables, get_computed_blocks, allocate_slots, free
```

`tables` is a dict that you keep: the blocks of each request by `request.request_id`. The other
three are functions:

* `get_computed_blocks(request)`: the list of cached blocks that the request could begin with. It
  changes nothing. Empty if `pool.enable_caching` is False or `request.skip_reading_prefix_cache` is
  True. At least one of its tokens must remain to be computed.
* `allocate_slots(request, num_new_tokens, hits, lookahead, whole, reserved, others_run)`: make room
  for `num_new_tokens` more tokens and for `lookahead` slots behind them, never for more than
  `max_model_len` tokens in all. `hits` are blocks that `get_computed_blocks` found: the request's
  table is empty then and begins with them, and their tokens are computed in addition to
  `request.num_computed_tokens`. Returns the list of new blocks, in order, or None, with nothing
  changed, if there is no room:
    * a hit without an owner (`ref_cnt` 0) stands in the free queue, so it also costs a free block;
    * `whole`: there must be room for all `request.num_tokens` tokens, although only the next ones
      get their blocks; `reserved` is not looked at for this question;
    * `reserved` free blocks are not to be used;
    * `watermark_blocks` are not to be used either, for either question, if `others_run` is True and
      `request.status.name` is not "RUNNING".

  With caching, it also caches the full blocks of the tokens that are known and computed after this
  step, each once.
* `free(request)`: give its blocks back, the last one first. A request without a table is ignored.

The pool does the rest: `pool.get_num_free_blocks()`, `pool.get_cached_block(block_hash)` (a list
with one block, or None), `pool.get_new_blocks(n)`, `pool.touch(blocks)` (one more owner),
`pool.free_blocks(blocks)` (one owner fewer), `pool.cache_full_blocks(request, table, start, end,
block_size)` (blocks `start` to `end - 1` of the table). A request has `num_tokens`,
`num_computed_tokens` and `block_hashes`, one for each full block. The pool refuses to cache a block
twice: keep for each request how many of its blocks are.

Example, with blocks of 4, an empty pool of 8 blocks (block 0 is never given out), and a request `a`
with a prompt of 6 tokens: `allocate_slots(a, 6, [], 0, False, 0, False)` returns blocks 1 and 2.
They are `tables["a"]`, and block 1 is cached. For a request `b` with the same prompt,
`get_computed_blocks(b)` is block 1 alone, and `allocate_slots(b, 2, [block 1], 0, False, 0, True)`
returns block 3; `tables["b"]` is then blocks 1 and 3.

`check` plays short scenes, and then three recordings of vLLM 0.33.0, in which your manager must
give the same blocks as vLLM after every operation.

## Hints
1. Begin without caching: hits is always empty, and a table grows by the blocks that are missing.
   The first scenes ask for no more.
2. Ask everything before you change anything: how many blocks the table will have, how many of the
   hits stand in the free queue, how many blocks are free for this request.
3. Then touch the hits, take the new blocks, and cache: from the first block not yet cached (behind
   the hits at first) to min(tokens after this step, num_tokens) // block_size.

## Wrong answers
* freed_first_to_last (it leaves): A table is given back in its own order.
* a_hit_is_the_whole_prompt (all of it is cached): What is cached need not be computed.
* hits_cost_nothing (hits stand in the free queue): A hit takes no block, so it needs none.
* hits_have_no_owner (the same prompt again): A block that is found is in the table; that is all.
* caches_the_whole_prompt (a part of a prompt): The tokens of a prompt are known, so its blocks can
  be cached.
* takes_before_it_touches (a hit is not taken as a new block): There is room for both, so the order
  does not matter.
* reserved_for_the_whole (the whole of it may use what is reserved): What is reserved is not there,
  whatever is asked.
* whole_without_watermark (the whole of it leaves the watermark): The watermark is for blocks that
  are taken now.
* longer_than_the_longest (no slots ahead beyond the longest): No step asks for more than the
  longest.
* always_reads (it does not read the cache): What is cached is read.
* watermark_for_all (the watermark): The watermark is never to be used.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.get_computed_blocks, allocate_slots
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.free
* vllm/v1/core/single_type_kv_cache_manager.py: SingleTypeKVCacheManager
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagesim.exercises.ch09 import project_cases
from pagesim.exercises.ch09.project_run import TheirPlayer, recorded
from pagesim.exercises.kit import Cases, Random, Timeline, parted
from pagesim.replay.v1 import KVCacheManagerPlayer

Config = dict[str, Any]
Ops = list[project_cases.Op]
Seen = dict[str, Any]
"""What an operation returned, and the state behind it."""

SECONDS = 5.0
RULES = {
    "others": "As many, but others: hits leave the free queue before new blocks are taken.",
    "returned": "Look at what it asks for, and at how many blocks it may use.",
    "free": "The last block of a table is given back first; a hit leaves the queue.",
    "ref": "Each table that a block is in is an owner.",
    "cached": "A full block is cached when its tokens are known and computed, and once.",
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
    if hidden:
        for size in (1, 3, 5, 8):
            for caching in (False, True):
                yield project_cases.random_case(rng, size, caching)
    else:
        for path in sorted(Path(__file__).with_name("recordings").iterdir()):
            yield project_cases.recording(path)


def call(kv_cache_manager: Callable[..., Any], config: Config, ops: Ops) -> list[Seen]:
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
    found = f"{what} is {vllms} in vLLM, and {ours} with yours"
    if what == "returned" and isinstance(ours, dict) and isinstance(vllms, dict):
        sizes = {len(each.get("blocks") or ()) for each in (ours, vllms)}
        what = "others" if sizes - {0} and len(sizes) == 1 else what
    return f"Operation {place}, {done}: {found}. {RULES.get(what, '')}".strip()


def play(config: Config, ops: Ops) -> Timeline:
    """The operations on V1's manager."""
    run = recorded(KVCacheManagerPlayer(), config, ops)
    return run.annotate(title="The same operations, as vLLM does them")


def replay(config: Config, ops: Ops, function: Callable[..., Any]) -> Timeline:
    """The operations on the student's manager."""
    run = recorded(TheirPlayer(function, noted=True), config, ops)
    return run.annotate(title="With your manager")
