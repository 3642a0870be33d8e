"""A still picture of one state, with alternative text, for where no script runs.

Pure Python, a few kilobytes, the same bytes each time. It follows the rules of the other pictures:
one colour per sequence with its name beside it, fill height = tokens, hatch = CPU, thick edge and
a count = shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from pagesim.player.colors import PATTERNS, color_of, names_in, pattern_of, places
from pagesim.player.describe import describe, name_text, request_text

INK, MUTED, PAPER, HELD = "#1A1A1A", "#595959", "#FFFFFF", "#D9D9D9"
WIDTH, MARGIN, LEFT = 880, 12, 372
LINE, MAX_LINES, MAX_CHIPS = 24, 16, 8
# Width and height of a cell, gap, and whether its id fits: the first one that fits is used.
CELLS = ((44, 32, 5, True), (28, 20, 3, True), (14, 12, 2, False), (7, 7, 1, False))
MAX_HEIGHT = 420
HATCH = "url(#cpu)"
# The patterns of colors.py as lines in a square of 5.
LINES = {"x": "M0 0L5 5M5 0L0 5", "-": "M0 2.5H5", "\\": "M0 0L5 5", "+": "M0 2.5H5M2.5 0V5",
         "|": "M2.5 0V5"}  # fmt: skip
Look = tuple[str, str]
"""A colour, and the pattern on it, if any."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Sheet:
    """Collects a picture: fills below hatches below edges below texts, equal ones in one path."""

    def __init__(self) -> None:
        self.paths: dict[tuple[int, str], list[str]] = {}
        self.texts: list[str] = []

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str = "none", edge: float = 0.0
    ) -> None:
        box = f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z"
        if fill != "none":
            over = fill.startswith("url(")
            self.paths.setdefault((over, f'fill="{fill}"'), []).append(box)
        if edge:
            look = f'fill="none" stroke="{INK}" stroke-width="{edge:g}"'
            self.paths.setdefault((2, look), []).append(box)

    def parts(self) -> list[str]:
        """The elements from back to front."""
        ordered = sorted(self.paths.items(), key=lambda item: item[0][0])
        return [f'<path {look} d="{"".join(d)}"/>' for (_, look), d in ordered] + self.texts

    def text(self, x: float, y: float, text: str, *, look: str = "", anchor: str = "start") -> None:
        clean = escape(_NOT_XML.sub("\ufffd", text))
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.texts.append(f"<text {place}{look and ' ' + look}>{clean}</text>")


BOLD = 'font-weight="bold"'
QUIET = f'fill="{MUTED}"'
HALO = f'paint-order="stroke" stroke="{PAPER}" stroke-width="3"'


def static_svg(header: Mapping[str, Any], state: Mapping[str, Any], caption: str) -> str:
    """An SVG document of ``state`` (the format's, see ``FORMAT.md``) under a caption.

    ``header`` gives the sizes. It shows at most 16 sequences with 8 blocks each, and counts the
    rest.
    """
    sheet = _Sheet()
    body = MARGIN + 58
    sheet.text(MARGIN, MARGIN + 14, _short(caption, 118), look=BOLD)
    sheet.text(MARGIN, body - 12, "Sequences: tokens, block table", look=BOLD)
    left = _sequences(sheet, header, state, body)
    right = _pools(sheet, header, state, body)
    height = _strips(sheet, header, state, max(left, right) + 24) + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img" fill="{INK}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">'
    )
    patterns = [_pattern("cpu", "M0 0V5", turned=True)]
    looks = {pattern for _, pattern in _looks(header, state).values() if pattern}
    patterns += [
        _pattern(f"p{PATTERNS.index(sign)}", LINES[sign]) for sign in PATTERNS if sign in looks
    ]
    hatch = f"<defs>{''.join(patterns)}</defs>"
    ground = f'<rect width="{WIDTH}" height="{height:g}" fill="{PAPER}"/>'
    words = escape(_NOT_XML.sub("\ufffd", describe(header, state)))
    return "".join([head, f"<title>{words}</title>", hatch, ground, *sheet.parts(), "</svg>"])


