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
    """What a figure shows, in words; or a cache, which is read as `block_layout` reads it.

    UsageError for a figure without words, which no function of this package has drawn.
    """
    return words_of(source) if isinstance(source, Figure) else cache_words.words(source, **reading)


def show(figure: Figure, alt: str | None = None) -> None:
    """Display a figure in a notebook, with its words or ``alt`` as alternative text.

    UsageError if there is none, ImportError without IPython.
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
    """Write a figure as the .svg, .png or .pdf that ``path`` names; its words or ``alt`` are in it.

    The same figure gives the same bytes each time. Returns the path. UsageError for another suffix;
    OSError if it cannot be written, and then an existing file stays as it was.
    """
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise UsageError(f"{target}: a figure is saved as .svg, .png or .pdf: end its name so")
    data = image_bytes(figure, target.suffix.lower(), alt)
    with replacing(target) as file:
        file.write(data)
    return target
