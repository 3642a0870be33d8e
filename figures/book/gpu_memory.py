"""Chapter on the size of the cache: what fills a GPU's memory."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    INNER,
    MARGIN,
    S0,
    SMALL,
    TEXT,
    WIDTH,
    bracket,
    drawing,
    foot,
    note,
    say,
)
from pagesim.figures.page import line
from pagesim.figures.style import HELD, MUTED, PAPER, Box
from pagesim.sizing import ByteRange, ModelSpec, size_v0
from pagesim.sizing.amount import GIB
from pagesim.sizing.hardware import parameters
from pagesim.sizing.model import DTYPE_BYTES
from pagesim.sizing.v0 import kv_cache_memory

MODEL, TOTAL, PEAK, SHARE = "llama-3.1-8b", 24 * GIB, 17 * GIB, 0.9
"""As in the chapter: a card of 24 GiB, and a peak of 17 GiB in the profile run."""
TOP, HIGH = 104.0, 64.0


@drawing("What is left of a GPU's memory is the cache", 322)
def gpu_memory(axes: Axes) -> str:
    """One bar: weights, the rest of the peak, the cache, and the reserve."""
    spec = ModelSpec.preset(MODEL)
    weights = int(parameters(MODEL)[0]) * DTYPE_BYTES[spec.dtype]
    cache = kv_cache_memory(ByteRange(TOTAL, TOTAL), SHARE, ByteRange(PEAK, PEAK)).low
    size_of = size_v0(spec, cache)
    blocks = size_of.num_gpu_blocks[0]
    parts = {
        "weights": (weights, HELD, "", f"{spec.name}, 2 bytes each"),
        "activations": (PEAK - weights, HELD, "////", "the largest step,\nmeasured in a run"),
        "KV cache": (cache, S0, "", ""),
        "reserve": (TOTAL - PEAK - cache, PAPER, "", f"{1 - SHARE:.0%}, which\nvLLM leaves"),
    }
    x = MARGIN
    for name, (count, color, hatch, says) in parts.items():
        wide = INNER * count / TOTAL
        box = Box(x, TOP, wide, HIGH)
        style.rectangle(axes, box, fill=color, hatch=hatch, width=2.6 if name == "KV cache" else 1)
        middle, size = x + wide / 2, f"{count / GIB:.2f} GiB"
        if wide > 80:
            ink = style.ink_on(color)
            for row, text in enumerate(filter(None, (name, size, says))):
                y = TOP + HIGH / 2 + 16 * (row - (1 if says else 0.5))
                say(axes, middle, y, text, bold=not row, color=ink, size=TEXT if row < 2 else SMALL)
        else:
            line(axes, [middle, middle], [TOP + HIGH, TOP + HIGH + 16], color=MUTED)
            at = min(middle, WIDTH - MARGIN - 32)
            say(axes, at, TOP + HIGH + 26, name, bold=True)
            say(axes, at, TOP + HIGH + 42, size)
            note(axes, at, TOP + HIGH + 66, says, ha="center")
        x += wide
    reach, limit = MARGIN + INNER * PEAK / TOTAL, MARGIN + INNER * SHARE
    bracket(axes, MARGIN + 1, reach - 1, TOP - 6, f"peak of the profile run: {PEAK / GIB:.0f} GiB")
    text = f"what vLLM may use: {SHARE:.0%} of {TOTAL / GIB:.0f} GiB"
    bracket(axes, MARGIN + 1, limit - 1, TOP - 34, text)
    slots = blocks * size_of.block_size
    first = (
        f"cache = {TOTAL / GIB:.0f} GiB · {SHARE} - {PEAK / GIB:.0f} GiB = {cache / GIB:.2f} GiB"
    )
    second = f"= {blocks:,} blocks of {size_of.block_bytes // 2**20} MiB = {slots:,} tokens"
    say(axes, MARGIN, 268, first, ha="left", bold=True)
    say(axes, MARGIN + 45, 286, second, ha="left", bold=True)
    foot(
        axes,
        310,
        f"A token takes {size_of.bytes_per_token // 1024} KiB in all {spec.num_layers} layers. "
        "The peak is an example; vLLM measures it.",
    )
    shown = ", ".join(f"{name} {count / GIB:.2f} GiB" for name, (count, *_) in parts.items())
    return (
        f"{spec.name} on a card of {TOTAL / GIB:.0f} GiB: {shown}. The cache is 90 % of the memory "
        f"minus the peak of the profile run: {blocks:,} blocks, {slots:,} tokens."
    )
