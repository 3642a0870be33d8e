"""Chapter 4."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "let `s2` write before `s1`",
        [
            Try(
                (1,),
                {
                    "figure8": {
                        '    s1_copies = s1.write("fathers")\n': "",
                        '    s2_copies = s2.write("mothers")\n': (
                            '    s2_copies = s2.write("mothers")\n'
                            '    s1_copies = s1.write("fathers")\n'
                        ),
                    }
                },
                shows=r"s1: \[7, 1\], s2: \[7, 3\]\ncopies before s1 writes: \[\]",
            )
        ],
    ),
    2: (
        "fork a third sample",
        [
            Try(
                (1,),
                {
                    "figure8": {
                        "    s2 = s1.fork(name=2)\n": (
                            "    s2 = s1.fork(name=2)\n    s3 = s1.fork(name=3)\n"
                        ),
                        '    s2_copies = s2.write("mothers")\n': (
                            '    s2_copies = s2.write("mothers")\n'
                            '    s3_copies = s3.write("sisters")\n'
                        ),
                    }
                },
                then="print(len(s1_copies), len(s2_copies), len(s3_copies), s3.block_ids)",
                shows=r"1 1 0 \[7, 1\]",
            ),
            Try(
                (1,),
                then="""
first = pagesim.Story(gpu_blocks=9, block_size=BLOCK_SIZE).arrive(range(7))
samples = [first, first.fork(), first.fork()]
print([len(sample.write([9])) for sample in samples])
""",
                shows=r"\[1, 1, 0\]",
            ),
        ],
    ),
    3: (
        "1, 2, 4, 8 and 16 samples",
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
}
