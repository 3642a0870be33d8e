"""What stands below a still picture: the lists and queues as rows of chips, and the legend."""

from collections.abc import Sequence
from itertools import groupby

from pagesim.journal.effects import Name
from pagesim.player.colors import color_of
from pagesim.player.describe import counted, name_text, request_text
from pagesim.player.sheet import BOLD, CROWD, HATCH, HELD, INK, QUIET, short
from pagesim.player.still import MARGIN, WIDTH, Still
from pagesim.player.tiers import in_order


def draw_lists(still: Still, y: float) -> float:
    """Lists and queues as rows of chips; returns where they end."""
    for place, (name, ids) in enumerate(still.state.lists.items()):
        if ids or not place:
            is_sorted = name in still.state.sorted_lists
            chips = _ranges(ids) if is_sorted else [str(block) for block in ids]
            if ids and not is_sorted:
                front = "front" if place else "next"
                still.sheet.text(
                    MARGIN + (154 if still.tier else 110), y - 4, f"\u25be {front}", look=BOLD
                )
            grey = set() if is_sorted else {str(block) for block in still.cached}
            _chips(still, y, name, [(text, HELD if text in grey else "none") for text in chips])
            y += 34
    queues = still.state.queues
    names = in_order(list(queues)) if any(queues.values()) else ()
    for queue in names:
        looks = [still.look_of(one)[0] for one in queues[queue]]
        words = [short(request_text(one, still.state), 18) + _waits(still, one)
                 for one in queues[queue]]  # fmt: skip
        _chips(still, y, queue, list(zip(words, looks, strict=True)), swatch=11)
        y += 26
    return _copies(still, y) if still.tier and names else y


def _left(still: Still) -> float:
    """Where the chips begin: beside the longest name."""
    return MARGIN + (154.0 if still.tier else 110.0)


def _waits(still: Still, request: Name) -> str:
    """For which copy a request waits."""
    load = still.tier and still.tier.load_of(request)
    return f" loads {counted(len(load.pairs), 'block')}" if load else ""


def _copies(still: Still, y: float) -> float:
    """The copies under way."""
    chips = []
    for job in still.tier.jobs if still.tier else ():
        words = f"{name_text(still.state.requests.get(job.request, job.request))} {job.kind}s "
        chips.append((words + counted(len(job.pairs), "block"), still.look_of(job.request)[0]))
    _chips(still, y, "copies", chips, swatch=11)
    return y + 26


def _chips(
    still: Still, y: float, name: str, chips: list[tuple[str, str]], swatch: int = 0
) -> None:
    sheet, x = still.sheet, _left(still)
    sheet.text(MARGIN, y + 13, short(name, 18 if still.tier else 15), look=BOLD)
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
    entries += ["pale: reserved"] if still.rows else ["thick: shared"]
    if still.tier:
        entries += ["hatched: being copied there"]
    elif still.pools[1][1]:
        entries += [f"hatched: {still.pools[1][0]}"]
    entries += ["dark grey: the other sequences"] if still.near is not None else []
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
    if sign.endswith("grey"):
        sheet.rect(x, y, 13, 12, HELD if sign == "grey" else CROWD)
    if sign == "pale":
        sheet.pale(x, y, 13, 12, color_of(0))
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
