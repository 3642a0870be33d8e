"""Chapter 1."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`(6, 26)`",
        [
            Try(
                (2, 3),
                {"requests": {'"s0": (6, 6)': '"s0": (6, 26)'}},
                shows=r"steps: \d+ contiguous",
                answers=("ch01 words",),
            )
        ],
    ),
    2: (
        "`pool=80`",
        [
            *(Try((3,), {"pages": {"pool=80": f"pool={n}"}}) for n in range(76, 48, -4)),
            Try(
                (3,),
                {"pages": {"pool=80": "pool=40"}},
                then="print('preempted:', pages.preemptions)",
                shows=r"preempted: [1-9]",
            ),
        ],
    ),
    3: (
        '`simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)`',
        [
            Try(
                (4,),
                then="""
static = simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)
print(static.waste.time_mean())
""",
                shows="internal",
            )
        ],
    ),
    4: (
        '`simulate("your.csv")`',
        [
            Try(
                (4,),
                then="""
with open("your.csv", "w") as file:
    file.write("arrival_s,prompt_tokens,output_tokens\\n0,100,20\\n0.5,300,40\\n")
print(simulate("your.csv").waste.time_mean())
""",
                shows="token",
            )
        ],
    ),
}