def _two_pools(header: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The names and sizes of the first pool and of all others together."""
    (name, size), *others = header["pools"] or [["", 0]]
    return [(name, size), (", ".join(n for n, _ in others), sum(size for _, size in others))]


def _fill(state: Mapping[str, Any], block_size: int) -> dict[int, int]:
    """Block → slots with tokens; a cached block is full."""
    found = {block: block_size for block in state["cached"]}
    for _, ids, tokens, *written in state["tables"]:
        count = written[0] if written else len(tokens)
        for k, block in enumerate(ids):
            here = max(0, min(count - k * block_size, block_size))
            found[block] = max(found.get(block, 0), here)
    if state.get("null") is not None:
        found[state["null"]] = 0
    return found


def _pattern(name: str, d: str, *, turned: bool = False) -> str:
    turn = ' patternTransform="rotate(45)"' if turned else ""
    return (
        f'<pattern id="{name}" width="5" height="5" patternUnits="userSpaceOnUse"{turn}>'
        f'<path d="{d}" stroke="{INK}"/></pattern>'
    )


def _looks(header: Mapping[str, Any], state: Mapping[str, Any]) -> dict[int | str, Look]:
    """Sequence → its colour and pattern."""
    found = places(names_in(header, state))
    names = (table[0] for table in state["tables"])
    return {name: (color_of(found[name]), pattern_of(found[name])) for name in names}


def _sequences(
    sheet: _Sheet, header: Mapping[str, Any], state: Mapping[str, Any], y: float
) -> float:
    (_, first), fill = _two_pools(header)[0], _fill(state, header["block_size"])
    tables, refs = state["tables"], dict(state["refs"])
    looks = _looks(header, state)
    for name, ids, tokens, *_ in tables[:MAX_LINES]:
        look = looks[name]
        _fill_with(sheet, MARGIN, y, 11, 13, look)
        sheet.rect(MARGIN, y, 11, 13, edge=0.9)
        sheet.text(MARGIN + 16, y + 11, _short(name_text(name), 8), look=BOLD)
        sheet.text(MARGIN + 108, y + 11, str(len(tokens)), look=QUIET, anchor="end")
        for place, block in enumerate(ids[:MAX_CHIPS]):
            x = MARGIN + 114 + place * 26
            _cell(sheet, x, y - 2, 25, 17, fill.get(block, 0) / header["block_size"], [look],
                  cpu=block >= first, shared=refs.get(block, 0) > 1)  # fmt: skip
            sheet.text(x + 12.5, y + 11, str(block), look=HALO, anchor="middle")
        if len(ids) > MAX_CHIPS:
            sheet.text(MARGIN + 116 + MAX_CHIPS * 26, y + 11, f"+{len(ids) - MAX_CHIPS}")
        y += LINE
    if len(tables) > MAX_LINES:
        sheet.text(MARGIN, y + 11, f"and {len(tables) - MAX_LINES} more", look=QUIET)
        y += LINE
    return y


def _cell(
    sheet: _Sheet,
    x: float,
    y: float,
    w: float,
    h: float,
    part: float,
    looks: list[Look],
    *,
    cpu: bool,
    shared: bool,
) -> None:
    high = round(h * part, 1)
    each = w / max(len(looks), 1)
    for place, look in enumerate(looks if high else []):
        _fill_with(sheet, x + place * each, y + h - high, each, high, look)
    if high and cpu:
        sheet.rect(x, y + h - high, w, high, HATCH)
    sheet.rect(x, y, w, h, edge=2.4 if shared else 0.9)


def _fill_with(sheet: _Sheet, x: float, y: float, w: float, h: float, look: Look) -> None:
    color, pattern = look
    sheet.rect(x, y, w, h, color)
    if pattern:
        sheet.rect(x, y, w, h, f"url(#p{PATTERNS.index(pattern)})")


def _pools(sheet: _Sheet, header: Mapping[str, Any], state: Mapping[str, Any], top: float) -> float:
    (gpu_name, gpu), (cpu_name, cpu) = _two_pools(header)
    room = WIDTH - MARGIN - LEFT
    for cell in CELLS:
        w, h, gap, named = cell
        columns = int((room - 24 + gap) // (w + gap))
        right = max(columns // 3, 1) if cpu else 0
        rows = max(-(-gpu // (columns - right)), -(-cpu // max(right, 1)))
        if rows * (h + gap) <= MAX_HEIGHT:
            break
    owners: dict[int, list[Look]] = {}
    looks = _looks(header, state)
    for name, ids, *_ in state["tables"]:
        for block in dict.fromkeys(ids):
            owners.setdefault(block, []).append(looks[name])
    fill, refs = _fill(state, header["block_size"]), dict(state["refs"])
    start = LEFT + (columns - right) * (w + gap) - gap + 24
    for heading, x, first, count, across in (
        (f"{gpu_name} pool", LEFT, 0, gpu, columns - right),
        (f"{cpu_name} pool", start, gpu, cpu, right),
    ):
        if count:
            sheet.text(x, top - 12, heading, look=BOLD)
        for place in range(count):
            block = first + place
            row, column = divmod(place, across)
            at, below = x + column * (w + gap), top + row * (h + gap)
            part = fill.get(block, 0) / header["block_size"]
            shared = refs.get(block, 0)
            _cell(sheet, at, below, w, h, part, owners.get(block, [(HELD, "")])[:6],
                  cpu=block >= gpu, shared=shared > 1)  # fmt: skip
            if named:
                look = f"{BOLD} {HALO}" if shared else QUIET
                sheet.text(at + 3, below + 13, str(block), look=look)
            if named and shared > 1 and h > 24:
                sheet.text(at + w - 3, below + h - 4, f"\u00d7{shared}", look=HALO, anchor="end")
    return top + rows * (h + gap)


def _strips(sheet: _Sheet, header: Mapping[str, Any], state: Mapping[str, Any], y: float) -> float:
    names = [name for name, _ in header["lists"]]
    lists = list(zip(names, state["lists"], strict=True))
    for name, ids in lists:
        if not ids and name != names[0]:
            continue
        shown = ", ".join(map(str, ids[:20])) or "empty"
        more = f" and {len(ids) - 20} more" if len(ids) > 20 else ""
        sheet.text(MARGIN, y, f"{name}:", look=BOLD)
        sheet.text(MARGIN + 104, y, shown + more)
        y += 18
    queues = zip(header["queues"], state["queues"], strict=True)
    for queue, names in queues if any(state["queues"]) else ():
        words = [_short(request_text(name, state), 18) for name in names[:10]]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        sheet.text(MARGIN, y, f"{queue}:", look=BOLD)
        sheet.text(MARGIN + 104, y, _short(", ".join(words), 110) + more if names else "empty")
        y += 18
    return y


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"
