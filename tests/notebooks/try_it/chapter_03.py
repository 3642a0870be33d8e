"""Chapter 3."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "rescaling of `acc`",
        [
            Try(
                (3,),
                {"numpy": {"acc = acc * rescale + w @ v": "acc = acc + w @ v"}},
                shows=r"block by block: (?! +0\.1644)",
            )
        ],
    ),
    2: (
        "leave `tl.where` out",
        [
            Try(
                (5,),
                {
                    "own": {
                        's = tl.where(filled, tl.sum(k * q[None, :], axis=1) * scale, float("-inf"))': (
                            "s = tl.sum(k * q[None, :], axis=1) * scale"
                        )
                    },
                },
                raises="AssertionError",
            )
        ],
    ),
}
