"""Chapter 2."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    0: (
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
    1: (
        "Near the end of section 5, set `block_size` to 1, 8, 64 and 256 in place of 16",
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
    2: (
        "`waiting.append` in place of `waiting.appendleft`",
        [Try((5,), {"stream": {"waiting.appendleft": "waiting.append"}}, shows="preempted")],
    ),
    3: (
        "Write `needs_a_block(length_before, block_size)` for section 2",
        [
            Try(
                (2,),
                then="""
def needs_a_block(length_before, block_size):
    return length_before % block_size == 0

for block_size in (1, 2, 4):
    sequence = pagesim.Story(gpu_blocks=16, block_size=block_size).arrive([0])
    for length in range(1, 13):
        before = len(sequence.block_ids)
        sequence.write([length])
        taken = len(sequence.block_ids) - before
        assert taken == needs_a_block(length, block_size)
""",
            )
        ],
    ),
}
