"""Chapter 2."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    0: (
        "`for sequence in (s1, s2)`",
        [
            Try(
                (2,),
                {"lifo": {"for sequence in (s0,)": f"for sequence in ({order})"}},
                shows=rf"block table of s3: +{table}",
            )
            for order, table in (("s1, s2", r"\[7, 6, 5\]"), ("s2, s1", r"\[4, 3, 7\]"))
        ],
    ),
    1: (
        "`policy=Paged(64)`",
        [
            Try(
                (5,),
                {"stream": {"policy=Paged(16)": f"policy=Paged({size})"}},
                then=f"print('empty', round(measure(state, {size})['empty'], 1))",
                shows=rf"empty {empty}",
                answers=("ch02 scattered",),
            )
            for size, empty in ((1, r"0\.0"), (64, r"\d\.\d"))
        ],
    ),
    2: (
        "`needs_a_block(length_before, block_size)`",
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
