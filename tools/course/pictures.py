"""Puts the book's pictures into the chapters that name them.

    python -m tools.course.pictures              all chapters, or those that are named
    python -m tools.course.pictures --check      write nothing; fail if a picture is stale

An author writes ``![](attachment:server.svg)``. It becomes ``![what it shows][server.svg]``, with
the picture of figures/gallery/book as a data URI in the last lines of the cell: JupyterLab draws no
SVG from a cell's attachments, but follows its theme in this one. So a notebook that is copied alone
still has its pictures.
"""

import argparse
import base64
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from nbformat import NotebookNode

from tools.course import NOTEBOOKS, ROOT
from tools.course.canonical import NotebookError, dumps, place_of, read

BOOK = ROOT / "figures" / "gallery" / "book"
NAMED = re.compile(r"!\[[^\]]*\](?:\(attachment:([\w-]+)\.svg\)|\[([\w-]+)\.svg\])")
DEFINED = re.compile(r"\n*^\[([\w-]+\.svg)\]: (data:image/svg\+xml;base64,[\w+/=]+)$", re.MULTILINE)
PLACED = re.compile(r"!\[([^\]]*)\]\[([\w-]+\.svg)\]")


def filled(source: str) -> str:
    """A cell's Markdown with the present words and bytes of each picture that it names.

    KeyError with the name of a picture that is not in the gallery.
    """
    names: dict[str, str] = {}

    def placed(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        path = BOOK / f"{name}.svg"
        if not path.exists():
            raise KeyError(name)
        svg = path.read_bytes()
        names[name] = base64.b64encode(svg).decode("ascii")
        words = ElementTree.fromstring(svg).findtext("{http://www.w3.org/2000/svg}desc")
        return f"![{words}][{name}.svg]"

    text = NAMED.sub(placed, DEFINED.sub("", source))
    if not names:
        return text
    lines = [f"[{name}.svg]: data:image/svg+xml;base64,{data}" for name, data in names.items()]
    return "\n\n".join([text.rstrip("\n"), "\n".join(lines)])


def inlined(source: str) -> str:
    """The same Markdown with each picture where it is shown: for pages that cut a cell in parts."""
    data = dict(DEFINED.findall(source))
    return PLACED.sub(
        lambda found: f"![{found[1]}]({data.get(found[2], found[2])})", DEFINED.sub("", source)
    )


def fill(notebook: NotebookNode, name: str) -> list[str]:
    """Bring the pictures of a notebook up to date; returns where they were not.

    NotebookError for a picture that does not exist.
    """
    stale = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        where = f"{name}, {place_of(number, cell)}"
        try:
            fresh = filled(cell.source)
        except KeyError as error:
            known = ", ".join(sorted(path.stem for path in BOOK.glob("*.svg")))
            raise NotebookError(
                f"{where}: no picture {error.args[0]!r}: there are {known}"
            ) from None
        if fresh != cell.source:
            stale.append(where)
            cell.source = fresh
    return stale


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 1 for what is stale, or cannot be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of the course if none")
    options = parser.parse_args(arguments)
    stale = []
    for path in options.notebooks or sorted(NOTEBOOKS.glob("*.ipynb")):
        try:
            notebook = read(path)
            found = fill(notebook, path.name)
        except NotebookError as error:
            print(error, file=sys.stderr)
            return 1
        stale += found
        if found and not options.check:
            path.write_text(dumps(notebook), encoding="utf-8", newline="\n")
    for where in stale:
        print(f"{where}: " + ("stale pictures" if options.check else "pictures written"))
    if stale and options.check:
        print("python -m tools.course.pictures writes them")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
