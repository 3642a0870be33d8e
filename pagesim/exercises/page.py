"""The page that an exercise is: Markdown in the docstring of its module.

# 2.1 Slots ★                     the number, the title, one to three stars
What to write, and an example.
## Hints                          three of them: 1., 2., 3.
## Wrong answers                  * name (the case that shows it): What its author believes.
## vLLM 0.33.0                    * file: function, in this release; 0.6.4.post1 if none is named
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from pagesim.errors import UsageError

_TITLE = re.compile(r"# (\d+\.\d+) (.+) (★{1,3})")
_SECTION = re.compile(r"## (Hints|Wrong answers|vLLM)(?: (\S+))?")
_WRONG = re.compile(r"(\w+) \((.+?)\): (.+)")
_ITEM = re.compile(r"(?:\d\.|\*) ")


class Listed(NamedTuple):
    """A wrong answer as the page lists it, and in which line."""

    line: int
    name: str
    shown_by: str
    belief: str


@dataclass(frozen=True)
class Page:
    """What the docstring says, in parts; UsageError, with file and line, if it is no page."""

    number: str
    title: str
    stars: int
    statement: str
    hints: tuple[str, str, str]
    wrong: tuple[Listed, ...]
    vllm: tuple[str, ...]
    release: str


def is_page(module: ModuleType) -> bool:
    """Whether a module is an exercise, and not what some of them share."""
    return (module.__doc__ or "").startswith("# ")


def malformed(file: str | None, line: int, problem: str) -> UsageError:
    """The error that says where a page is wrong, and how it is right."""
    return UsageError(f"{file}, line {line}: {problem}")


def read(module: ModuleType) -> Page:
    """The page of a module."""
    lines, file = (module.__doc__ or "").splitlines(), module.__file__
    title = _TITLE.fullmatch(lines[0])
    if title is None:
        raise malformed(file, 1, "the title must be like `# 2.1 Slots ★`, with one to three stars")
    heads = [(i, head) for i, line in enumerate(lines) if (head := _SECTION.fullmatch(line))]
    if [head[1] for _, head in heads] != ["Hints", "Wrong answers", "vLLM"]:
        problem = (
            "below the statement stand `## Hints`, `## Wrong answers` and `## vLLM`, once each"
        )
        raise malformed(file, heads[0][0] + 1 if heads else 1, f"{problem}, in this order")
    (first, _), (second, _), (third, vllm) = heads
    hints = [text for _, text in _items(lines, first + 1, second)]
    if len(hints) != 3:
        raise malformed(file, first + 1, f"there must be three hints, `1. …`, not {len(hints)}")
    return Page(
        number=title[1],
        title=title[2],
        stars=len(title[3]),
        statement="\n".join(lines[1:first]).strip(),
        hints=(hints[0], hints[1], hints[2]),
        wrong=tuple(_listed(file, *item) for item in _items(lines, second + 1, third)),
        vllm=tuple(text for _, text in _items(lines, third + 1, len(lines))),
        release=vllm[2] or "0.6.4.post1",
    )


def _items(lines: list[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    """The items of a list, each in one line, and the number of its first line."""
    begins = [i for i in range(start, end) if _ITEM.match(lines[i])]
    for begin, until in zip(begins, [*begins[1:], end], strict=True):
        yield begin + 1, " ".join(" ".join(lines[begin:until]).split()[1:])


def _listed(file: str | None, line: int, text: str) -> Listed:
    if wrong := _WRONG.fullmatch(text):
        return Listed(line, wrong[1], wrong[2], wrong[3])
    problem = f"{text!r:.60} must be like `* its_name (the case that shows it): What one believes.`"
    raise malformed(file, line, problem)
