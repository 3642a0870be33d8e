"""Shows a figure in a notebook, saves it, and describes it."""

from os import PathLike
from pathlib import Path
from typing import Unpack

from matplotlib.figure import Figure

from pagesim.errors import UsageError
from pagesim.figures.cache_view import Cache, Reading
from pagesim.figures.charts import cache_words
from pagesim.figures.encode import KINDS, image_bytes, img_tag, words_of
from pagesim.files import replacing


def alt_text(source: Figure | Cache, **reading: Unpack[Reading]) -> str:
    """Describe in words a figure, or a cache as `block_layout` takes it.

    UsageError for a figure without words: no function of this package has drawn it.
    """
    return words_of(source) if isinstance(source, Figure) else cache_words.words(source, **reading)


def show(figure: Figure, alt: str | None = None) -> None:
    """Display a figure in a notebook; its words, or ``alt``, become its alternative text.

    UsageError if there is no such text, ImportError without IPython.
    """
    try:
        from IPython.display import display
    except ImportError as error:
        raise ImportError(
            'figures.show needs IPython: pip install "pagesim[lab]", or figures.save(figure, path)'
        ) from error
    words = alt or alt_text(figure)
    display({"text/html": img_tag(figure, words), "text/plain": words}, raw=True)  # type: ignore[no-untyped-call]


def save(figure: Figure, path: str | PathLike[str], alt: str | None = None) -> Path:
    """Write a figure to a .svg, .png or .pdf file; the file contains its words, or ``alt``.

    The same figure gives the same bytes each time. Returns the path. UsageError for another suffix.
    OSError if the file cannot be written; an existing file is then unchanged.
    """
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise UsageError(f"{target}: the name of a figure must end in .svg, .png or .pdf")
    data = image_bytes(figure, target.suffix.lower(), alt)
    with replacing(target) as file:
        file.write(data)
    return target
