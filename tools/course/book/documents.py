"""Pages that are files of this repository: questions, guides, ledgers, and what they link to."""

import re
from collections.abc import Iterator
from dataclasses import replace

from tools.course import ROOT
from tools.course.book.markup import code
from tools.course.book.page import Page, from_markdown

QUESTIONS = "questions/index.html"
GUIDES = {
    "docs/install.md": "Install",
    "docs/simulating.md": "Simulate your traffic",
    "docs/recordings.md": "Recordings",
    "docs/generation.md": "A model on pages",
    "docs/kernels.md": "Kernels",
    "docs/cli.md": "The command line, told",
}
LEDGERS = {"docs/CLAIMS.md": "Claims", "docs/TERMS.md": "Terms"}
MORE = (
    "pagesim/timeline/FORMAT.md",
    "kit/README.md",
    "kit/FORMAT.md",
    "kit/TRAPS.md",
    "LICENSE",
    "NOTICE",
)
_HEAD = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)
_ID = re.compile(r"[gqow]\d\d")
_CELL = re.compile(r"<td>[gqow]\d\d(?:, [gqow]\d\d)*</td>")
_CODE_LINK = re.compile(r"\]\(([\w./-]+\.py)[)#]")


def url_of(path: str) -> str:
    """Where the page of a file is on the site."""
    if path.startswith("docs/questions/"):
        name = path.removeprefix("docs/").removesuffix(".md")
        return f"{name.replace('README', 'index')}.html"
    return (
        f"docs/{re.sub(r'[/.]', '-', path.removeprefix('docs/').removesuffix('.md')).lower()}.html"
    )


def pages() -> Iterator[Page]:
    """The questions and their index, the guides, the ledgers, and the files that these link to."""
    linked: set[str] = set()
    chosen = [
        *sorted((ROOT / "docs/questions").glob("*.md")),
        *(ROOT / path for path in (*GUIDES, *LEDGERS, *MORE)),
    ]
    for path in chosen:
        source = path.relative_to(ROOT).as_posix()
        text = _HEAD.sub("", path.read_text("utf-8"))
        url = url_of(source)
        group = QUESTIONS if "questions/" in source else url
        if path.suffix == ".md":
            made = from_markdown(url, source, text, group)
            yield (
                replace(made, body=_CELL.sub(_with_rooms, made.body))
                if group == QUESTIONS
                else made
            )
            places = ((path.parent / name).resolve() for name in _CODE_LINK.findall(text))
            linked |= {place.relative_to(ROOT).as_posix() for place in places if place.is_file()}
        else:
            yield Page(url, source, f"<h1>{source}</h1><pre>{text}</pre>", source, group)
    for source in sorted(linked):
        text = (ROOT / source).read_text("utf-8")
        yield Page(url_of(source), source, f"<h1>{source}</h1>{code(text)}", source, url_of(source))


def _with_rooms(cell: re.Match[str]) -> str:
    """A cell with nothing but ids, each with a link to its room in the museum."""
    return _ID.sub(r'<a href="../museum/\g<0>.html">\g<0></a>', cell[0])
