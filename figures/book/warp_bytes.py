"""Chapter on the CUDA kernel: the bytes of one load of a warp, in two layouts of the keys."""

from pagesim.figures.book.kit import COLORS, INNER, MARGIN, SMALL, Sheet, data, drawing
from pagesim.figures.style import HELD, MUTED, Box
from pagesim.files.jsonl import JsonObject

SECTOR = 32
LANE = INNER / 32


@drawing("One load of a warp: vLLM's key layout leaves no byte unused", 360)
def warp_bytes(sheet: Sheet) -> str:
    """A warp, its groups and tokens; under it what they read of memory, twice."""
    found = data("thread_map")
    config, tokens = found["config"], found["k"][0]["token"]
    group, piece = config["thread_group_size"], config["x"] * config["cache_bytes"]
    row = config["head_size"] * config["cache_bytes"]
    naive = _sectors(found["footprints"]["k_token_major"])
    ours = _sectors(found["footprints"]["k"])
    _warp(sheet, tokens, group)
    sheet.panel(Box(MARGIN, 114, INNER, 112), "natural: the key of a token lies in one piece")
    _apart(sheet, 158, len(naive), piece)
    moved = f"{SECTOR * len(naive)} bytes moved, {sum(naive)} wanted"
    sheet.note(MARGIN + 9, 208, f"{len(naive)} sectors, {row} bytes apart: {moved}")
    together = f"vLLM: the same {piece} bytes of all tokens lie together"
    sheet.panel(Box(MARGIN, 238, INNER, 112), together)
    _together(sheet, 276, len(ours), piece)
    moved = f"{SECTOR * len(ours)} bytes moved, all wanted"
    sheet.note(MARGIN + 9, 332, f"{len(ours)} sectors in a row: {moved}")
    sheet.rectangle(Box(392, 202, 16, 12), fill=HELD, width=0.7)
    sheet.note(414, 208, "not wanted")
    return (
        f"A warp has 32 lanes in {len(tokens) // group} groups of {group}, and each group loads "
        f"{piece} bytes of the key of its token. Where the key of a token lies in one piece, these "
        f"are {len(naive)} sectors of {SECTOR} bytes, {row} bytes apart, and half of what is moved "
        f"is not wanted: {SECTOR * len(naive)} bytes for {sum(naive)}. In vLLM's layout the pieces "
        f"of the 16 tokens lie side by side: {len(ours)} whole sectors, {sum(ours)} bytes."
    )


def _warp(sheet: Sheet, tokens: list[int], group: int) -> None:
    """The lanes in their groups, each with the token that it reads."""
    text = f"a warp: 32 lanes; each group of {group} has a token of the block"
    sheet.say(MARGIN, 46, text, ha="left", bold=True)
    for lane, token in enumerate(tokens):
        box = Box(MARGIN + LANE * lane, 62, LANE, 24)
        _piece(sheet, box, token, str(lane))
        if lane % group == 0:
            whole = Box(box.x, box.y, LANE * group, 24)
            sheet.rectangle(whole, fill=None, width=1.6)
            sheet.say(whole.center[0], 97, f"t{token}", size=SMALL, bold=True)


def _sectors(lines: list[JsonObject]) -> list[int]:
    """The wanted bytes of each sector that the load touches."""
    return [count for one in lines for count in one["bytes"] if count]


def _apart(sheet: Sheet, y: float, count: int, piece: int) -> None:
    """A sector for each token: its piece, the bytes that are not wanted, and a gap."""
    wide, pitch = 22.0, 31.0
    each = wide * piece / SECTOR
    for token in range(count):
        x = MARGIN + 12 + pitch * token
        _piece(sheet, Box(x, y, each, 28), token)
        for place in range(1, SECTOR // piece):
            sheet.rectangle(Box(x + each * place, y, each, 28), fill=HELD, width=0.6)
        sheet.rectangle(Box(x, y, wide, 28), fill=None, width=1.4)
        sheet.say(x + each / 2, y - 8, f"t{token}", size=SMALL)
        gap = (x + wide + 1, y + 14), (x + pitch - 1, y + 14)
        sheet.arrow(*gap, head=False, color=MUTED, dashed=True)


def _together(sheet: Sheet, y: float, count: int, piece: int) -> None:
    """Sectors side by side, full of the tokens' pieces."""
    wide, per = 48.0, SECTOR // piece
    each = wide * piece / SECTOR
    for sector in range(count):
        x = MARGIN + 12 + wide * sector
        for place in range(per):
            token = per * sector + place
            _piece(sheet, Box(x + each * place, y, each, 28), token, f"t{token}")
        sheet.rectangle(Box(x, y, wide, 28), fill=None, width=1.4)


def _piece(sheet: Sheet, box: Box, token: int, text: str = "") -> None:
    """What belongs to a token: neighbours differ in colour."""
    sheet.node(box, text, fill=COLORS[token % 2], width=0.6, bold=False, size=SMALL)
