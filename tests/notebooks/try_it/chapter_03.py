"""Chapter 3."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "set a sliding window: `sliding_window=10`, for the kernel and for `assert_matches_reference`",
        [
            Try(
                (4,),
                {
                    "run": {
                        "out = kernels.paged_attention_v1(query, k_cache, v_cache, block_tables, seq_lens)": """
last = [range(length - 10, length) for length in lengths]
seen = np.concatenate([slots_of(t, ps, BLOCK_SIZE) for t, ps in zip(tables, last)])
unseen = np.setdiff1d(np.arange(NUM_BLOCKS * BLOCK_SIZE), seen)
for cache in (k_cache, v_cache):
    cache.view(-1, NUM_KV_HEADS, HEAD_DIM)[torch.tensor(unseen)] = float("nan")
out = kernels.paged_attention_v1(
    query, k_cache, v_cache, block_tables, seq_lens, sliding_window=10
)""",
                        "    out, query, k_cache, v_cache, block_tables, seq_lens\n": (
                            "    out, query, k_cache, v_cache, block_tables, seq_lens, sliding_window=10\n"
                        ),
                    }
                },
                shows="any NaN\\? False\n.*below 5e-6\\? True",
            )
        ],
    ),
    2: (
        "In section 3, forget the rescaling of `acc` (but not of `ell`)",
        [
            Try(
                (3,),
                {"numpy": {"acc = acc * rescale + w": "acc = acc + w"}},
                shows=r"below 1e-14\? False",
            )
        ],
    ),
    3: (
        "count how often the kernel reads block `tables[0][0]` in section 4",
        [
            Try(
                (4,),
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
