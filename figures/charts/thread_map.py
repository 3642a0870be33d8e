"""Inside the CUDA kernel: which threads read which elements of q, K and V.

Columns are the lanes of a warp, rows are its load instructions in order: a column shows what a
thread collects, a row what the warp asks of memory at once. `kernels.simt.thread_map` makes the
data, which JSON can hold.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from pagesim.figures import style
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.sources import Facts, Plain, report
from pagesim.figures.style import MARGIN, Box, Picture
from pagesim.player.describe import counted

LABELS, CELL, ROW = 54.0, 18.0, 13.5
LANES = 32
LEFT = MARGIN + LABELS
MAX_KEY_LOADS, MAX_VALUE_LOADS, MAX_LINES = 5, 8, 16
SECTION, HEADER = 21.0, 11.5
LINE_PITCH, LINE_GAP, LINE_ROW = 36.0, 3.0, 29.0
SECTOR_BYTES = 32
FOLLOWED = style.INK  # lane 0 of warp 0, the thread to follow
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
L = TypeVar("L")
FOOTPRINTS = {
    "k": "K as it lies",
    "k_token_major": "K if it lay token after token",
    "v": "V as it lies",
}
_KEYS = ("config", "warp_of_block", "offset_of_vec", "k", "v", "footprints")


@style.picture
def thread_map(source: Plain, *, title: str | None = None) -> tuple[Picture, str]:
    """Draw the bytes that each lane of warp 0 reads, to see why K has its layout.

    ``source`` is the result of `kernels.simt.thread_map`, or a JSON file with it; it describes one
    thread block. Lines and sectors are in bytes. Long columns are shortened to the first loads and
    the last. TypeError if ``source`` is not such a map, UsageError if a part is missing.
    """
    data = report("thread_map", source, _KEYS, "kernels.simt.thread_map(config)")
    return _draw(data, title), _words(data)


def _words(data: Facts) -> str:
    """What the picture shows, in a few sentences."""
    c = data["config"]
    group, per_row = c["thread_group_size"], c["num_v_vecs_per_row"]
    first = [block for block, warp in enumerate(data["warp_of_block"]) if warp == 0]
    lines = [len(data["footprints"][key]) for key in ("k", "k_token_major")]
    return (
        f"{_subtitle(c)} Warp 0 takes blocks {_some(first)} of the sequence. "
        f"{_lanes(group)} a key: lane 0 reads its vecs {_some(_column(data['k'], 'vec'))}, "
        f"in {len(data['k'])} loads. {_lanes(per_row)} a row of V: lane 0 reads rows "
        f"{_some(_column(data['v'], 'row'))}, in {len(data['v'])} loads. The first load of K "
        f"touches {counted(lines[0], 'line')} of 128 bytes; with K token after token it would be "
        f"{lines[1]}."
    )


def _draw(data: Facts, title: str | None) -> Picture:
    c = data["config"]
    key_rows, value_rows = _shown(data["k"], MAX_KEY_LOADS), _shown(data["v"], MAX_VALUE_LOADS)
    top = MARGIN + (20.0 if title else 0.0) + 24
    vecs = top + SECTION + HEADER + ROW + 12
    keys = vecs + SECTION + HEADER + ROW + 12
    values = keys + SECTION + 2 * HEADER + len(key_rows) * ROW + 14
    moved = values + SECTION + 2 * HEADER + len(value_rows) * ROW + 14
    legend = moved + SECTION + len(FOOTPRINTS) * LINE_ROW + 8
    figure, sheet = blank(style.WIDTH, legend + 16 + MARGIN, title)
    sheet.write(MARGIN, top - 16, _subtitle(c), ha="left", color=style.MUTED)
    _draw_blocks(sheet, data["warp_of_block"], top)
    _draw_vecs(sheet, data["offset_of_vec"], c["vec_size"], vecs)
    _heading(sheet, keys, "K: a cell names the vec of the key that the lane reads")
    token_label = (
        "token" if all(e["token"] == data["k"][0]["token"] for e in data["k"]) else ("first token")
    )
    group, per_row = c["thread_group_size"], c["num_v_vecs_per_row"]
    _draw_loads(sheet, keys + SECTION, key_rows, "vec", token_label, group, spans=group)
    _heading(
        sheet, values, "V: a cell names the row (the dimension of the head) that the lane reads"
    )
    _draw_loads(sheet, values + SECTION, value_rows, "row", "from token", per_row, spans=1)
    _heading(
        sheet, moved, "What the first load moves: 128-byte lines, each of four 32-byte sectors"
    )
    for place, (key, name) in enumerate(FOOTPRINTS.items()):
        _draw_lines(sheet, moved + SECTION + place * LINE_ROW, name, data["footprints"][key])
    _draw_legend(sheet, legend, max(group, per_row))
    for y, rows, loads, what in (
        (keys, key_rows, data["k"], "vec"),
        (values, value_rows, data["v"], "row"),
    ):
        height = 2 * HEADER + len(rows) * ROW
        for lane in range(LANES):
            box = Box(LEFT + lane * CELL, y + SECTION, CELL, height)
            figure.spots.append((box, _lane_text(lane, loads, what)))
    return figure


def _lane_text(lane: int, loads: Sequence[Facts], what: str) -> str:
    """What stands beside a lane that is pointed at: all of its loads."""
    read = [(load[what][lane], load["token"][lane]) for load in loads]
    read = [(value, token) for value, token in read if value is not None]
    if not read:
        return f"Lane {lane} reads nothing here."
    numbers, tokens = [value for value, _ in read], sorted({token for _, token in read})
    whose = "key" if what == "vec" else "value"
    return (
        f"Lane {lane}, {counted(len(read), 'load')}: {what}{'s' * (len(numbers) > 1)} "
        f"{_some(numbers)}; {whose}{'s' * (len(tokens) > 1)} of "
        f"token{'s' * (len(tokens) > 1)} {_some(tokens)}."
    )


def _subtitle(c: Mapping[str, int]) -> str:
    cache = "" if c["cache_bytes"] == c["element_bytes"] else f" ({c['cache_bytes']} in the cache)"
    return (
        f"head_size {c['head_size']}, block_size {c['block_size']}, {c['num_threads']} threads, "
        f"elements of {c['element_bytes']} bytes{cache}: a vec of q and K has "
        f"{counted(c['vec_size'], 'element')}, a vec of V {c['v_vec_size']}."
    )


def _heading(sheet: Sheet, y: float, text: str) -> None:
    sheet.write(MARGIN, y + 7, text, size=style.HEADING, ha="left", bold=True)


def _label(sheet: Sheet, y: float, text: str, *, color: str = style.INK) -> None:
    sheet.write(LEFT - 7, y + ROW / 2, text, ha="right", color=color)


def _cell(sheet: Sheet, box: Box, text: str, fill: str) -> None:
    sheet.rectangle(box, fill=fill, width=0.6)
    if text:
        sheet.write(*box.center, text, color=style.ink_on(fill))


def _draw_blocks(sheet: Sheet, warps: Sequence[int], y: float) -> None:
    """The blocks of the sequence in order, and the warp that takes each: warp 0's are grey."""
    _heading(sheet, y, "The blocks of the sequence: which warp takes which")
    y += SECTION
    width = LANES * CELL / len(warps)
    _label(sheet, y - 1, "block", color=style.MUTED)
    _label(sheet, y + HEADER, "warp")
    for block, warp in enumerate(warps):
        x = LEFT + block * width
        sheet.write(x + width / 2, y + HEADER / 2, str(block), color=style.MUTED)
        fill = style.HELD if warp == 0 else style.PAPER
        _cell(sheet, Box(x, y + HEADER, width, ROW), str(warp), fill)


