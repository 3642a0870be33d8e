"""The executed chapters as slides; `python -m tools.course.slides` writes slides/.

A section is a column of slides: ↓ and ↑ lead through it, → to the next. A cell is a slide, its code
folded, its players alive. reveal.js turns the pages. It is copied from `--reveal`, the folder that
`make slides` installs it in, so that the slides ask for nothing outside of their own folder.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from pagesim.lesson.prediction import NONE_YET
from tools.course import NOTEBOOKS, ROOT, site

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
# Blank lines, but not inside of <details>.
PARAGRAPHS = re.compile(r"\n\n(?=\S)(?!(?:(?!<details>).)*</details>)", re.DOTALL)
PICTURE, MAP = re.compile(r"!\[[^\]]*\]\([^)]*\)"), "![You are here"
SHORT, LONG = 500, "\n" * 99
REVEAL = ("LICENSE", "dist/reveal.css", "dist/reveal.js")


@dataclass(slots=True)
class Slide:
    """A cell: Markdown, or folded code and what came of it. ``heading`` says where one is."""

    heading: str = ""
    text: str = ""
    code: str = ""
    outputs: list[NotebookNode] = field(default_factory=list)
    below: list["Slide"] = field(default_factory=list)
    """Folded answers that belong to it."""

    def shows(self, what: str) -> bool:
        """Whether all that it shows begins with ``what``, in HTML."""
        texts = [output.get("data", {}).get("text/html", "") for output in self.outputs]
        return all(text.startswith(what) for text in [*([self.text] * bool(self.text)), *texts])


def stacks(chapter: site.Chapter) -> list[list[Slide]]:
    """The slides of a chapter, a column for each of its sections; the first holds the title."""
    columns: list[list[Slide]] = [[]]
    heading = chapter.title
    for cell in chapter.notebook.cells:
        if cell.cell_type == "markdown":
            if found := SECTION.match(cell.source):
                heading = found[1].replace("`", "")
                columns.append([])
            for text in parts(cell.source):  # the first of a column bears its own heading
                columns[-1].append(Slide(heading if columns[-1] else "", text))
        elif any(output.get("data", {}).get("text/plain") != NONE_YET for output in cell.outputs):
            columns[-1].append(Slide(heading, code=cell.source, outputs=cell.outputs))
    return [list(joined(column)) for column in columns if column]


def parts(text: str, most: int = 900) -> Iterator[str]:
    """A long text in pieces that a slide can hold: whole paragraphs, lists with their heads."""
    piece = ""
    for paragraph in PARAGRAPHS.split(text):
        if len(PICTURE.sub(_room, piece + paragraph)) > most and piece and not piece.endswith("**"):
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}".strip("\n")
    yield piece


def _room(picture: re.Match[str]) -> str:
    """As much text as has room where a picture is: it is most of a slide, but a map is not."""
    return " " * (300 if picture[0].startswith(MAP) else 700)


def joined(slides: list[Slide]) -> Iterator[Slide]:
    """A short text and the lines that the cell below it printed are one slide.

    A folded answer stands on the slide of its question, or with other answers behind a player.
    """
    before: Slide | None = None
    for slide in slides:
        if before and slide.shows("<details") and "<iframe" not in str(before.outputs):
            before.below.append(slide)
            continue
        if before and not before.code and slide.code and len(before.text) < SHORT:
            lines = sum(len(output.get("text", LONG).splitlines()) for output in slide.outputs)
            if lines <= 12:
                before.code, before.outputs = slide.code, slide.outputs
                continue
        if before:
            yield before
        before = slide
    if before:
        yield before


def build(paths: list[Path], target: Path, reveal: Path) -> list[Path]:
    """Write the slides of each notebook and reveal.js into ``target``; returns the slides' paths.

    FileNotFoundError if ``reveal`` does not hold reveal.js.
    """
    chapters = [site.read(path) for path in paths]
    for name in REVEAL:
        (target / "reveal" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(reveal / name, target / "reveal" / name)
    written = []
    for chapter in chapters:
        page = site.page("slides.html", "slides.css", title=chapter.title, stacks=stacks(chapter))
        written.append(target / f"{chapter.name}.html")
        written[-1].write_text(page, encoding="utf-8", newline="\n")
    return written


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, or 2 for what cannot be read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reveal", type=Path, required=True, help="folder of reveal.js")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "slides", help="folder")
    options = parser.parse_args(arguments)
    try:
        written = build(sorted(NOTEBOOKS.glob("*.ipynb")), options.output, options.reveal)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
