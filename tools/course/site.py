"""Render the course and the documentation as pages; `python -m tools.course.site` writes site/.

Nothing of the chapters is run: the committed outputs are shown as they are, and their players are
alive. What the first page races and what the museum plays is recorded while the site is made. A
page asks for nothing outside of the site's folder, which also works without a server.
"""

import argparse
import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path

from tools.course import NOTEBOOKS, ROOT
from tools.course.book import (
    documents,
    exercises,
    gallery,
    landing,
    museum,
    navigation,
    reference,
    search,
)
from tools.course.book.chapters import Chapter as Chapter
from tools.course.book.chapters import pages as chapter_pages
from tools.course.book.chapters import read as read
from tools.course.book.markup import outlined, words
from tools.course.book.markup import page as page
from tools.course.book.page import Page, linked, relative
from tools.course.book.pictures import FIGURES, Pictures
from tools.course.book.players import Scripts
from tools.course.live import files as live_files
from tools.course.live import pages as live

ASSETS = Path(__file__).parent / "book" / "assets"
LONGEST = 155
"""Letters of a description that search engines show."""
_FIRST = re.compile(r"<p(?: class=\"lead\")?>(.*?)</p>", re.DOTALL)


MAKERS: dict[str, Callable[[list[Chapter]], Iterable[Page]]] = {
    "home": lambda chapters: [landing.page(chapters)],
    "chapters": chapter_pages,
    "try": lambda _: [live.page()],
    "exercises": lambda _: exercises.pages(),
    "museum": lambda _: museum.pages(),
    "documents": lambda _: documents.pages(),
    "gallery": lambda _: gallery.pages(),
    "reference": lambda _: reference.pages(),
}
"""What makes the pages of each kind."""


def addresses(pages: list[Page]) -> dict[str, str]:
    """Where on the site each file of this repository is."""
    known = {each.source: each.url for each in pages if each.source}
    known |= {
        f"notebooks/exercises/{path.name}": f"exercises/{path.stem}.html"
        for path in exercises.FOLDER.glob("*.ipynb")
    }
    pictures = FIGURES.rglob("*.svg")
    for path in pictures:
        url = f"gallery/{path.relative_to(FIGURES).as_posix()}"
        known |= {
            path.with_suffix(end).relative_to(ROOT).as_posix(): url for end in (".svg", ".png")
        }
    return known | {
        "notebooks": "index.html",
        "docs/BOOK.md": "index.html",
        "docs/questions": documents.QUESTIONS,
        "notebooks/exercises": exercises.INDEX,
        "figures/gallery": gallery.INDEX,
        f"figures/gallery/{gallery.PHOTOGRAPH}": f"gallery/{gallery.PHOTOGRAPH}",
    }


def render(each: Page, body: str, parts: list[navigation.Part]) -> str:
    """A page in its layout. ``body`` has its links and players as the site has them."""
    body, sections = outlined(body)
    first = _FIRST.search(body)
    about = f"{each.title}. {words(first[1])}"[:LONGEST] if first else each.title
    return page(
        "layout.html",
        it=each,
        body=body,
        sections=sections,
        about=about.replace('"', "'"),
        parts=parts,
        to=lambda url: relative(each.url, url),
    )


def build(paths: list[Path], target: Path, kinds: Iterable[str] = MAKERS) -> list[Path]:
    """Write the pages of these kinds, with the chapters in ``paths``; returns where they are."""
    chapters = [read(path) for path in paths]
    pages = [each for kind in kinds for each in MAKERS[kind](chapters)]
    scripts, pictures = Scripts(), Pictures()
    known, parts = addresses(pages), navigation.parts(chapters)
    written: dict[str, str] = {}
    found = []
    for each in pages:
        body = pictures.taken(scripts.taken(linked(each, known.get)), each.url)
        body = body.replace("<iframe ", f'<iframe data-assets="{relative(each.url, "assets")}/" ')
        written[each.url] = render(each, body, parts)
        found.append((each, outlined(body)[0]))
        written |= each.extra
    files = written | scripts.files | pictures.files | {search.FILE: search.index(found)}
    for url, text in files.items():
        path = target / url
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    shutil.copytree(ASSETS, target / "assets", dirs_exist_ok=True)
    (target / "exercises").mkdir(exist_ok=True)
    for path in exercises.FOLDER.glob("*.ipynb"):
        shutil.copy2(path, target / "exercises")
    list(gallery.copy(target))
    for name in live_files.SCRIPTS:
        shutil.copy2(live_files.ASSETS / name, target / "assets")
    return [target / url for url in written]


def broken(target: Path) -> list[str]:
    """Links and sources of the site that lead nowhere, each with its page."""
    texts = {path: path.read_text("utf-8") for path in target.rglob("*.html")}
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    wrong = []
    for path, text in texts.items():
        for link in re.findall(r'<(?:a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            place, _, anchor = unescape(link).partition("#")
            to = Path(posixpath.normpath((path.parent / place).as_posix())) if place else path
            if not to.is_file() or (
                "=" not in anchor and anchor and anchor not in anchors.get(to, anchor)
            ):
                wrong.append(f"{path.relative_to(target)}: {link}")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 1 for a broken link, 2 for a notebook not shown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site", help="folder")
    options = parser.parse_args(arguments)
    shutil.rmtree(options.output, ignore_errors=True)
    try:
        written = build(sorted(NOTEBOOKS.glob("*.ipynb")), options.output)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    size = sum(path.stat().st_size for path in options.output.rglob("*") if path.is_file())
    print(f"{options.output / 'index.html'}: {len(written)} pages, {size / 1e6:.0f} MB")
    python = sum(live_files.copy(options.output).values())
    print(f"Python for the pages: {python / 1e6:.0f} MB" if python else live_files.MISSING)
    wrong = broken(options.output)
    for line in wrong:
        print(f"leads nowhere: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