def _draw_vecs(sheet: Sheet, offsets: Sequence[int], vec_size: int, y: float) -> None:
    """The vecs of q, and of any key, and the lane of a thread group that takes each."""
    elements = counted(vec_size, "element")
    _heading(
        sheet,
        y,
        f"q and every key, in vecs of {elements}: which lane of a thread group takes which",
    )
    y += SECTION
    _label(sheet, y - 1, "vec", color=style.MUTED)
    _label(sheet, y + HEADER, "lane")
    fits = len(offsets) <= LANES
    for vec, offset in enumerate(offsets[: LANES if fits else LANES - 1]):
        box = Box(LEFT + vec * CELL, y + HEADER, CELL, ROW)
        sheet.write(box.center[0], y + HEADER / 2, str(vec), color=style.MUTED)
        _cell(sheet, box, str(offset), style.color_of(offset))
    if not fits:
        sheet.write(LEFT + (LANES - 0.5) * CELL, y + HEADER + ROW / 2, ELLIPSIS)


def _draw_loads(
    sheet: Sheet,
    y: float,
    rows: Sequence[tuple[int, Facts] | None],
    what: str,
    token_label: str,
    sharing: int,
    spans: int,
) -> None:
    """A row a load, a column a lane; `sharing` neighbours read the same key, or row of V."""
    (_, first), *_ = (row for row in rows if row)
    _label(sheet, y - 1, "lane", color=style.MUTED)
    _label(sheet, y + HEADER - 1, token_label, color=style.MUTED)
    for lane in range(LANES):
        x = LEFT + (lane + 0.5) * CELL
        sheet.write(x, y + HEADER / 2, str(lane), color=style.MUTED)
    for lane in range(0, LANES, spans):
        x, token = LEFT + (lane + spans / 2) * CELL, first["token"][lane]
        sheet.write(x, y + HEADER * 1.5, str(token), color=style.MUTED)
    top = y = y + 2 * HEADER
    for row in rows:
        if row is None:
            _label(sheet, y, ELLIPSIS)
            for lane in range(LANES):
                middle = LEFT + (lane + 0.5) * CELL
                sheet.write(middle, y + ROW / 2, "\N{VERTICAL ELLIPSIS}", color=style.MUTED)
        else:
            number, load = row
            _label(sheet, y, f"load {number}")
            for lane, value in enumerate(load[what]):
                fill = style.color_of(lane % sharing) if lane else FOLLOWED
                if value is None:
                    fill = style.PAPER
                text = "" if value is None else str(value)
                _cell(sheet, Box(LEFT + lane * CELL, y, CELL, ROW), text, fill)
        y += ROW
    # A heavier line where the next key, or the next row of V, begins.
    edges = [LEFT + lane * CELL for lane in range(0, LANES + 1, sharing)]
    for x in edges:
        sheet.axes.plot([x, x], [top, y], color=style.INK, linewidth=1.4, clip_on=False)


