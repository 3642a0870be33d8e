"""Turns of phrase that a native technical editor would strike out stay out of what people read.

Read are the docstrings, comments and strings of Python files, the Markdown cells of notebooks,
Markdown files, and the player's scripts and style. A line that needs such a phrase stands in
ALLOWED.
"""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).parents[2]

# What is struck out, by what is wrong with it; a sentence that has it, and one that must pass.
PATTERNS = {
    "a person for a thing": (
        r"\b(?:some|any|every|no)body\b|\bno one\b|\bwhoever\b",
        "Nobody reads the block.",
        "No program reads the block.",
    ),
    "who without an antecedent": (
        r"(?:^|[.:;(]\s|\b(?:and|but|for|good|bad|of|by|to|that|even|say|says|which|it is)\s)who\s"
        r"(?:is|has|was|waits?|runs?|decodes?|knows|can|may|must|reads|asks|writes|comes|leaves"
        r"|needs|gets|wants)\b",
        "That is good for who waits.",
        "A student who knows C can skip it.",
    ),
    "for in place of because": (
        r"[,;:] for (?:(?:it|they|there|then|we|nothing|none) (?!\w+ing\b)"
        r"|not (?:all|every|each)\b|(?:a|an|the|no|its|their) \w+ (?:is|are|has|have|can|may)\b)",
        "It resumes, for there is room again.",
        "Blocks are freed, for example the first.",
    ),
    "leave away": (
        r"\bleav(?:e|es|ing)(?: \S+){0,3} away\b|\bleft away\b",
        "Leave the device away.",
        "Omit the device.",
    ),
    "anew": (r"\banew\b", "The pool is made anew.", "The pool is made again."),
    "for ever": (r"\bfor ever\b", "It waits for ever.", "It waits forever."),
    "besides": (
        r"\bbesides\b(?! the\b)",
        "Cached keys are read besides.",
        "Cached keys are also read.",
    ),
    "deal out": (
        r"\bdeal(?:t|s|ing)?(?: \w+){0,2} out\b",
        "The heads cannot be dealt out evenly.",
        "The heads cannot be divided evenly.",
    ),
    "none of ours": (
        r"\b(?:none|nothing|all|any) of (?:ours|theirs)\b|\bhas none of (?:its|their) own\b",
        "The id is none of ours.",
        "The id is unknown.",
    ),
    "is none": (
        r"(?<!there )\b(?:is|are) (?-i:none)\b(?! of the)",
        "A name must be given, and this is none.",
        "The first block, or None if there is none.",
    ),
    "no as a predicate": (
        r"(?:\b(?:this|that|which|it|file|value|name|what|table|number|they|line|argument)|\})"
        r" (?:is|are|was) no (?!longer|more|less|fewer|worse|better|such|need|room|way|reason|wider"
        r"|earlier|later|larger|smaller|slower|faster|different|other|one|two|free|gpu|matter)\w+",
        "The value that follows is listed; 'x' and {name} is no column.",
        "The file is not a trace, and there is no table that is no longer used.",
    ),
    "so many for this many": (
        r"\b(?:so many|so few) of\b|\bonly so (?:many|much|few)\b",
        "Only so many requests are read.",
        "So many requests wait that the queue grows.",
    ),
    "too at the end": (
        r"(?:\w,|\b(?:it|them|this|that|there|then|case|one|so|again|all|names?|runs?|triton|file"
        r"|step|size|fits|here)) too(?=[.;:)]|$)",
        "The other kernel uses it too.",
        "The prompt is too long; the other kernel also uses it.",
    ),
    "to have as a subject": (
        r"(?:^|[.!?] |')To (?:have|be) [\w ]{1,30} (?:is|means)\b",
        "To have room is no waste.",
        "Free space is not waste.",
    ),
    "one block more": (
        r"\b(?:one|a) (?:owner|block|token|layer|step|row) (?:more|less)\b",
        "Every sequence gets one block more.",
        "Every sequence gets one more block.",
    ),
    "in the words of": (
        r"\bin the words of\b",
        "An event in the words of the file.",
        "An event as the file has it.",
    ),
    "takes itself back": (
        r"\btakes? (?:itself|themselves) back\b",
        "A call that fails takes itself back.",
        "A call that fails is rolled back.",
    ),
    "already at the end": (
        r"\b(?:is|are|was|were) (?:in )?(?:there|here|free|cached|full|taken) already\b",
        "The notebook is there already.",
        "The notebook already exists.",
    ),
    "one a one": (
        r"\b(?:a|one) (?:row|line|frame|page|program|notebook|folder) an?"
        r" (?:row|line|program|student|step|chapter|token|request|sequence)\b",
        "The table has a row a request.",
        "The table has one row per request.",
    ),
    "what there is": (
        r"\bwhat there is\b|\blooks? like now\b",
        "It says what the pool looks like now.",
        "It returns the present state of the pool.",
    ),
    "mend": (
        r"\bmend(?:s|ed|ing)?\b",
        "It names the command that mends it.",
        "It names the command that fixes it.",
    ),
}

