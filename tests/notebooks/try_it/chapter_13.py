"""Chapter 13."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`window = 10`",
        [
            Try(
                (2,),
                {
                    "run": {
                        "window = 0 ": """
last = [range(length - 10, length) for length in lengths]
seen = np.concatenate([slots_of(t, ps, BLOCK_SIZE) for t, ps in zip(tables, last)])
unseen = np.setdiff1d(np.arange(NUM_BLOCKS * BLOCK_SIZE), seen)
for cache in (k_cache, v_cache):
    cache.view(-1, NUM_KV_HEADS, HEAD_DIM)[torch.tensor(unseen)] = float("nan")
window = 10 """,
                    }
                },
                shows="below 5e-6\n(.*\n)+.* in 0 of 2048 elements",
            )
        ],
    ),
    2: (
        "`tables[0][0]`",
        [
            Try(
                (2,),
                then="""
trace = kernels.xray(
    kernels.paged_attention_v1, query, k_cache, v_cache, block_tables, seq_lens
)
reads = [access.slots() for program in trace.programs for access in program.of("read", "k_cache")]
print("read", sum((tables[0][0], 0) in slots for slots in reads), "times")
""",
                shows="read 16 times",
            )
        ],
    ),
}
