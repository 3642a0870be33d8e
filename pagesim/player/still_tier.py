"""A second tier in a still picture: chunks below the GPU's blocks, lines for copies under way."""

from pagesim.player.describe import counted
from pagesim.player.sheet import BOLD, INK, MUTED, PAPER
from pagesim.player.still import MARGIN, MAX_HEIGHT, TOP, WIDTH, Still
from pagesim.player.still_small import CELLS, LEFT, draw_name
from pagesim.player.tiers import STORE, Tier

FLIGHT = 56  # between the pools
Place = tuple[float, float]


def draw_pools(still: Still, tier: Tier) -> float:
    """The GPU above, the second tier below it; returns where they end."""
    (gpu_name, gpu), (cpu_name, cpu) = still.pools
    per = tier.blocks_per_chunk
    fits = (cell for cell in CELLS if _rows(gpu, cpu, cell, per)[1] <= MAX_HEIGHT)
    cell = next(fits, CELLS[-1])
    (w, h, gap, named), (across, _) = cell, _rows(gpu, cpu, cell, per)
    above = -(-gpu // across[0])
    places: dict[int, Place] = {}
    for block in range(gpu + cpu):
        pool = int(block >= gpu)
        row, column = divmod(block - pool * gpu, across[pool])
        aside = column // per * gap if pool and per > 1 and across[1] % per == 0 else 0
        x, y = LEFT + column * (w + gap) + aside, TOP + row * (h + gap)
        places[block] = x, y + pool * (above * (h + gap) - gap + FLIGHT)
        still.box(block, *places[block], w, h, across=False)
        if named:
            draw_name(still, block, *places[block], w, h)
    still.sheet.text(LEFT, TOP - 14, f"{gpu_name} pool", look=BOLD)
    for job in tier.jobs:
        for pair in job.pairs:
            _line(still, [places[block] for block in sorted(pair)], (w, h, gap),
                  gpu_end=places[gpu - 1][1] + h, down=job.kind == STORE)  # fmt: skip
    _frames(still, places, (w, h), per)
    bottom = max(y for _, y in places.values()) + h + 24
    policy = f", {tier.policy.upper()}" if tier.policy else ""
    size = f" of {counted(per, 'block')}" if per > 1 else ""
    words = f"{cpu_name} pool: {counted(cpu // per, 'chunk')}{size}{policy}"
    still.sheet.text(LEFT, bottom, words, look=BOLD)
    return bottom + 6


def _rows(
    gpu: int, cpu: int, cell: tuple[int, int, int, bool], per: int
) -> tuple[tuple[int, int], int]:
    """How many cells stand in a row of each pool, and how high both pools are together."""
    w, h, gap, _ = cell
    room = WIDTH - MARGIN - LEFT
    columns = (room + gap) // (w + gap)
    aside = gap if per > 1 else 0
    chunks = (room + gap + aside) // (per * (w + gap) + aside)
    across = columns, chunks * per or columns
    return across, (-(-gpu // columns) - (-cpu // across[1])) * (h + gap) + FLIGHT


def _frames(still: Still, places: dict[int, Place], cell: tuple[float, float], per: int) -> None:
    """A frame around each chunk, or around its part in a row."""
    (w, h), first = cell, still.gpu
    while per > 1 and first < len(places):
        (x, y), last = places[first], first
        while (last + 1 - still.gpu) % per and places[last + 1][1] == y:
            last += 1
        wide = places[last][0] - x + w
        look = f'fill="none" stroke="{MUTED}"'
        still.sheet.path(f"M{x - 3:g} {y - 3:g}h{wide + 6:g}v{h + 6:g}h{-wide - 6:g}z", look)
        first = last + 1


def _line(
    still: Still, ends: list[Place], cell: tuple[float, float, float], *, gpu_end: float, down: bool
) -> None:
    """A copy, along the gaps between the cells and across from one pool to the other."""
    (x, y), (to_x, to_y) = ends
    w, h, gap = cell
    start = x + w * (0.62 if down else 0.3)
    d = f"M{start:g} {y + h:g}"
    if y + h < gpu_end:
        start = x + w + gap / 2
        d += f"v{gap / 2:g}H{start:g}V{gpu_end:g}"
    top = gpu_end + FLIGHT
    goal = to_x + w / 2 if to_y == top else to_x - gap / 2
    middle = gpu_end + FLIGHT / 2
    d += f"C{start:g} {middle + 12:g} {goal:g} {middle - 12:g} {goal:g} {top - 3:g}"
    if to_y != top:
        d += f"V{to_y - gap / 2:g}H{to_x + w / 2:g}"
    d += f"V{to_y:g}"
    still.sheet.path(d, f'fill="none" stroke="{PAPER}" stroke-width="4"', 2)
    still.sheet.path(d, f'fill="none" stroke="{INK}" stroke-width="1.7"', 3)
    tip = f"M{to_x + w / 2:g} {to_y:g}l-4 -7h8z" if down else f"M{x + w * 0.3:g} {y + h:g}l-4 7h8z"
    still.sheet.path(tip, f'fill="{INK}"', 4)