def _draw_lines(sheet: Sheet, y: float, name: str, lines: Sequence[Facts]) -> None:
    """The lines that one load touches; a sector is filled as far as its bytes are read."""
    parts = [count for line in lines for count in line["bytes"] if count]
    used = sum(parts) / (SECTOR_BYTES * len(parts))
    text = (
        f"{name}: {counted(len(lines), 'line')}, {counted(len(parts), 'sector')}, "
        f"{used:.0%} of the bytes used"
    )
    sheet.write(LEFT, y + 5, text, ha="left")
    for place, line in enumerate(lines[:MAX_LINES]):
        box = Box(LEFT + place * LINE_PITCH, y + 11, LINE_PITCH - LINE_GAP, 12)
        width = box.w / len(line["bytes"])
        for sector, count in enumerate(line["bytes"]):
            cell = Box(box.x + sector * width, box.y, width, box.h)
            sheet.fill_from_below(cell, count / SECTOR_BYTES, [style.MUTED])
            sheet.rectangle(cell, fill=None, width=0.5)
        sheet.rectangle(box, fill=None, width=1.4)
    if len(lines) > MAX_LINES:
        more = f"+{len(lines) - MAX_LINES}"
        sheet.write(LEFT - 7, y + 17, more, ha="right", color=style.MUTED)


def _draw_legend(sheet: Sheet, y: float, sharing: int) -> None:
    """What the colours, black and grey mean."""
    shades = [style.color_of(place) for place in range(min(sharing, 2))]
    entries = [
        (shades, "place among the lanes that share a key, or a row of V"),
        ([FOLLOWED], "lane 0 of warp 0: follow it down"),
        ([style.HELD], "warp 0's blocks"),
    ]
    x = MARGIN + 3
    for fills, text in entries:
        for fill in fills:
            sheet.rectangle(Box(x, y, 12, 11), fill=fill)
            x += 12
        sheet.write(x + 6, y + 6, text, ha="left", color=style.MUTED)
        x += 24 + style.text_width(text)


def _shown(loads: Sequence[L], most: int) -> list[tuple[int, L] | None]:
    """The loads with their numbers in at most ``most`` rows: None stands for those omitted."""
    numbered: list[tuple[int, L] | None] = list(enumerate(loads))
    return numbered if len(loads) <= most else [*numbered[: most - 2], None, numbered[-1]]


def _column(loads: Sequence[Facts], what: str) -> list[int]:
    """What lane 0 reads, load after load."""
    return [load[what][0] for load in loads]


def _some(numbers: Sequence[int]) -> str:
    """All of a short list, the beginning and the end of a long one."""
    if len(numbers) <= 8:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[:3]))}, {ELLIPSIS}, {numbers[-1]}"


def _lanes(count: int) -> str:
    return "One lane takes" if count == 1 else f"{count} lanes share"
