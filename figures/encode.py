"""Turns a figure into bytes that are the same each time.

Every kind of file includes the figure's words: an SVG as title and desc, PNG and PDF as metadata.
"""

import base64
import html
import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from pagesim.errors import UsageError
from pagesim.figures.palette import DARK, RC

_RULES = "\n".join(
    f'[style*="{name}: {light.lower()}"], [{name}="{light.lower()}"] '
    f"{{ {name}: {dark} !important; }}"
    for light, dark in DARK.items()
    for name in ("fill", "stroke")
)
DARK_STYLE = f"@media (prefers-color-scheme: dark) {{\n{_RULES}\n}}"
# JupyterLab says on its body whether it is dark, not by `color-scheme`.
FOLLOW_LAB = (
    '<style>[data-jp-theme-light="true"] .pagesim-figure { color-scheme: light; } '
    '[data-jp-theme-light="false"] .pagesim-figure { color-scheme: dark; }</style>'
)
SPOTS = "<style>.pagesim-spot:hover { outline: 2px solid #0b5fff; }</style>"
KINDS = (".svg", ".png", ".pdf")


def words_of(figure: Figure) -> str:
    """The figure's alternative text. UsageError if it has none, because it is not one of ours."""
    if not (words := " ".join(getattr(figure, "alt", "").split())):
        raise UsageError("alt is empty: say in a sentence what the figure shows")
    return words


def image_bytes(figure: Figure, kind: str, alt: str | None = None, dpi: int = 150) -> bytes:
    """The figure as ".svg", ".png" or ".pdf", with ``alt`` or its own words in it.

    No date, no version, ids from a fixed salt, text kept as text. The pixels of a PNG depend on
    the installed FreeType. An SVG is light or dark as its page is (also in an <img>), unless the
    figure was given a theme.
    """
    words, title = alt or words_of(figure), getattr(figure, "heading", "")
    metadata: dict[str, dict[str, str | None]] = {
        ".svg": {"Date": None, "Creator": None},
        ".png": {"Software": None, "Title": title, "Description": words},
        ".pdf": dict.fromkeys(("CreationDate", "Creator", "Producer"))
        | {"Title": title, "Subject": words},
    }
    buffer = io.BytesIO()
    with mpl.rc_context(RC):
        figure.savefig(
            buffer,
            format=kind[1:],
            metadata=metadata[kind],
            dpi=dpi if kind == ".png" else figure.dpi,
        )
    data = buffer.getvalue()
    return _described(figure, data, title, words) if kind == ".svg" else data


def _described(figure: Figure, svg: bytes, title: str, words: str) -> bytes:
    head, body = svg.split(b"<svg ", 1)
    attributes, body = body.split(b">", 1)
    tags = "".join(
        f"\n <{tag}>{html.escape(text, quote=False)}</{tag}>"
        for tag, text in (("title", title), ("desc", words))
        if text
    )
    body = b"<svg " + attributes + b' role="img">' + tags.encode() + body
    if getattr(figure, "theme", None) is None:
        body = body.replace(b"</style>", f"\n{DARK_STYLE}</style>".encode(), 1)
    return head + body


def img_tag(figure: Figure, alt: str | None = None) -> str:
    """An HTML image of the figure, with its alternative text.

    An <img> with a data URI stays visible in a notebook that is not trusted, where JupyterLab drops
    inline SVG and the alt text of image/png.
    """
    words = " ".join((alt or words_of(figure)).split())
    data = base64.b64encode(image_bytes(figure, ".svg", words)).decode("ascii")
    follow = FOLLOW_LAB if getattr(figure, "theme", None) is None else ""
    image = (
        f'<img class="pagesim-figure" alt="{html.escape(words)}" '
        f'src="data:image/svg+xml;base64,{data}" style="max-width: 100%">'
    )
    spots = "".join(_spot(figure, *spot) for spot in getattr(figure, "spots", ()))
    if spots:
        image = f'<div style="position: relative; display: inline-block">{image}{spots}</div>'
    return f"{SPOTS if spots else ''}{follow}{image}"


def _spot(figure: Figure, box: Any, words: str) -> str:
    """A place over the image, in parts of its size, so that it scales with it."""
    width, height = (72 * inches for inches in figure.get_size_inches())
    style = (
        f"left: {box.x / width:.3%}; top: {box.y / height:.3%}; "
        f"width: {box.w / width:.3%}; height: {box.h / height:.3%}"
    )
    return (
        f'<span class="pagesim-spot" title="{html.escape(words)}" '
        f'style="position: absolute; {style}"></span>'
    )
