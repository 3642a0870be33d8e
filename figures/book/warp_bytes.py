"""Chapter on the CUDA kernel: the bytes of one load of a warp, in two layouts of the keys."""

import json
from typing import Any

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    DATA,
    INNER,
    MARGIN,
    S0,
    S1,
    SMALL,
    arrow,
    drawing,
    note,
    panel,
    say,
)
from pagesim.figures.style import HELD, MUTED, Box

SECTOR = 32
LANE, LEFT = INNER / 32, MARGIN


@drawing("One load of a warp: vLLM's key layout leaves no byte unused", 360)
def warp_bytes(axes: Axes) -> str:
    """A warp, its groups and tokens; under it what they read of memory, twice."""
    data = json.loads((DATA / "thread_map.json").read_text(encoding="utf-8"))
    config, load = data["config"], data["k"][0]
    group, tokens = config["thread_group_size"], load["token"]
    piece = config["x"] * config["cache_bytes"]
    say(
        axes,
        LEFT,
        46,
        f"a warp: 32 lanes; each group of {group} has a token of the block",
        ha="left",
        bold=True,
    )
    for lane, token in enumerate(tokens):
        box = Box(LEFT + LANE * lane, 62, LANE, 24)
        style.rectangle(axes, box, fill=(S0, S1)[token % 2], width=0.6)
        say(axes, *box.center, str(lane), size=SMALL, color=style.ON_LIGHT)
        if lane % group == 0:
            whole = Box(box.x, box.y, LANE * group, 24)
            style.rectangle(axes, whole, fill=None, width=1.6)
            say(axes, whole.center[0], 97, f"t{token}", size=SMALL, bold=True)
    naive = _sectors(data["footprints"]["k_token_major"])
    ours = _sectors(data["footprints"]["k"])
    row = config["head_size"] * config["cache_bytes"]
    panel(axes, Box(MARGIN, 114, INNER, 112), "natural: the key of a token lies in one piece")
    _strip(axes, 158, len(naive), piece, gaps=True)
    note(
        axes,
        MARGIN + 9,
        208,
        f"{len(naive)} sectors, {row} bytes apart: {SECTOR * len(naive)} bytes moved, "
        f"{sum(naive)} wanted",
    )
    panel(
        axes,
        Box(MARGIN, 238, INNER, 112),
        f"vLLM: the same {piece} bytes of all tokens lie together",
    )
    _strip(axes, 276, len(ours), piece, gaps=False)
    note(
        axes,
        MARGIN + 9,
        332,
        f"{len(ours)} sectors in a row: {SECTOR * len(ours)} bytes moved, all wanted",
    )
    style.rectangle(axes, Box(392, 202, 16, 12), fill=HELD, width=0.7)
    note(axes, 414, 208, "not wanted")
    return (
        f"A warp has 32 lanes in {len(tokens) // group} groups of {group}, and each group loads "
        f"{piece} bytes of the key of its token. Where the key of a token lies in one piece, these "
        f"are {len(naive)} sectors of {SECTOR} bytes, {row} bytes apart, and half of what is moved "
        f"is not wanted: {SECTOR * len(naive)} bytes for {sum(naive)}. In vLLM's layout the pieces "
        f"of the 16 tokens lie side by side: {len(ours)} whole sectors, {sum(ours)} bytes."
    )


def _sectors(lines: list[dict[str, Any]]) -> list[int]:
    """The wanted bytes of each sector that the load touches."""
    return [count for one in lines for count in one["bytes"] if count]


def _strip(axes: Axes, y: float, count: int, piece: int, gaps: bool) -> None:
    """Sectors of memory with the tokens' pieces; what is between them is a gap."""
    per = 1 if gaps else SECTOR // piece
    wide, room = (22.0, 31.0) if gaps else (48.0, 48.0)
    for sector in range(count):
        x = MARGIN + 12 + room * sector
        each = wide * piece / SECTOR
        for place in range(SECTOR // piece):
            token = per * sector + place
            box = Box(x + each * place, y, each, 28)
            if place < per:
                style.rectangle(axes, box, fill=(S0, S1)[token % 2], width=0.6)
                if not gaps:
                    say(axes, *box.center, f"t{token}", size=SMALL, color=style.ON_LIGHT)
            else:
                style.rectangle(axes, box, fill=HELD, width=0.6)
        style.rectangle(axes, Box(x, y, wide, 28), fill=None, width=1.4)
        if gaps:
            say(axes, x + each / 2, y - 8, f"t{sector}", size=SMALL)
            arrow(
                axes,
                (x + wide + 1, y + 14),
                (x + room - 1, y + 14),
                head=False,
                color=MUTED,
                dashed=True,
            )
