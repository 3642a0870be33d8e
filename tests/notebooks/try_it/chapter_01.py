"""Chapter 1."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 2, give `s0` an answer of 26 tokens, `(6, 26)`, and run sections 2 and 3 again",
        [
            Try(
                (2, 3),
                {"requests": {'"s0": (6, 6)': '"s0": (6, 26)'}},
                shows=r"iterations: \d+",
                answers=("ch01 words",),
            )
        ],
    ),
    2: (
        "Make `pool=80` smaller, 4 slots at a time",
        [
            *(Try((3,), {"pages-player": {"pool=80": f"pool={n}"}}) for n in range(76, 48, -4)),
            Try(
                (3,),
                {"pages-player": {"pool=80": "pool=40"}},
                then="print('preempted:', pages.preemptions)",
                shows=r"preempted: [1-9]",
            ),
        ],
    ),
    3: ("And why do mistakes 1 and 2 give the very same numbers?", []),
    4: (
        'Run `simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)`',
        [
            Try(
                (5,),
                then="""
static = simulate(paper.lengths("sharegpt", 1000), policy="static", saturated=True)
print(static.waste.time_mean())
""",
                shows="internal",
            )
        ],
    ),
    5: (
        'write a CSV with the columns `arrival_s,prompt_tokens,output_tokens`, and call `simulate("your.csv")`',
        [
            Try(
                (5,),
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
