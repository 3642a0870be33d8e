"""What the Try-it lines of the chapters tell their reader to do, as changes of the source.

One entry for each line. What a line asks to write is written here as well, in ``then``.
"""

# ruff: noqa: E501 (the chapters' words and source are quoted as they are)

from __future__ import annotations

from dataclasses import dataclass, field

Changes = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Try:
    """A change to make in one section (or several, one after the other) of a chapter.

    ``changes``: cell id → text that stands there once → what is put in its place. ``then`` is run
    after the section. ``shows`` is a regular expression that must be found in what was printed.
    ``raises`` names the exception that the line is about.
    """

    sections: tuple[int, ...]
    changes: Changes = field(default_factory=dict)
    then: str = ""
    shows: str = ""
    raises: str = ""


OTHER = {"s2 = arrive(manager, 2, [1, 2, 3, 4, 5, 6, 7, 8])": "s2 = arrive(manager, 2, [7] * 8)"}
FOUR_DECODE = """
limits = {"max_num_batched_tokens": BUDGET, "max_num_seqs": 5, "enable_chunked_prefill": True}
scheduler = new_scheduler(100, **limits)
for seq_id in range(4):
    add(scheduler, seq_id, 1)
step(scheduler, [99] * 5)
add(scheduler, 4, 40)
print(step(scheduler, [99] * 5))
"""


