"""Pages that are files of this repository: questions, guides, ledgers, and what they link to."""

import re
from collections.abc import Iterator

from tools.course import ROOT
from tools.course.book.markup import code
from tools.course.book.page import Page, first_line, from_markdown

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
            yield from_markdown(url, source, text, group)
            places = ((path.parent / name).resolve() for name in _CODE_LINK.findall(text))
            linked |= {place.relative_to(ROOT).as_posix() for place in places if place.is_file()}
        else:
            yield Page(url, source, f"<h1>{source}</h1><pre>{text}</pre>", source, group)
    for source in sorted(linked):
        text = (ROOT / source).read_text("utf-8")
        yield Page(url_of(source), source, f"<h1>{source}</h1>{code(text)}", source, url_of(source))


def title_of(path: str) -> str:
    """What a file of Markdown is called."""
    return first_line((ROOT / path).read_text("utf-8"))
