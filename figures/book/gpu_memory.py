"""Chapter on the size of the cache: what fills a GPU's memory."""

from pagesim.figures import style
from pagesim.figures.book.kit import INNER, MARGIN, S0, SMALL, TEXT, WIDTH, Sheet, drawing
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
def gpu_memory(sheet: Sheet) -> str:
    """One bar: weights, the rest of the peak, the cache, and the reserve."""
    spec = ModelSpec.preset(MODEL)
    weights = int(parameters(MODEL)[0]) * DTYPE_BYTES[spec.dtype]
    cache = kv_cache_memory(ByteRange(TOTAL, TOTAL), SHARE, ByteRange(PEAK, PEAK)).low
    size = size_v0(spec, cache)
    blocks = size.num_gpu_blocks[0]
    tokens = blocks * size.block_size
    parts = {
        "weights": (weights, HELD, "", f"{spec.name}, 2 bytes each"),
        "activations": (PEAK - weights, HELD, "////", "the largest step,\nmeasured in a run"),
        "KV cache": (cache, S0, "", ""),
        "reserve": (TOTAL - PEAK - cache, PAPER, "", f"{1 - SHARE:.0%}, which\nvLLM leaves"),
    }
    _bar(sheet, parts)
    _limits(sheet)
    total, peak = f"{TOTAL / GIB:.0f} GiB", f"{PEAK / GIB:.0f} GiB"
    first = f"cache = {total} · {SHARE} - {peak} = {cache / GIB:.2f} GiB"
    second = f"= {blocks:,} blocks of {size.block_bytes // 2**20} MiB = {tokens:,} tokens"
    sheet.say(MARGIN, 268, first, ha="left", bold=True)
    sheet.say(MARGIN + 45, 286, second, ha="left", bold=True)
    sheet.foot(
        310,
        f"A token takes {size.bytes_per_token // 1024} KiB in all {spec.num_layers} layers. "
        "The peak is an example; vLLM measures it.",
    )
    shown = ", ".join(f"{name} {count / GIB:.2f} GiB" for name, (count, *_) in parts.items())
    return (
        f"{spec.name} on a card of {total}: {shown}. The cache is 90 % of the memory "
        f"minus the peak of the profile run: {blocks:,} blocks, {tokens:,} tokens."
    )


def _bar(sheet: Sheet, parts: dict[str, tuple[int, str, str, str]]) -> None:
    """The parts side by side, with their names and sizes inside, or below where they are narrow."""
    x = MARGIN
    for name, (count, color, hatch, says) in parts.items():
        wide, size = INNER * count / TOTAL, f"{count / GIB:.2f} GiB"
        box = Box(x, TOP, wide, HIGH)
        sheet.rectangle(box, fill=color, hatch=hatch, width=2.6 if name == "KV cache" else 1)
        if wide > 80:
            _inside(sheet, box, [text for text in (name, size, says) if text], style.ink_on(color))
        else:
            _below(sheet, x + wide / 2, name, size, says)
        x += wide


def _inside(sheet: Sheet, box: Box, rows: list[str], ink: str) -> None:
    """Lines in the middle of a box: its name, its size, and what is said of it."""
    x, middle = box.center
    for row, text in enumerate(rows):
        y = middle + 16 * (row - (len(rows) - 1) / 2)
        sheet.say(x, y, text, bold=not row, color=ink, size=TEXT if row < 2 else SMALL)


def _below(sheet: Sheet, x: float, name: str, size: str, says: str) -> None:
    """A line down from the part's middle, and its name there, within the sheet."""
    sheet.line([x, x], [TOP + HIGH, TOP + HIGH + 16], color=MUTED)
    at = min(x, WIDTH - MARGIN - 32)
    sheet.say(at, TOP + HIGH + 26, name, bold=True)
    sheet.say(at, TOP + HIGH + 42, size)
    sheet.note(at, TOP + HIGH + 66, says, ha="center")


def _limits(sheet: Sheet) -> None:
    """How far the peak reaches, and how far vLLM may go."""
    reach, limit = MARGIN + INNER * PEAK / TOTAL, MARGIN + INNER * SHARE
    sheet.bracket(MARGIN + 1, reach - 1, TOP - 6, f"peak of the profile run: {PEAK / GIB:.0f} GiB")
    text = f"what vLLM may use: {SHARE:.0%} of {TOTAL / GIB:.0f} GiB"
    sheet.bracket(MARGIN + 1, limit - 1, TOP - 34, text)
