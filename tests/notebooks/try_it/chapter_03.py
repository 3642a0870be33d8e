"""Chapter 3."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "set a sliding window: `window = 10`. Before the kernel runs, fill all slots with NaN",
        [
            Try(
                (6,),
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
                shows="below 5e-6\n.* in 0 of 2048 numbers",
            )
        ],
    ),
    2: (
        "In section 3, leave out the rescaling of `acc` (but not of `ell`)",
        [
            Try(
                (3,),
                {"numpy": {"acc = acc * rescale + w @ v": "acc = acc + w @ v"}},
                shows=r"page by page: (?! +0\.1644)",
            )
        ],
    ),
    3: (
        "In section 5, leave `tl.where` out of the line with `s` (keep the sum)",
        [
            Try(
                (5,),
                {
                    "own": {
                        's = tl.where(filled, tl.sum(k * q[None, :], axis=1) * scale, float("-inf"))': (
                            "s = tl.sum(k * q[None, :], axis=1) * scale"
                        )
                    },
                },
                raises="AssertionError",
            )
        ],
    ),
    4: (
        "count how often the kernel reads block `tables[0][0]` in section 6",
        [
            Try(
                (6,),
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
