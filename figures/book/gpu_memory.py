"""Chapter on the size of the cache: what fills a GPU's memory."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, S0, S1, bracket, drawing, note, say
from pagesim.figures.page import line
from pagesim.figures.style import HELD, MUTED, PAPER, Box
from pagesim.sizing import ByteRange, ModelSpec, size_v0
from pagesim.sizing.amount import GIB
from pagesim.sizing.hardware import parameters
from pagesim.sizing.model import DTYPE_BYTES
from pagesim.sizing.v0 import kv_cache_memory

MODEL, TOTAL, PEAK, SHARE = "llama-3.1-8b", 24 * GIB, 17 * GIB, 0.9
"""As in the chapter: a card of 24 GiB, and a peak of 17 GiB in the profile run."""


@drawing("What is left of a GPU's memory is the cache", 292)
def gpu_memory(axes: Axes) -> str:
    """One bar: weights, the rest of the peak, the cache, and the reserve."""
    spec = ModelSpec.preset(MODEL)
    weights = int(parameters(MODEL)[0]) * DTYPE_BYTES[spec.dtype]
    cache = kv_cache_memory(ByteRange(TOTAL, TOTAL), SHARE, ByteRange(PEAK, PEAK)).low
    size = size_v0(spec, cache)
    blocks = size.num_gpu_blocks[0]
    slots = blocks * size.block_size
    parts = {
        "weights": (weights, HELD, "", f"{spec.name},\n2 bytes each"),
        "activations": (PEAK - weights, S1, "////", "the largest step,\nmeasured in a run"),
        "KV cache": (cache, S0, "", f"{blocks:,} blocks\nof {size.block_bytes // 2**20} MiB"),
        "reserve": (TOTAL - PEAK - cache, PAPER, "", f"{1 - SHARE:.0%}, which\nvLLM leaves"),
    }
    _bar(axes, parts)
    say(
        axes,
        MARGIN,
        256,
        f"cache = {TOTAL / GIB:.0f} GiB · {SHARE} - {PEAK / GIB:.0f} GiB = "
        f"{cache / GIB:.2f} GiB = {blocks:,} blocks = {slots:,} tokens",
        ha="left",
        bold=True,
    )
    note(
        axes,
        MARGIN,
        276,
        f"A token takes {size.bytes_per_token // 1024} KiB in all {spec.num_layers} layers. The "
        f"peak is measured when the server starts; {PEAK / GIB:.0f} GiB is an example.",
    )
    shown = ", ".join(f"{name} {count / GIB:.2f} GiB" for name, (count, *_) in parts.items())
    return (
        f"{spec.name} on a card of {TOTAL / GIB:.0f} GiB: {shown}. The cache is 90 % of the memory "
        f"minus the peak of the profile run: {blocks:,} blocks, {slots:,} tokens."
    )


def _bar(axes: Axes, parts: dict[str, tuple[int, str, str, str]]) -> None:
    """The parts side by side, with what they are below, and above how far the limits reach."""
    x = MARGIN
    for name, (count, color, hatch, says) in parts.items():
        wide = 624 * count / TOTAL
        box = Box(x, 100, wide, 46)
        style.rectangle(axes, box, fill=color, hatch=hatch, width=2.4 if name == "KV cache" else 1)
        middle = x + wide / 2
        line(axes, [middle, middle], [148, 166], color=MUTED)
        say(axes, middle, 174, name, bold=True)
        note(axes, middle, 190, f"{count / GIB:.2f} GiB", ha="center")
        note(axes, middle, 212, says, ha="center", size=9)
        x += wide
    reach, limit = MARGIN + 624 * PEAK / TOTAL, MARGIN + 624 * SHARE
    may = f"{SHARE:.0%} of {TOTAL / GIB:.0f} GiB: what vLLM may use"
    bracket(axes, MARGIN + 1, reach - 1, 94, f"peak of the profile run: {PEAK / GIB:.0f} GiB")
    bracket(axes, MARGIN + 1, limit - 1, 68, may)
