"""# 14.1 What a lane reads ★

In vLLM's CUDA kernel, everything follows from a few sizes. Write
`lane(head_size, block_size, query_bytes, cache_bytes, number)`. The function returns a tuple of
four things:

1. `THREAD_GROUP_SIZE`: the number of neighbouring lanes of a warp that share one key. A warp of 32
   lanes works on as many tokens at once as a block has, but on no more than 32, so that each token
   has at least one lane.
2. `VEC_SIZE`: the number of elements of the query that a lane reads at once. All lanes of a group
   together read 16 bytes. (A lane reads at least one element.)
3. `x`: the number of elements along the innermost axis of the key cache. This axis is 16 bytes
   long.
4. The rows of V that lane `number` of a warp sums, as a list in ascending order, each from 0 to
   `head_size - 1`. A row is one dimension of the head, with the tokens of a block side by side. A
   lane reads as many tokens of a row at once as there are query elements in 16 bytes, but no more
   than the row has. The first row gets as many lanes of the warp as it needs, then the next row,
   and so on. When all 32 lanes are given out, the warp reads these rows, and goes on with the rows
   that follow.

`query_bytes` and `cache_bytes` are the bytes of one element of the query and of the cache. Block
sizes are powers of two from 4 to 64. (vLLM compiles the kernel only for 8, 16 and 32, but its
formulas allow more.)

Example: `lane(64, 16, 2, 2, 0)` is `(2, 4, 8, [0, 16, 32, 48])`.

## Hints
1. Take the example: there are 32 lanes and 16 tokens in a block. How many lanes does each key get?
   And how many tokens of a row of V fit into 16 bytes?
2. A row of V is `block_size` tokens long, and a lane takes `16 // query_bytes` of them. Divide to
   get the number of lanes that share a row. Divide 32 by this number to get the number of rows that
   a warp reads at a time.
3. If k lanes share a row, lane n begins at row `n // k` and continues in steps of `32 // k`, as
   long as the row is below `head_size`.

## Wrong answers
* a_row_for_each_lane (half precision): Each of the 32 lanes has a row to itself, so lane 0 has the
  rows 0, 32, 64 and so on.
* sixteen_bytes_a_lane (half precision): Every lane reads 16 bytes of the query at once.
* x_of_the_query (an fp8 cache): x follows from the size of the query's elements.
* a_group_is_two (another block size): Two lanes always share a key.
* rows_beyond_the_head (rows beyond the head): The rows continue up to the next multiple of what a
  warp reads at once.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, its constants THREAD_GROUP_SIZE,
  VEC_SIZE, NUM_ROWS_PER_ITER
* vllm/attention/ops/paged_attn.py: PagedAttention.split_kv_cache, which has x
"""

from pagesim.exercises.kit import Case, Cases, Random, counted

Reads = tuple[int, int, int, list[int]]


def lane(
    head_size: int, block_size: int, query_bytes: int, cache_bytes: int, number: int
) -> tuple[int, int, int, list[int]]:
    """THREAD_GROUP_SIZE, VEC_SIZE, x, and the rows of V that lane `number` of a warp sums.

    query_bytes, cache_bytes: the size of one element of the query and of the caches.
    """
    ### BEGIN SOLUTION
    group_size = max(32 // block_size, 1)
    ### a_group_is_two: group_size = 2
    vec_size = max(16 // (group_size * query_bytes), 1)
    ### sixteen_bytes_a_lane: vec_size = max(16 // query_bytes, 1)
    x = 16 // cache_bytes
    ### x_of_the_query: x = 16 // query_bytes
    tokens_at_once = min(16 // query_bytes, block_size)
    lanes_of_a_row = block_size // tokens_at_once
    ### a_row_for_each_lane: lanes_of_a_row = 1
    rows_at_once = 32 // lanes_of_a_row
    rows = list(range(number // lanes_of_a_row, head_size, rows_at_once))
    ### rows_beyond_the_head: rows = list(range(number // lanes_of_a_row, 128, rows_at_once))
    return group_size, vec_size, x, rows
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Head size 128 in blocks of 16 first, then everything that varies, one by one.

    vLLM compiles its kernel for blocks of 8, 16 and 32: none of these needs its max and min.
    """
    yield Case((128, 16, 2, 2, 4 if hidden else 0), tag="half precision")
    yield Case((128, 16, 2, 2, 5 if hidden else 3), tag="half precision")
    yield Case((128, 8, 2, 2, 0), tag="another block size")
    yield Case((128, 32, 2, 2, 9 if hidden else 1), tag="another block size")
    yield Case((128, 16, 4, 4, 5), tag="float32")
    yield Case((128, 64, 2, 2, 7), tag="a block larger than a warp")
    yield Case((128, 4, 4, 4, 3), tag="less than an element for a lane")
    yield Case((128, 4, 2, 2, 3), tag="a row shorter than 16 bytes")
    yield Case((128, 16, 2, 1, 0), tag="an fp8 cache")
    yield Case((120, 16, 2, 2, 31 if hidden else 30), tag="rows beyond the head")
    for head in (128, 64, 256, 80, 96, 112, 120):
        for block in (4, 8, 16, 32, 64):
            for query, cache in ((2, 2), (2, 1), (4, 4), (4, 1)):
                if head % (16 // cache) == 0:
                    yield Case((head, block, query, cache, rng.randrange(32)), tag="any")


def words(head: int, block: int, query: int, cache: int, number: int) -> str:
    sizes = f"head size {head}, blocks of {block}, elements of {query} bytes in q and"
    return f"lane {number}; {sizes} {counted(cache, 'byte')} in the cache"


def oracle(head: int, block: int, query: int, cache: int, number: int) -> Reads:
    """What the emulated kernel has: `simt.Config` and `v_rows`."""
    from pagesim.kernels import simt
    from pagesim.kernels.simt.indices import v_rows

    config = simt.Config(head, block, element_bytes=query, quantized=cache < query)
    rows = [row for row in v_rows(config)[0, number].tolist() if row < head]
    return config.thread_group_size, config.vec_size, config.x, rows


def why(yours: Reads, right: Reads, *case: int) -> str:
    head, block, query, cache, number = case
    group, vec, x, rows = right
    lanes = counted(group, "lane")
    if yours[0] != group:
        met = f"A warp of 32 lanes works on {min(block, 32)} tokens at once"
        return f"{met}, with {lanes} for each."
    if yours[1] != vec:
        reads = f"A group of {lanes} reads 16 bytes of q together"
        if 16 // group < query:
            return f"{reads}, but each lane reads at least one element."
        return f"{reads}, so a lane reads {16 // group} bytes: {counted(vec, 'element')}."
    if yours[2] != x:
        return f"x counts the elements in 16 bytes of the cache, at {counted(cache, 'byte')} each."
    if any(row >= head for row in yours[3]):
        return f"A head of {head} dimensions has the rows 0 to {head - 1}, and no others."
    tokens = min(16 // query, block)
    lanes, step = counted(block // tokens, "lane"), 32 * tokens // block
    takes = f"A lane takes {tokens} of the {block} tokens of a row at once, so a row has {lanes}"
    goes_on = f"lane {number} begins at row {rows[0]} and continues in steps of {step}"
    return f"{takes} and a warp reads {step} rows at a time. So {goes_on}."
