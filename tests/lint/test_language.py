"""A smoke test: eight turns of phrase that are wrong in any English text stay out of what is read.

Read are the docstrings, comments and strings of Python files, the Markdown cells of notebooks,
Markdown files, and the player's scripts and style.
"""

import io
import json
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).parents[2]

PATTERNS = tomllib.loads((ROOT / "tests/data/phrases.toml").read_text(encoding="utf-8"))

FOLDERS = ("docs", "figures", "kernels", "kit", "notebooks", "pagesim", "tools")
COVERED = ("*.md", *(f"{folder}/**/*" for folder in FOLDERS))
"""What is read: everything but the tests."""

FSTRING = {
    getattr(tokenize, f"FSTRING_{part}", -1): part for part in ("START", "MIDDLE", "END")
}  # from Python 3.12 on; before, they are strings
KINDS = {tokenize.STRING: "string", tokenize.COMMENT: "comment"} | {
    token: "string" for token, part in FSTRING.items() if part == "MIDDLE" and token > 0
}
SKIPPED = {tokenize.NL, *(token for token, part in FSTRING.items() if part != "MIDDLE")}


def prose(path: Path) -> str:
    """What people read in a file, piece by piece, with an empty line between them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        read = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        return "\n\n".join(read)
    return "\n\n".join(of_python(text)) if path.suffix == ".py" else text


def of_python(text: str) -> Iterator[str]:
    """Strings that stand side by side are one, and so are comments line below line."""
    kind, joined = "", ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in SKIPPED:
            continue
        now = KINDS.get(token.type, "")
        if kind and now != kind:
            yield joined
            joined = ""
        kind = now
        if now:
            joined += bare(token.string, now)


def bare(text: str, kind: str) -> str:
    """A comment without its sign, a string without its quotes."""
    if kind == "comment":
        return " " + text.lstrip("# ")
    return re.sub(r"^[rbfuRBFU]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", text)


def found(text: str) -> Iterator[tuple[str, str]]:
    """(what is wrong, the words around it) for each phrase in a text."""
    flat = "\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=#)", text))
    for wrong, phrase in PATTERNS.items():
        for match in re.finditer(phrase["pattern"], flat, re.IGNORECASE | re.MULTILINE):
            yield wrong, flat[max(match.start() - 30, 0) : match.end() + 20]


def covered() -> list[str]:
    """The files in which prose is read."""
    paths = {path for pattern in COVERED for path in ROOT.glob(pattern)}
    made = ("bundle", "WRITING")  # made of what is read; shows what is struck out
    paths = {path for path in paths if not any(each in path.as_posix() for each in made)}
    read = (".py", ".ipynb", ".md", ".js", ".css")
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if path.suffix in read)


def test_nothing_to_strike_out() -> None:
    names = covered()
    assert len(names) > 400
    hits = [(name, *hit) for name in names for hit in found(prose(ROOT / name))]
    assert not hits, "\n".join(f"{name}: {wrong}: …{words}…" for name, wrong, words in hits)


PLACES = {
    "docstring.py": 'def f():\n    """{}"""\n',
    "comment.py": "# {}\nx = 1\n",
    "message.py": 'raise ValueError(f"{}")\n',
    "chapter.ipynb": '{{"cells": [{{"cell_type": "markdown", "source": ["{}"]}}]}}',
    "readme.md": "# A heading\n\n{}\n",
    "player.js": "const why = '{}';\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_each_is_seen_where_people_read(place: str, tmp_path: Path) -> None:
    """Planted in each kind of text it is found, and the better sentence passes."""
    path = tmp_path / place
    for wrong, phrase in PATTERNS.items():
        for sentence, seen in ((phrase["wrong"], {wrong}), (phrase["right"], set[str]())):
            text = PLACES[place].replace("{}", sentence)
            path.write_text(text.replace("{{", "{").replace("}}", "}"))
            assert {name for name, _ in found(prose(path))} == seen


def test_it_is_seen_across_the_lines_of_a_comment_and_of_a_string(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('# It waits for\n# ever.\nx = (\n    "made "\n    "anew"\n)\n')
    assert {"for ever", "anew"} <= set(dict(found(prose(path))))
