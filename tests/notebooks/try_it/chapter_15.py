"""Chapter 15."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`for start in (length, *range(0, length, size))`",
        [
            Try(
                (2,),
                {"numpy": {"in range(0, length, size)": "in (length, *range(0, length, size))"}},
                shows="largest error: nan",
            ),
            Try(
                (2,),
                {
                    "numpy": {
                        "in range(0, length, size)": "in (length, *range(0, length, size))",
                        "outs.append(acc / ell)": "outs.append(acc / ell if ell else acc)",
                    }
                },
                shows="largest error: below 1e-14",
            ),
        ],
    ),
    2: ("ragged", []),
    3: ("8 KV heads", []),
}
