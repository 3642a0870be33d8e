"""Chapter 5."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 1, let `s2` write before `s1`.",
        [
            Try(
                (1,),
                {
                    "figure8": {
                        '    first_copies = s1.write("fathers")\n': "",
                        '    second_copies = s2.write("mothers")\n': (
                            '    second_copies = s2.write("mothers")\n'
                            '    first_copies = s1.write("fathers")\n'
                        ),
                    }
                },
                shows=r"s1: \[7, 1\], s2: \[7, 3\]\ncopies before s1 writes: \[\]",
            )
        ],
    ),
    2: (
        "Fork three samples from one prompt, and let them write in turn",
        [
            Try(
                (1,),
                then="""
first = pagesim.Story(gpu_blocks=9, block_size=BLOCK_SIZE).arrive(range(7))
samples = [first, first.fork(), first.fork()]
print([len(sample.write([9])) for sample in samples])
""",
                shows=r"\[1, 1, 0\]",
            )
        ],
    ),
    3: (
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
}
