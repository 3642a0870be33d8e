"""The pages of docs/questions: runs what they show, and writes their index.

    python -m tools.questions              does every page show what its code prints?
    python -m tools.questions --write      put what it prints into the pages, and write the indexes

A page begins with a comment that says what a reader sees who needs it, and which quirks it is
about. Its code is Python, in one namespace for the whole page, or lines of `pagesim`. The block
``text`` behind a block of code has what it prints. A line "…" there stands for any lines.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/questions"
INDEX = FOLDER / "README.md"
TABLE = ROOT / "pagesim/quirks/questions.json"
"""What `pagesim` knows of the pages; see `pagesim.quirks.asked`."""

HEAD = re.compile(r"<!--\n((?:[a-z]+:.*\n)+)-->\n# (.+)\n")
BLOCK = re.compile(r"^```(py|sh)\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY = "…"
THEMES = (
    "Waiting and preemption",
    "Prefix-cache misses",
    "Metrics",
    "Sizing",
    "Hybrid models",
    "CPU memory",
    "Routers and events",
    "Kernels and small engines",
)


@dataclass(frozen=True)
class Page:
    """A question, what one sees who asks it, and what is run to answer it."""

    path: Path
    theme: str
    symptoms: tuple[str, ...]
    quirks: tuple[str, ...]
    chapters: tuple[str, ...]
    title: str
    text: str

    @classmethod
    def read(cls, path: Path) -> "Page":
        """ValueError names a page whose head has another form."""
        text = path.read_text("utf-8")
        head = HEAD.match(text)
        if head is None:
            raise ValueError(f"{path.name}: begins with a comment and a title")
        lines = [line.partition(":")[::2] for line in head[1].splitlines()]
        given = {name: tuple(filter(None, rest.strip().split("; "))) for name, rest in lines}
        (theme,) = given.pop("theme")
        if theme not in THEMES:
            raise ValueError(f"{path.name}: there is no theme {theme!r}")
        return cls(path, theme, title=head[2], text=text, **given)

    @property
    def examples(self) -> list[tuple[str, str, str]]:
        """The blocks of code: their kind, their text, and what is shown below."""
        return BLOCK.findall(self.text)

    def printed(self) -> list[str]:
        """What each block of code prints, errors included, in an empty folder."""
        space: dict[str, Any] = {"__name__": "__main__"}
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            return [_run(kind, code, space) for kind, code, _ in self.examples]

    def written(self) -> str:
        """The page with what its code prints."""
        new = iter(self.printed())

        def put(match: re.Match[str]) -> str:
            kind, code, shown = match.groups()
            output = next(new)
            shown = shown if ANY in shown.splitlines() else output
            return f"```{kind}\n{code}```\n\n```text\n{shown}```"

        return BLOCK.sub(put, self.text)


def _run(kind: str, code: str, space: dict[str, Any]) -> str:
    with io.StringIO() as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        if kind == "py":
            exec(compile(code, "docs/questions", "exec"), space)
        for line in code.splitlines() if kind == "sh" else ():
            _command(line)
        return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _command(line: str) -> None:
    from pagesim.commands import cli

    name, *arguments = shlex.split(line, comments=True)
    assert name == "pagesim", line
    with contextlib.suppress(SystemExit):
        cli.main(arguments)


def shows(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, line by line; "…" stands for any lines."""
    parts = [
        re.escape(line) + r"\n" if line != ANY else r"(?:.*\n)*?" for line in shown.split("\n")
    ]
    return re.fullmatch("".join(parts[:-1]), printed) is not None


def pages() -> list[Page]:
    """All pages, by theme."""
    found = [Page.read(path) for path in sorted(FOLDER.glob("*.md")) if path != INDEX]
    return sorted(found, key=lambda page: THEMES.index(page.theme))


def index(found: list[Page]) -> str:
    """The table from what one sees to the page, as Markdown."""
    lines = [
        "# Questions people ask\n",
        "Look for what you see on the left. Each page answers with a few lines that run here, "
        "without a GPU.",
        "If you have a log of vLLM or a recorded run, begin with `pagesim explain FILE`.",
        "`pagesim quirks q18` runs a single surprise, such as q18. Chapters are in "
        "[notebooks](../../notebooks).\n",
        "The pages are about vLLM 0.6.4.post1 (V0) and 0.33.0 (V1). "
        "`python -m tools.questions --write` wrote this table.",
    ]
    for theme in THEMES:
        rows = [page for page in found if page.theme == theme]
        if not rows:
            continue
        lines += [f"\n## {theme}\n", "| what you see | page | quirks | chapters |"]
        lines += ["|---|---|---|---|"]
        for page in rows:
            seen = "<br>".join(page.symptoms).replace("|", r"\|")
            link, more = f"[{page.title}]({page.path.name})", ", ".join(page.quirks)
            lines.append(f"| {seen} | {link} | {more} | {', '.join(page.chapters)} |")
    return "\n".join(lines) + "\n"


def table(found: list[Page]) -> str:
    """The same as JSON: one line for each page."""
    rows = [
        {
            "page": page.path.relative_to(ROOT).as_posix(),
            "title": page.title,
            "symptoms": page.symptoms,
            "quirks": page.quirks,
            "chapters": page.chapters,
        }
        for page in found
    ]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def stale(page: Page) -> Iterator[str]:
    """What a page shows that its code does not print."""
    for (_, code, shown), printed in zip(page.examples, page.printed(), strict=True):
        if not shows(shown, printed):
            yield f"{page.path.name}: this prints something else:\n{code}---\n{printed}"


def main(arguments: list[str]) -> None:
    """Check the pages, or write them."""
    names = [name for name in arguments if name != "--write"]
    for page in pages():
        if names and page.path.stem not in names:
            continue
        if "--write" in arguments:
            page.path.write_text(page.written(), "utf-8")
        if found := list(stale(Page.read(page.path))):
            raise SystemExit("\n".join(found))
    if "--write" in arguments:
        INDEX.write_text(index(pages()), "utf-8")
        TABLE.write_text(table(pages()), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main(sys.argv[1:])
