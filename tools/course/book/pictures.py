"""Pictures as files of their own, with a size: a page can be read before, and stays as it is.

Their smallest letters stay readable: narrower than that, a picture scrolls in its box.
"""

import base64
import hashlib
import posixpath
import re

from tools.course import ROOT
from tools.course.book.page import relative

FIGURES = ROOT / "figures" / "gallery"
"""On the site this is the folder `gallery`."""
SMALLEST = 11
"""Pixels of the smallest letters."""
PIXELS = {"pt": 4 / 3, "px": 1.0, "": 1.0}
"""Of a unit of length in an SVG."""
_IMAGE = re.compile(
    r"<img (?![^>]*\bwidth=)([^>]*?)"
    r'src="(?:data:image/svg\+xml;base64,([\w+/=]+)|([^":]+))"([^>]*)>'
)
_SIDE = r'<svg[^>]*?\s{}="([\d.]+)(pt|px|)"'
_WIDTH = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ')
_LETTERS = re.compile(r"font(?:-size)?[:=][ \"']*(?:(?:bold|italic|\d+) )*([\d.]+)(?:px|[\"'])")


def least_width(svg: str) -> int:
    """How wide a picture must be drawn, in pixels; 0 if it has no letters."""
    sizes = [float(size) for size in _LETTERS.findall(svg)]
    width = _WIDTH.search(svg)
    return round(float(width[1]) * SMALLEST / min(sizes)) if sizes and width else 0


def sized(svg: str) -> str:
    """The attributes by which a browser knows how large a picture will be."""
    sides = ((name, re.search(_SIDE.format(name), svg)) for name in ("width", "height"))
    each = (f'{name}="{float(at[1]) * PIXELS[at[2]]:.0f}" ' for name, at in sides if at)
    return "".join(each)


class Pictures:
    """The pictures that pages have inside them; those of the gallery are files already."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def taken(self, html: str, here: str) -> str:
        """The HTML of the page ``here``, with each picture taken out of it.

        All but the first are fetched when the reader comes near.
        """
        waits = ""

        def shown(image: re.Match[str]) -> str:
            nonlocal waits
            before, data, file, after = image.groups(default="")
            if data:
                svg = base64.b64decode(data).decode("utf-8")
                url = f"assets/pictures/{hashlib.sha256(data.encode()).hexdigest()[:12]}.svg"
                self.files[url] = svg
            else:
                url = posixpath.normpath(posixpath.join(posixpath.dirname(here), file))
                path = FIGURES / posixpath.relpath(url, "gallery")
                if path.suffix != ".svg" or not path.is_file():
                    return image[0]
                svg = path.read_text("utf-8")
            lead, waits = waits, 'loading="lazy" '
            tag = f'<img {lead}{sized(svg)}{before}src="{relative(here, url)}"{after}>'
            return tag if "style=" in tag else framed(tag, svg)

        return _IMAGE.sub(shown, html)


def framed(image: str, svg: str) -> str:
    """The image in a box in which it scrolls where the window is too narrow for its letters."""
    style = f'style="min-width:{least_width(svg)}px" '
    return f'<span class="picture" tabindex="0">{image.replace("<img ", f"<img {style}", 1)}</span>'
