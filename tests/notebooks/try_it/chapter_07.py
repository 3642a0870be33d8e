"""Chapter 7."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`num_cpu_blocks=1`",
        [
            Try(
                (3,),
                {"preempt-setup": {"num_cpu_blocks=4": "num_cpu_blocks=1"}},
                raises="RuntimeError",
            ),
        ],
    ),
    2: (
        "8 tokens",
        [
            Try(
                (4,),
                {"chunked-setup": {"max_num_batched_tokens=16,": "max_num_batched_tokens=8,"}},
                shows=r"chunked +s0 +s1 +s2\n +step 0: +1 +1 +6",
            )
        ],
    ),
}
