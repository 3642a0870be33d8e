"""Turn a figure into bytes that are the same each time, and show it in a notebook with alt text."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from figures import style
from pagesim.files import replacing

DARK_STYLE = "\n".join(
    [
        "@media (prefers-color-scheme: dark) {",
        *(
            f'[style*="{name}: {light.lower()}"], [{name}="{light.lower()}"] '
            f"{{ {name}: {dark} !important; }}"
            for light, dark in style.DARK.items()
            for name in ("fill", "stroke")
        ),
        "}",
    ]
)
# JupyterLab says on its body whether it is dark, not by `color-scheme`.
FOLLOW_LAB = (
    '<style>[data-jp-theme-light="true"] .pagesim-figure { color-scheme: light; } '
    '[data-jp-theme-light="false"] .pagesim-figure { color-scheme: dark; }</style>'
)


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG: no date, no version, ids from a fixed salt, text kept as text.

    It is light or dark as the page is that shows it (`color-scheme`, also of an <img>).
    """
    svg = _render(figure, "svg", {"Date": None, "Creator": None})
    return svg.replace(b"</style>", f"\n{DARK_STYLE}</style>".encode(), 1)


def png_bytes(figure: Figure, dpi: int = 150) -> bytes:
    """The figure as PNG without the writer's name; the pixels depend on the FreeType at hand."""
    return _render(figure, "png", {"Software": None}, dpi=dpi)


def _render(
    figure: Figure, kind: str, metadata: dict[str, str | None], dpi: int | None = None
) -> bytes:
    buffer = io.BytesIO()
    with mpl.rc_context(style.RC):
        figure.savefig(buffer, format=kind, metadata=metadata, dpi=dpi or figure.dpi)
    return buffer.getvalue()


def img_tag(figure: Figure, alt: str) -> str:
    """An HTML image that carries the figure and its alternative text.

    An <img> with a data URI stays visible in a notebook that is not trusted, where JupyterLab drops
    inline SVG; an image/png output would lose the alt text there.
    """
    if not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the figure shows")
    data = base64.b64encode(svg_bytes(figure)).decode("ascii")
    words = html.escape(" ".join(alt.split()))
    return (
        f'{FOLLOW_LAB}<img class="pagesim-figure" alt="{words}" '
        f'src="data:image/svg+xml;base64,{data}" style="max-width: 100%">'
    )


def show(figure: Figure, alt: str) -> None:
    """Display a figure in a notebook, with `alt` for those who do not see it.

    Raises ValueError when `alt` is empty, ImportError outside an installation with IPython.
    """
    try:
        from IPython.display import display
    except ImportError as error:
        raise ImportError(
            'figures.show needs IPython: pip install "pagesim[lab]", or figure.savefig(path)'
        ) from error
    display({"text/html": img_tag(figure, alt), "text/plain": alt}, raw=True)  # type: ignore[no-untyped-call]


def save(figure: Figure, path: Path | str, alt: str) -> list[Path]:
    """Write `path` as .svg, .png and .txt (the alt text); returns the paths written."""
    base = Path(path)
    base.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, data in (
        (".svg", svg_bytes(figure)),
        (".png", png_bytes(figure)),
        (".txt", f"{alt.strip()}\n".encode()),
    ):
        target = base.with_suffix(suffix)
        with replacing(target) as file:
            file.write(data)
        written.append(target)
    return written
