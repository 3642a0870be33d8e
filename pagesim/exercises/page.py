"""The page that an exercise is: Markdown in the docstring of its module.

# 2.1 Slots ★                     the number, the title, one to three stars
What to write, and an example.
## Hints                          three of them: 1., 2., 3.
## Wrong answers                  * name (the case that shows it): What its author believes.
## vLLM 0.33.0                    * file: function, in this release; 0.6.4.post1 if none is named
"""

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pagesim.errors import UsageError

_TITLE = re.compile(r"# (\d+\.\d+) (.+) (★{1,3})")
_SECTIONS = ("## Hints", "## Wrong answers", "## vLLM")
_WRONG = re.compile(r"(\w+) \((.+?)\): (.+)")
_ITEM = re.compile(r"(?:\d\.|\*) ")

Listed = tuple[int, str, str]
"""A wrong answer as the page lists it: in which line, which case shows it, and what it believes."""


def is_page(module: ModuleType) -> bool:
    """Whether a module is an exercise, and not what some of them share."""
    return (module.__doc__ or "").startswith("# ")


def malformed(file: str | None, line: int, problem: str) -> UsageError:
    """The error that says where a page is wrong, and how it is right."""
    return UsageError(f"{file}, line {line}: {problem}")


def read(module: ModuleType) -> tuple[dict[str, Any], dict[str, Listed]]:
    """What the page of a module says of the exercise, and its wrong answers by name.

    UsageError, with file and line, for a page that cannot be read.
    """
    lines, file = (module.__doc__ or "").splitlines(), module.__file__
    title = _TITLE.fullmatch(lines[0])
    if title is None:
        raise malformed(file, 1, "the title must be like `# 2.1 Slots ★`, with one to three stars")
    heads = [i for i, line in enumerate(lines) if line.startswith("## ")]
    odd = [i for i, name in zip(heads, _SECTIONS, strict=False) if not lines[i].startswith(name)]
    if odd or len(heads) != len(_SECTIONS):
        problem = f"after the statement must come {', '.join(_SECTIONS)}, in this order"
        raise malformed(file, [*odd, *heads[3:], len(lines) - 1][0] + 1, problem)
    first, second, third = heads
    hints = tuple(text for _, text in _items(lines, first + 1, second))
    if len(hints) != 3:
        raise malformed(file, first + 1, f"there must be three hints, `1. …`, not {len(hints)}")
    fields = {
        "number": title[1],
        "title": title[2],
        "stars": len(title[3]),
        "statement": "\n".join(lines[1:first]).strip(),
        "hints": hints,
        "vllm": tuple(text for _, text in _items(lines, third + 1, len(lines))),
        "release": lines[third].partition("vLLM ")[2] or "0.6.4.post1",
    }
    return fields, dict(_listed(file, *item) for item in _items(lines, second + 1, third))


def _items(lines: list[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    """The items of a list, each in one line, and the number of its first line."""
    begins = [i for i in range(start, end) if _ITEM.match(lines[i])]
    for begin, until in zip(begins, [*begins[1:], end], strict=True):
        yield begin + 1, " ".join(" ".join(lines[begin:until]).split()[1:])


def _listed(file: str | None, line: int, text: str) -> tuple[str, Listed]:
    if wrong := _WRONG.fullmatch(text):
        return wrong[1], (line, wrong[2], wrong[3])
    problem = f"{text!r:.60} must be like `* its_name (the case that shows it): What one believes.`"
    raise malformed(file, line, problem)
