"""Chapter 16."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "replace `(30, recompute)` by `(26, recompute)`",
        [
            Try(
                (5,),
                {"many": {"(30, recompute)": "(26, recompute)"}},
                shows=r"swap: 0\n(.+\n)+30 blocks, recompute +26 steps, 3 preemptions",
            )
        ],
    ),
    2: (
        "`beams=4` in place of `n=4, temperature=1.0, top_p=0.9, seed=6`",
        [
            Try(
                (5,),
                {"fork-run": {"n=4, temperature=1.0, top_p=0.9, seed=6": "beams=4"}},
                shows=r"6 blocks were copied\nsample 0: inn beach gate \.",
            )
        ],
    ),
    3: (
        "let the pool have 40 blocks",
        [
            Try(
                (5,),
                {"bug": {"serve(34, ": "serve(40, "}},
                shows=r"the answer: 0\n(.+\n)+chunks and prefix caching: +vale river lake reef \.",
            )
        ],
    ),
}
