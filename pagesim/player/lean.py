"""Takes out of the player's sources what only their readers need, so that a page stays small."""

from __future__ import annotations

import re

_STRING = r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'"""
# A slash begins a regular expression where no value stands before it.
_REGEX = r"(?<=[(=,:])\s*/(?![*/ ])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
_PART = re.compile(
    rf"(?P<kept>{_STRING}|{_REGEX})|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<space>\s+)|(?P<other>.)",
    re.S,
)
_TIGHT = frozenset("{}()[];,=+-*/<>?:&|!%^~`")


def lean_script(source: str) -> str:
    """JavaScript without comments and without the spaces that mean nothing.

    Strings, templates and regular expressions stay as they are. A regular expression must stand
    behind ``(``, ``=``, ``,`` or ``:``, as in the player's source; a test runs the result.
    """
    out: list[str] = [""]
    at, gap = 0, ""
    while at < len(source):
        if source[at] == "`":
            kind, text = "kept", source[at : _end_of_template(source, at)]
        else:
            match = _PART.match(source, at)
            assert match is not None and match.lastgroup is not None
            kind, text = match.lastgroup, match.group()
        at += len(text)
        if kind in ("comment", "space"):
            gap = "\n" if "\n" in text or gap == "\n" else " "
            continue
        out.append(_needed(gap, out[-1][-1:], text[0]) + text)
        gap = ""
    return "".join(out)


def _needed(gap: str, before: str, after: str) -> str:
    """What must stay of the space between two characters."""
    if gap == "\n":
        return "" if before in "{[(,;" or after in ".?:}" else "\n"
    if not before or before in _TIGHT or after in _TIGHT:
        return gap if before and before in "+-" and after in "+-" else ""
    return gap


def _end_of_template(source: str, start: int) -> int:
    """The place behind a template that begins at ``start``; others may stand inside it."""
    at = start + 1
    while source[at] != "`":
        if source[at] == "\\":
            at += 2
        elif source.startswith("${", at):
            depth, at = 1, at + 2
            while depth:
                if source[at] == "`":
                    at = _end_of_template(source, at)
                    continue
                depth += {"{": 1, "}": -1}.get(source[at], 0)
                at += 1
        else:
            at += 1
    return at + 1


def lean_style(source: str) -> str:
    """CSS without comments, line breaks and indentation."""
    text = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([{};,]) ?", r"\1", text).strip()
