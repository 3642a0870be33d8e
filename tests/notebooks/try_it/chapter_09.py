"""Chapter 9."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 1, let `s0` bring twelve tokens instead of ten.",
        [
            Try(
                (1,),
                {"queue": {"of sitting by": "of sitting by her sister"}},
                then=(
                    "print('queue', *queues[1].at(2).lists.values())\n"
                    "print('evicted', *queues[1][queues[1].find(kind='evict')[0]].effects)"
                ),
                shows=r"queue \(4, 5, 6, 7, 3, 2, 1\)\nevicted .*Effect\(kind='evict', block=3",
            )
        ],
    ),
    2: (
        "In the last table of section 3, set the watermark to 0.05.",
        [
            Try(
                (3,),
                {"swap-azure": {'"watermark": 0.01': f'"watermark": {watermark}'}},
                shows=rf"with a watermark +0 +0 +0 +{steps} ",
            )
            for watermark, steps in ((0.05, "2,213"), (0.5, "4,107"))
        ],
    ),
    3: (
        "In section 6, halve the window.",
        [Try((6,), {"null": {"sliding_window=8": "sliding_window=4"}}, shows=r"\[0, 0, 0, 0, ")],
    ),
    4: (
        "In section 9, let `s0` stop at its first token: `stop_token_ids=[3]`.",
        [
            Try(
                (9,),
                {"async": {"stop_token_ids=[5]": "stop_token_ids=[3]"}},
                shows=r"a step ahead +s0 +3  1  ·",
            )
        ],
    ),
    5: (
        "In section 8, let the two prompts of `second` arrive in the other order.",
        [
            Try(
                (8,),
                {
                    "ragged": {
                        "[text, [*text[:10], 70, 71, 72]]": "[[*text[:10], 70, 71, 72], text]"
                    }
                },
                shows=r"s1: rows 0 to 12, (?:.*\n)+s2: rows 13 to 24, positions 8 to 19",
            )
        ],
    ),
}
