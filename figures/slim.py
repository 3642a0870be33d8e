"""A picture's SVG without what is not seen: it travels in the text of a notebook.

Styles become classes, each with its look on a light and on a dark page; numbers lose what is finer
than a hundredth of a point.
"""

import re
from itertools import count

from pagesim.figures.palette import DARK

FONT = "text { font-family: 'DejaVu Sans', sans-serif }"
_UNSEEN = (
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>",
    r'</?g( id="(figure|axes|patch|line2d|text)_\d+")?>',
    r" transform=\"rotate\(-0 [^\"]*\)\"| version=\"1.1\"| xmlns:xlink=\"[^\"]*\"",
    r"font-family: 'DejaVu Sans', sans-serif; |; stroke-linejoin: miter|; stroke-linecap: square",
)
_RECTANGLE = re.compile(r"M ([\d.-]+) ([\d.-]+) L ([\d.-]+) \2 L \3 ([\d.-]+) L \1 \4 z")


def slim(svg: bytes) -> bytes:
    """The same picture in about a third of the bytes; it follows the theme of its page.

    For what `encode.image_bytes` made of a figure without theme, markers and clip paths.
    """
    text = re.sub(r"\s+", " ", svg.decode("utf-8"))
    for unseen in _UNSEEN:
        text = re.sub(unseen, "", text)
    head, seen, rest = text.partition("</desc>")
    rest = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0"), rest)
    rest = _RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", rest)
    rest = re.sub(r'(?<=[\d "]) ?([MLz]) ?(?=[\d"-])', r"\1", rest)
    rest = re.sub(r'(fill|stroke)="(#\w{6})"', r'style="\1: \2"', rest)  # the ground of a hatch
    names: dict[str, str] = {}
    fresh = (f"c{number}" for number in count())

    def named(found: re.Match[str]) -> str:
        style = found[1]
        if style not in names:
            names[style] = next(fresh)
        return f'class="{names[style]}"'

    rest = re.sub(r'style="([^"]*)"', named, rest)
    rest = re.sub(r"> +<", "><", rest).replace("<defs></defs>", "")
    light = "".join(f".{name} {{{style}}}" for style, name in names.items())
    dark = "".join(
        f".{name} {{{turned}}}"
        for style, name in names.items()
        if (turned := _dark(style)) != style
    )
    style = f"<style>* {{ stroke-linejoin: round }} {FONT} {light} "
    style += f"@media (prefers-color-scheme: dark) {{{dark}}}</style>"
    head = re.sub("> +<", "><", head).strip()
    return f"{head}{seen}{style}{rest.strip()}\n".encode()


def _dark(style: str) -> str:
    return re.sub(r"#[0-9a-f]{6}", lambda found: DARK.get(found[0].upper(), found[0]), style)
