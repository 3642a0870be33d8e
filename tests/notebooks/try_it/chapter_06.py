"""Chapter 6."""

from tests.notebooks.try_it.line import Lines, Try

OTHER = {"s2 = story.arrive([1, 2, 3, 4, 5, 6, 7, 8])": "s2 = story.arrive([7] * 8)"}

LINES: Lines = {
    1: (
        "*in the middle*",
        [
            Try(
                (2,),
                {"hit": {"[1, 2, 3, 4, 5, 6, 7, 8, 10, 11]": "[1, 0, 3, 4, 5, 6, 7, 8, 10, 11]"}},
                shows=r"s1 need not compute blocks \[\]",
            )
        ],
    ),
    2: (
        "`[7] * 8`",
        [
            Try(
                (3,),
                {"evict": OTHER},
                shows=r"evicted for s2: \[4\]",
            ),
            Try(
                (3,),
                {
                    "evict": {
                        **OTHER,
                        "s0.leave()\n": (
                            "story.manager.access_all_blocks_in_seq(s0.seq, now=1.0)\ns0.leave()\n"
                        ),
                        "s1.leave()\n": (
                            "story.manager.access_all_blocks_in_seq(s1.seq, now=5.0)\ns1.leave()\n"
                        ),
                    }
                },
                shows=r"evicted for s2: \[0\]",
            ),
        ],
    ),
    3: ("*last* block", []),
}
