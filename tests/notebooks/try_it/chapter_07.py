"""Chapter 7."""

from tests.notebooks.try_it.line import Lines, Try

FOUR_DECODE = """
limits = {"max_num_batched_tokens": BUDGET, "max_num_seqs": 5, "enable_chunked_prefill": True}
scheduler = new_scheduler(100, **limits)
for seq_id in range(4):
    add(scheduler, seq_id, 1)
step(scheduler, [99] * 5)
add(scheduler, 4, 40)
print(step(scheduler, [99] * 5))
"""

LINES: Lines = {
    1: (
        "In section 3, give the CPU only one block, `num_cpu_blocks=1`.",
        [
            Try(
                (3,),
                {"preempt-setup": {"num_cpu_blocks=4": "num_cpu_blocks=1"}},
                raises="RuntimeError",
            ),
        ],
    ),
    2: (
        "`prompts = [4, 4, 4, 12]`",
        [Try((3,), {"preempt-setup": {"[8, 8, 4, 4]": "[4, 4, 4, 12]"}}, shows="tokens computed")],
    ),
    3: (
        "In section 5, let four sequences decode with chunks, `max_num_batched_tokens=4`",
        [
            Try((5,), then=FOUR_DECODE.replace("BUDGET", "4"), raises="UsageError"),
            Try(
                (5,),
                then=FOUR_DECODE.replace("BUDGET", "5"),
                shows="{4: 1, 0: 1, 1: 1, 2: 1, 3: 1}",
            ),
        ],
    ),
    4: (
        "In the second run of section 6, give `s2` a prompt of 12 tokens instead of 16.",
        [Try((6,), {"priority-vain": {"[(16, 1)]": "[(12, 1)]"}}, shows=r"step  2: +computes s\d")],
    ),
}
