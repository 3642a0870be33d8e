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
        '`simulate(paper.lengths("sharegpt", 300, rate=load), policy=Contiguous("max"))`',
        [
            Try(
                (4,),
                then="""
from pagesim.simulation import Contiguous, Paged
rows, blocks = Contiguous("max"), Paged(16)
for memory, load in (rows, 1), (rows, 2), (blocks, 2), (blocks, 5):
    run = simulate(paper.lengths("sharegpt", 300, rate=load), policy=memory)
    waits = run.requests.percentiles("time_to_first_token")["p50"]
    print(run.policy, load, "waits" if waits > 1 else "does not wait")
""",
                shows="max 1 does not wait\nmax 2 waits\npaged 2 does not wait\npaged 5 waits",
            )
        ],
    ),
    5: (
        "`paper.controls()`",
        [
            Try(
                (4,),
                then="""
slips = paper.controls(n=500)
for name, of in {"first fit": "oracle", "unsaturated": "max"}.items():
    right, wrong = paper.FIGURE_2[of], slips[name]
    print(name, max(right, key=lambda kind: abs(right[kind] - wrong[kind])))
""",
                shows=r"first fit external\s+unsaturated internal",
            )
        ],
    ),
    6: (
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
