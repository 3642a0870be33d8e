"""Chapter 10."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`stop_token_ids=[3]`",
        [
            Try(
                (4,),
                {"async": {"stop_token_ids=[5]": "stop_token_ids=[3]"}},
                shows=r"a step ahead +s0 +3  1  ·",
            )
        ],
    ),
    2: (
        "`second`",
        [
            Try(
                (3,),
                {
                    "ragged": {
                        "[text, [*text[:10], 70, 71, 72]]": "[[*text[:10], 70, 71, 72], text]"
                    }
                },
                shows=r"s1: rows 0 to 12, (?:.*\n)+s2: rows 13 to 24, positions 8 to 19",
            )
        ],
    ),
}