# (chapter, number): words of the line, and what it tells; without a change it is a question to
# think about. Number 0 is a line in the middle of its chapter.
TRY_IT: dict[tuple[str, int], tuple[str, list[Try]]] = {
    ("01", 1): (
        "In section 2, give `s0` an answer of 26 tokens, and run sections 2 and 3 again",
        [Try((2, 3), {"requests": {'"s0": (6, 6)': '"s0": (6, 26)'}}, shows=r"iterations: \d+")],
    ),
    ("01", 2): (
        "Make `pool=80` smaller, 4 slots at a time",
        [
            *(Try((3,), {"pages-player": {"pool=80": f"pool={n}"}}) for n in range(76, 48, -4)),
            Try(
                (3,),
                {"pages-player": {"pool=80": "pool=40"}},
                then="print('preempted:', pages.preemptions)",
                shows=r"preempted: [1-9]",
            ),
        ],
    ),
    ("01", 3): ("And why do slips 1 and 2 give the very same numbers?", []),
    ("01", 4): (
        'Run `simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)`',
        [
            Try(
                (5,),
                then="""
static = simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)
print(static.waste.time_mean())
""",
                shows="internal",
            )
        ],
    ),
    ("01", 5): (
        'write a CSV with the columns `arrival_s,prompt_tokens,output_tokens`, and call `simulate("your.csv")`',
        [
            Try(
                (5,),
                then="""
with open("your.csv", "w") as file:
    file.write("arrival_s,prompt_tokens,output_tokens\\n0,100,20\\n0.5,300,40\\n")
print(simulate("your.csv").waste.time_mean())
""",
                shows="token",
            )
        ],
    ),
    ("02", 0): (
        "let `s1` and `s2` leave instead, `for sequence in (s1, s2)`, or in the other order",
        [
            Try(
                (3,),
                {"lifo": {"for sequence in (s0,)": f"for sequence in ({order})"}},
                shows=rf"block table of s3: +{table}",
            )
            for order, table in (("s1, s2", r"\[7, 6, 5\]"), ("s2, s1", r"\[4, 3, 7\]"))
        ],
    ),
    ("02", 1): (
        "At the top of section 5, change `block_size` to 1, 8, 64 and 256.",
        [
            Try(
                (5,),
                {"stream": {"block_size, pool_slots = 16,": f"block_size, pool_slots = {size},"}},
                shows=rf"(?s)10\d finished.*free blocks: \d+ of {10_240 // size}\n.*empty: {empty}",
            )
            for size, empty in (
                (1, r"0\.0%"),
                (8, r"\d\.\d%"),
                (64, r"\d\.\d%"),
                (256, r"\d\d\.\d%"),
            )
        ],
    ),
    ("02", 2): (
        "`waiting.append` in the place of `waiting.appendleft`",
        [Try((5,), {"stream": {"waiting.appendleft": "waiting.append"}}, shows="preempted")],
    ),
    ("02", 3): (
        "Write `needs_a_block(length_before, block_size)` for section 2",
        [
            Try(
                (2,),
                then="""
def needs_a_block(length_before, block_size):
    return length_before % block_size == 0

for block_size in (1, 2, 4):
    manager = pagesim.SelfAttnBlockSpaceManager(block_size, num_gpu_blocks=16, num_cpu_blocks=0)
    sequence = new_sequence(manager, 0, num_tokens=1)
    for length in range(1, 13):
        before = manager.get_num_free_gpu_blocks()
        append_token(manager, sequence, token_id=length)
        taken = before - manager.get_num_free_gpu_blocks()
        assert taken == needs_a_block(length, block_size)
""",
            )
        ],
    ),
    ("03", 1): (
        "set a sliding window: `sliding_window=10`, for the kernel and for `assert_matches_reference`",
        [
            Try(
                (4,),
                {
                    "run": {
                        "out = kernels.paged_attention_v1(query, k_cache, v_cache, block_tables, seq_lens)": """
last = [range(sequence.get_len() - 10, sequence.get_len()) for sequence in batch]
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
    ("03", 2): (
        "In section 3, forget the rescaling of `acc` (but not of `ell`)",
        [
            Try(
                (3,),
                {"numpy": {"acc = acc * rescale + w": "acc = acc + w"}},
                shows=r"below 1e-14\? False",
            )
        ],
    ),
    ("03", 3): (
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
    ("04", 1): (
        "In section 2, `config = simt.Config(head_size=64, block_size=8)`",
        [
            Try(
                (2,),
                {"config": {"head_size=128, block_size=16": "head_size=64, block_size=8"}},
                shows=r"THREAD_GROUP_SIZE .* = 4",
            )
        ],
    ),
    ("04", 2): (
        "In section 5, print `block.key_steps[0].partial` beside a NumPy product",
        [
            Try(
                (5,),
                then="""
key, q0 = keys[0], args[0][0, 0].astype(np.float64)
pieces = (q0 * key).reshape(-1, config.vec_size)  # vec by vec
for lane in (0, 1):
    product = pieces[lane :: config.thread_group_size].sum()
    print(f"{block.key_steps[0].partial[0, lane]:.3f} {product:.3f}")
    assert np.isclose(block.key_steps[0].partial[0, lane], product, atol=1e-3)
""",
            )
        ],
    ),
    ("04", 3): (
        "`config = simt.Config(head_size=128, block_size=16, quantized=True)`",
        [
            Try(
                (2,),
                {"config": {"block_size=16)": "block_size=16, quantized=True)"}},
                shows=r"(?m)^x +16 / 1 += 16",
            )
        ],
    ),
    ("05", 1): (
        "In section 1, let `s2` write before `s1`.",
        [
            Try(
                (1,),
                {
                    "figure8": {
                        '    first_copies = append_token(manager, s1, words.index("fathers"))\n': "",
                        '    second_copies = append_token(manager, s2, words.index("mothers"))\n': (
                            '    second_copies = append_token(manager, s2, words.index("mothers"))\n'
                            '    first_copies = append_token(manager, s1, words.index("fathers"))\n'
                        ),
                    }
                },
                shows=r"table of s1: \[7, 1\] .*: \[\]\ntable of s2: \[7, 3\] .*: \[\(1, 3\)\]",
            )
        ],
    ),
    ("05", 2): (
        "Fork three samples from one prompt, and let them write in turn",
        [
            Try(
                (1,),
                then="""
manager = pagesim.SelfAttnBlockSpaceManager(BLOCK_SIZE, num_gpu_blocks=9, num_cpu_blocks=0)
first = pagesim.Sequence(0, list(range(7)), BLOCK_SIZE)
manager.allocate(pagesim.SequenceGroup("r", [first]))
first.status = pagesim.SequenceStatus.RUNNING
samples = [first, *(first.fork(i) for i in (1, 2))]
for sample in samples[1:]:
    manager.fork(first, sample)
print([len(append_token(manager, sample, 9)) for sample in samples])
""",
                shows=r"\[1, 1, 0\]",
            )
        ],
    ),
    ("05", 3): (
        "In section 4, print the part saved for 1, 2, 4, 8 and 16 samples",
        [
            Try(
                (4,),
                then="""
for prompt in (16, 160, 1600):
    for samples in (1, 2, 4, 8, 16):
        separate = samples * -(-(prompt + 60) // 16)
        print(prompt, samples, f"{1 - blocks_in_use(prompt, samples, 60) / separate:.0%}")
""",
                shows=r"1600 16 9\d%",
            )
        ],
    ),
    ("06", 1): (
        "In section 1, give the CPU 2 blocks.",
        [
            Try(
                (1,),
                {
                    "trip": {
                        "num_cpu_blocks=4": "num_cpu_blocks=2",
                        "    went = manager.swap_out(s0)\n": (
                            "    print('may it leave?', manager.can_swap_out(s0))\n"
                            "    went = manager.swap_out(s0)\n"
                        ),
                    }
                },
                shows=r"may it leave\? False",
                raises="NoFreeBlocksError",
            )
        ],
    ),
    ("06", 2): (
        "In section 3, append one token to both before swapping",
        [
            Try(
                (3,),
                {
                    "shared": {
                        '    print("on the GPU:   tables", tables(manager, group))\n    pairs = manager.swap_out': (
                            "    for token_id, sequence in enumerate(group.seqs):\n"
                            "        append_token(manager, sequence, token_id)\n"
                            '    print("on the GPU:   tables", tables(manager, group))\n'
                            "    pairs = manager.swap_out"
                        )
                    }
                },
                shows=r"(?s)afterwards: 6.*afterwards: 4",
            )
        ],
    ),
    ("06", 3): (
        "In section 4, leave out `engine.swap_in(came)`.",
        [
            Try(
                (4,),
                {"round-trip": {"engine.swap_in(came)\n": ""}},
                shows="every bit the same: False",
            )
        ],
    ),
    ("07", 1): (
        "In section 3, give the CPU only one block, `num_cpu_blocks=1`.",
        [
            Try(
                (3,),
                {"preempt-setup": {"num_cpu_blocks=4": "num_cpu_blocks=1"}},
                raises="RuntimeError",
            ),
        ],
    ),
    ("07", 2): (
        "`prompts = [4, 4, 4, 12]`",
        [Try((3,), {"preempt-setup": {"[8, 8, 4, 4]": "[4, 4, 4, 12]"}}, shows="tokens computed")],
    ),
    ("07", 3): (
        "In section 5 let four sequences decode with chunks, `max_num_batched_tokens=4`",
        [
            Try((5,), then=FOUR_DECODE.replace("BUDGET", "4"), raises="UsageError"),
            Try(
                (5,),
                then=FOUR_DECODE.replace("BUDGET", "5"),
                shows="{4: 1, 0: 1, 1: 1, 2: 1, 3: 1}",
            ),
        ],
    ),
    ("07", 4): (
        "In the second run of section 6, give `s2` a prompt of 12 tokens instead of 16.",
        [Try((6,), {"priority-vain": {"[(16, 1)]": "[(12, 1)]"}}, shows=r"step  2: +computes s\d")],
    ),
    ("08", 1): (
        "`for start in (length, *range(0, length, size))`",
        [
            Try(
                (2,),
                {"numpy": {"in range(0, length, size)": "in (length, *range(0, length, size))"}},
                shows="(200 partitions of   1: error below 1e-14: False)",
            ),
            Try(
                (2,),
                {
                    "numpy": {
                        "in range(0, length, size)": "in (length, *range(0, length, size))",
                        "outs.append(acc / ell)": "outs.append(acc / ell if ell else acc)",
                    }
                },
                shows="(200 partitions of   1: error below 1e-14: True)",
            ),
        ],
    ),
    ("08", 2): ("let the batch be ragged: 8 sequences, one of 16,384 tokens, seven of 512", []),
    ("08", 3): ("Count the bytes that the partial outputs of a split into 8 cost", []),
    ("09", 1): (
        "In section 2, change one token *in the middle* of the first block of `s1`",
        [
            Try(
                (2,),
                {"hit": {"[1, 2, 3, 4, 5, 6, 7, 8, 10, 11]": "[1, 0, 3, 4, 5, 6, 7, 8, 10, 11]"}},
                shows=r"s1 need not compute blocks \[\]",
            )
        ],
    ),
    ("09", 2): (
        "In section 3, let `s2` bring other tokens, `[7] * 8`.",
        [
            Try(
                (3,),
                {"evict": OTHER},
                shows=r"evicted by s2: \[4\]",
            ),
            Try(
                (3,),
                {
                    "evict": {
                        **OTHER,
                        "    manager.free(s0)\n": (
                            "    manager.access_all_blocks_in_seq(s0, now=1.0)\n    manager.free(s0)\n"
                        ),
                        "    manager.free(s1)\n": (
                            "    manager.access_all_blocks_in_seq(s1, now=5.0)\n    manager.free(s1)\n"
                        ),
                    }
                },
                shows=r"evicted by s2: \[0\]",
            ),
        ],
    ),
    ("09", 3): ("Why is the *last* block of a prompt never counted as computed", []),
    ("10", 1): (
        'Take the `config.json` of a model that you use: `ModelSpec.from_config("config.json")`',
        [
            Try(
                (3,),
                then="""
import json
with open("config.json", "w") as file:
    json.dump({"model_type": "llama", "num_hidden_layers": 16, "num_attention_heads": 32,
               "num_key_value_heads": 8, "hidden_size": 2048, "torch_dtype": "bfloat16"}, file)
print(size_v1(ModelSpec.from_config("config.json"), 4 * GIB).tokens)
""",
                shows=r"\(131072, 131072\)",
            )
        ],
    ),
    ("10", 2): (
        "*Layers of two kinds*, raise `max_num_batched_tokens` to 32,768",
        [
            Try(
                (3,),
                {
                    "hybrid-concurrency": {
                        "max_num_batched_tokens = 2_048": "max_num_batched_tokens = 32_768"
                    }
                },
                shows=r"with what the windows give back: +1\.14",
            )
        ],
    ),
    ("10", 3): ("What is it, then, that a block size of 256 costs?", []),
    ("10", 4): (
        "In section 5, print `error_of(out8)`. How does it change with the seed, and with `LENGTH`?",
        [
            Try(
                (5,),
                {"fp8-write": change},
                then="print('error', error_of(out8))",
                shows=r"error 0\.0",
            )
            for change in (
                {"torch.manual_seed(0)": "torch.manual_seed(1)"},
                {"HEAD_DIM, LENGTH = 2, 64, 160": "HEAD_DIM, LENGTH = 2, 64, 16"},
                {"HEAD_DIM, LENGTH = 2, 64, 160": "HEAD_DIM, LENGTH = 2, 64, 400"},
            )
        ],
    ),
    ("10", 5): (
        "In section 5, add 1,000, 10,000 and 100,000 to `factors`",
        [
            Try(
                (5,),
                {"fp8-scale": {"[0.01, 1.0, 100.0]": "[0.01, 1.0, 100.0, 1_000, 10_000, 100_000]"}},
                shows="100,000 times the right scale: .* error > 0.5",
            )
        ],
    ),
}
