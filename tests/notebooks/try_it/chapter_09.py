"""Chapter 9."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

OTHER = {"s2 = arrive(manager, 2, [1, 2, 3, 4, 5, 6, 7, 8])": "s2 = arrive(manager, 2, [7] * 8)"}

LINES: Lines = {
    1: (
        "In section 2, change one token *in the middle* of the first block of `s1`",
        [
            Try(
                (2,),
                {"hit": {"[1, 2, 3, 4, 5, 6, 7, 8, 10, 11]": "[1, 0, 3, 4, 5, 6, 7, 8, 10, 11]"}},
                shows=r"s1 need not compute blocks \[\]",
            )
        ],
    ),
    2: (
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
    3: ("Why is the *last* block of a prompt never counted as computed", []),
}
