"""Pictures whose smallest letters stay readable: narrower than that, they scroll in their box."""

import base64
import re

SMALLEST = 11
"""Pixels of the smallest letters."""
_IMAGE = re.compile(
    r'<img (?![^>]*style=)[^>]*?src="data:image/svg\+xml;base64,([\w+/=]+)"[^>]*>', re.DOTALL
)
_WIDTH = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ')
_LETTERS = re.compile(r"font(?:-size)?[:=][ \"']*(?:(?:bold|italic|\d+) )*([\d.]+)(?:px|[\"'])")


def least_width(svg: str) -> int:
    """How wide a picture must be drawn, in pixels; 0 if it has no letters."""
    sizes = [float(size) for size in _LETTERS.findall(svg)]
    width = _WIDTH.search(svg)
    return round(float(width[1]) * SMALLEST / min(sizes)) if sizes and width else 0


def framed(image: str, svg: str) -> str:
    """The image in a box in which it scrolls where the window is too narrow for its letters."""
    style = f'style="min-width:{least_width(svg)}px" '
    return f'<span class="picture" tabindex="0">{image.replace("<img ", f"<img {style}", 1)}</span>'


def legible(html: str) -> str:
    """The same HTML with each picture in such a box."""
    return _IMAGE.sub(
        lambda found: framed(found[0], base64.b64decode(found[1]).decode("utf-8")), html
    )
