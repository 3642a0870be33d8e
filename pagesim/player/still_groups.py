"""The tables of several groups in a still picture: for each request a lane per group, to scale."""

from itertools import groupby, islice

from pagesim.journal.effects import Name
from pagesim.journal.state import TableState
from pagesim.player.describe import name_text
from pagesim.player.groups import Group, group_of
from pagesim.player.sheet import BOLD, HALO, HELD, QUIET, short
from pagesim.player.still import GAP, LINE, MARGIN, MAX_HEIGHT, NAME, TOP, Still

LANE = 21  # a table of one of several groups


def draw_lanes(still: Still, right: float) -> float:
    """For each request a lane per group, all to one scale; returns where they end."""
    sheet, y, cache = still.sheet, TOP - 8.0, still.cache
    sheet.text(MARGIN, TOP - 30, "A block table per group", look=BOLD)
    left = MARGIN + still.frame + 12 + 7 * max(len(group.label) for group in cache.groups)
    ends = (_end(still, name, table) for name, table in cache.tables.items())
    unit = min((right - left) / max(ends, default=1), 64 / still.size)
    most = max(int(MAX_HEIGHT / (NAME + GAP + LANE * len(cache.groups))), 1)
    for request, tables in islice(cache.requests.items(), most):
        sheet.paint(MARGIN, y + 4, 11, 11, still.looks[request])
        sheet.rect(MARGIN, y + 4, 11, 11, edge=0.9)
        first = next(iter(tables.values()))
        words = f"{short(name_text(request), 16)}: {first.num_slots} tokens"
        sheet.text(MARGIN + 17, y + 14, words, look=BOLD)
        y += NAME
        for name, table in tables.items():
            if group := group_of(name, cache.groups):
                still.tag(group, MARGIN, y + 2)
                sheet.text(MARGIN + still.frame + 6, y + 13, group.label)
                _lane(still, name, table, group, (left, y, unit))
            y += LANE
        y += GAP
    if (more := len(cache.requests) - most) > 0:
        sheet.text(MARGIN, y + 11, f"and {more} more", look=QUIET)
        y += LINE
    if not cache.tables:
        sheet.text(MARGIN, TOP + 14, "no sequence holds any blocks", look=QUIET)
    return y


def _end(still: Still, name: Name, table: TableState) -> int:
    """How far a table reaches, in tokens."""
    group = group_of(name, still.cache.groups)
    if group is None or group.is_state:
        return max(table.num_slots, 1)
    return max(len(table.block_ids) * group.block_size, 1)


def _lane(
    still: Still, name: Name, table: TableState, group: Group, place: tuple[float, float, float]
) -> None:
    """The blocks of a table where their positions are; what has none is a gap."""
    (left, y, unit), sheet, size = place, still.sheet, group.block_size
    color, last = still.looks[name][0], _end(still, name, table)
    runs = groupby(enumerate(table.block_ids), lambda pair: pair[1] == still.state.null_block)
    for is_gap, run in runs:
        entries = list(run)
        start = left + entries[0][0] * size * unit
        if is_gap:
            nexts = table.block_ids[entries[-1][0] + 1 :][:1]
            end = left + min((entries[-1][0] + 1) * size, last) * unit
            _gap(still, group, nexts, (start, y, end))
            continue
        for k, block in entries:
            x, end = left + k * size * unit, left + min((k + 1) * size, last) * unit
            sheet.rect(x, y + 1, (end - x) * table.fill[k] / size, 16, color)
            sheet.rect(x, y + 1, end - x, 16, edge=2.4 if still.refs.get(block, 0) > 1 else 0.9)
            after = still.cache.states.get(block)
            words = f"{block}: after {after}" if after else str(block)
            words = words if len(words) * 7.3 <= end - x else str(block)
            sheet.fitted(x, y + 13, words, end - x, HALO)


def _gap(
    still: Still, group: Group, nexts: tuple[int, ...], place: tuple[float, float, float]
) -> None:
    """Entries without a block: what is behind the window, or which state takes their place."""
    start, y, end = place
    states = [still.cache.states[block] for block in nexts if block in still.cache.states]
    words = [f"state after {states[0]} tokens", f"after {states[0]}"] if states else []
    words += ["not kept"] if group.is_state else ["behind the window", "behind"]
    still.sheet.path(f"M{start:g} {y + 16:g}H{end:g}", f'stroke="{HELD}"')
    text = next((one for one in words if len(one) * 7.3 <= end - start), "")
    if text:
        still.sheet.text((start + end) / 2, y + 13, text, look=QUIET, anchor="middle")