ALLOWED: dict[str, tuple[str, ...]] = {}
"""By file: pieces of text in which a pattern is right."""

COVERED = (
    "*.md",
    "docs/**/*",
    "figures/**/*",
    "kernels/**/*",
    "notebooks/**/*",
    "pagesim/**/*",
    "tools/**/*",
)
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


def found(name: str, text: str) -> Iterator[tuple[str, str]]:
    """(what is wrong, the words around it) for each phrase in a text that is not allowed."""
    for piece in ALLOWED.get(name, ()):
        text = text.replace(piece, "…")
    flat = "\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=#)", text))
    for wrong, (pattern, _, _) in PATTERNS.items():
        for match in re.finditer(pattern, flat, re.IGNORECASE | re.MULTILINE):
            yield wrong, flat[max(match.start() - 30, 0) : match.end() + 20]


def covered() -> list[str]:
    """The files in which prose is read."""
    paths = {path for pattern in COVERED for path in ROOT.glob(pattern)}
    paths = {path for path in paths if "bundle" not in path.parts}  # made of what is read
    read = (".py", ".ipynb", ".md", ".js", ".css")
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if path.suffix in read)


@pytest.mark.parametrize("name", covered())
def test_nothing_to_strike_out(name: str) -> None:
    hits = [f"{name}: {wrong}: …{words}…" for wrong, words in found(name, prose(ROOT / name))]
    assert not hits, "\n".join(hits)


def test_what_is_allowed_is_there() -> None:
    for name, pieces in ALLOWED.items():
        assert all(piece in (ROOT / name).read_text(encoding="utf-8") for piece in pieces), name


PLACES = {
    "docstring.py": 'def f():\n    """{}"""\n',
    "comment.py": "# {}\nx = 1\n",
    "message.py": 'raise ValueError(f"{}")\n',
    "chapter.ipynb": '{{"cells": [{{"cell_type": "markdown", "source": ["{}"]}}]}}',
    "readme.md": "# A heading\n\n{}\n",
    "player.js": "const why = '{}';\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wrong", PATTERNS)
def test_each_is_seen_where_people_read(wrong: str, place: str, tmp_path: Path) -> None:
    """Planted in each kind of text it is found, and the better sentence passes."""
    _, bad, good = PATTERNS[wrong]
    path = tmp_path / place
    path.write_text(PLACES[place].replace("{}", bad).replace("{{", "{").replace("}}", "}"))
    assert wrong in dict(found(place, prose(path)))
    path.write_text(PLACES[place].replace("{}", good).replace("{{", "{").replace("}}", "}"))
    assert dict(found(place, prose(path))) == {}


def test_it_is_seen_across_the_lines_of_a_comment_and_of_a_string(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('# It waits for\n# ever.\nx = (\n    "made "\n    "anew"\n)\n')
    assert set(dict(found("x.py", prose(path)))) == {"for ever", "anew"}
