"""What stands below a still picture: the lists and queues as rows of chips, and the legend."""

from collections.abc import Sequence
from itertools import groupby

from pagesim.player.describe import request_text
from pagesim.player.sheet import BOLD, HATCH, HELD, INK, QUIET, short
from pagesim.player.still import MARGIN, WIDTH, Still


def draw_lists(still: Still, y: float) -> float:
    """Lists and queues as rows of chips; returns where they end."""
    for place, (name, ids) in enumerate(still.state.lists.items()):
        if ids or not place:
            is_sorted = name in still.state.sorted_lists
            chips = _ranges(ids) if is_sorted else [str(block) for block in ids]
            if ids and not is_sorted:
                front = "front" if place else "next"
                still.sheet.text(MARGIN + 110, y - 4, f"\u25be {front}", look=BOLD)
            grey = set() if is_sorted else {str(block) for block in still.cached}
            _chips(still, y, name, [(text, HELD if text in grey else "none") for text in chips])
            y += 34
    first_of, queues = still.state.requests, still.state.queues
    for queue, requests in queues.items() if any(queues.values()) else ():
        looks = [still.looks.get(first_of.get(one, one), (HELD, ""))[0] for one in requests]
        words = [short(request_text(one, still.state), 18) for one in requests]
        _chips(still, y, queue, list(zip(words, looks, strict=True)), swatch=11)
        y += 26
    return y


def _chips(
    still: Still, y: float, name: str, chips: list[tuple[str, str]], swatch: int = 0
) -> None:
    sheet, x = still.sheet, MARGIN + 110.0
    sheet.text(MARGIN, y + 13, short(name, 15), look=BOLD)
    if not chips:
        sheet.text(x, y + 13, "empty", look=QUIET)
    for place, (text, fill) in enumerate(chips):
        w = len(text) * 7.6 + 9 + swatch
        if x + w > WIDTH - MARGIN - 44:
            sheet.text(x + 4, y + 13, f"+{len(chips) - place}", look=QUIET)
            return
        sheet.rect(x, y, swatch or w, 17, fill)
        sheet.rect(x, y, w, 17, edge=0.9 if place or swatch else 2.4)
        sheet.text(x + swatch + (w - swatch) / 2, y + 13, text, anchor="middle")
        x += w + 3


def draw_legend(still: Still, y: float) -> float:
    """The signs of this picture; returns where they end."""
    sheet, x = still.sheet, float(MARGIN)
    entries = ["fill: slots with tokens"]
    entries += ["hatched: reserved"] if still.rows else ["thick: shared"]
    entries += [f"hatched: {still.pools[1][0]}"] if still.pools[1][1] else []
    if still.state.caching:
        entries += ["upper corner: cached", "grey: cached, unused"]
    entries += ["lower corner: computed"] if still.state.computed else []
    entries += ["crossed: null block"] if still.state.null_block is not None else []
    for group in still.cache.groups:
        still.tag(group, x, y - 1)
        sheet.text(x + still.frame + 5, y + 10, group.label, look=f'{QUIET} font-size="11"')
        x += still.frame + 5 + len(group.label) * 6.4 + 12
    for text in entries:
        wide = 22 + len(text) * 6.4 + 12
        if x + wide > WIDTH - MARGIN:
            x, y = float(MARGIN), y + 18
        _sign(still, text.split(":")[0], x, y)
        sheet.text(x + 20, y + 10, text, look=f'{QUIET} font-size="11"')
        x += wide
    return y + 18


def _sign(still: Still, sign: str, x: float, y: float) -> None:
    sheet = still.sheet
    if sign in ("fill", "hatched"):
        sheet.rect(x, y + 5, 13, 7, HELD)
    if sign == "grey":
        sheet.rect(x, y, 13, 12, HELD)
    if sign == "hatched":
        sheet.rect(x, y + 5, 13, 7, HATCH)
    sheet.rect(x, y, 13, 12, edge=2.4 if sign == "thick" else 0.9)
    if sign.endswith("corner"):
        low = sign.startswith("lower")
        sheet.corner(x + 13, y + 12 * low, low=low)
    if sign == "crossed":
        sheet.path(f"M{x:g} {y:g}l13 12m0 -12l-13 12", f'stroke="{INK}"')


def _ranges(ids: Sequence[int]) -> list[str]:
    """Ids in ascending order: of neighbours the first and the last."""
    runs = groupby(enumerate(ids), lambda pair: pair[1] - pair[0])
    groups = [[block for _, block in run] for _, run in runs]
    return ["\u2013".join(map(str, (run[0], run[-1])[: len(run)])) for run in groups]
