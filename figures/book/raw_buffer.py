"""Chapter on the size of the cache: one buffer of bytes, its shapes and its names."""

from pagesim.figures.book.kit import INNER, LOOK, MARGIN, S0, S1, S2, S3, Sheet, drawing
from pagesim.figures.style import HELD, Box
from pagesim.sizing import ModelSpec, size_v1
from pagesim.sizing.kv_cache_config import KVCacheConfig

BLOCKS, MARKED = 8, 3
SPEC = ModelSpec("a model", 6, 4, 4, 64, sliding_window=64, sliding_layers=(1, 2, 4, 5))


@drawing("The same bytes: without a shape, with two shapes, and with names", 400)
def raw_buffer(sheet: Sheet) -> str:
    """A buffer as bytes, as [2, blocks, …], as [blocks, 2, …]; and the tensors of a model."""
    firsts = [f"{'kv'[i // BLOCKS]}{i % BLOCKS}" for i in range(2 * BLOCKS)]
    pairs = [f"{'kv'[i % 2]}{i // 2}" for i in range(2 * BLOCKS)]
    _shaped(sheet, 60, "bytes, as they were allocated", [""] * (2 * BLOCKS))
    _shaped(sheet, 118, f"[2, {BLOCKS} blocks, …]: all keys, then all values", firsts)
    _shaped(sheet, 176, f"[{BLOCKS} blocks, 2, …]: a block's keys beside its values", pairs)
    sheet.foot(
        218,
        f"Block {MARKED}, yellow: two pieces far apart, or one. The kernel must know which, the "
        "allocator need not.",
    )
    config = size_v1(SPEC, 2**24).high
    _named(sheet, config)
    names = "; ".join(", ".join(tensor.shared_by) for tensor in config.kv_cache_tensors)
    return (
        f"A buffer of bytes; the same bytes with all keys before all values, so that the keys of "
        f"block {MARKED} are far from its values; and block by block, so that they are side by "
        f"side. Below, the buffers of a model with layers of two kinds, each known under three "
        f"names: {names}."
    )


def _shaped(sheet: Sheet, y: float, title: str, cells: list[str]) -> None:
    """The bytes in one shape: what each piece is called, if it has a name."""
    wide = INNER / len(cells)
    sheet.say(MARGIN, y - 11, title, ha="left", bold=True)
    for place, name in enumerate(cells):
        mine = name.endswith(str(MARKED))
        fill = HELD if not name else LOOK if mine else S0 if name[0] == "k" else S1
        sheet.node(Box(MARGIN + wide * place, y, wide, 26), name, fill=fill, width=0.7, bold=mine)
    sheet.rectangle(Box(MARGIN, y, INNER, 26), fill=None, width=1.6)


def _named(sheet: Sheet, config: KVCacheConfig) -> None:
    """The buffers of the model, each with the layers that share it."""
    title = (
        f"{SPEC.num_layers} layers, {len(SPEC.sliding_layers)} with a sliding window: "
        f"{len(config.kv_cache_tensors)} buffers"
    )
    sheet.panel(Box(MARGIN, 248, INNER, 140), title)
    colors = {
        name: color
        for color, group in zip((S0, S2, S3), config.kv_cache_groups, strict=True)
        for name in group.layer_names
    }
    for row, tensor in enumerate(config.kv_cache_tensors):
        y, size = 274 + 44 * row, f"{tensor.size / 2**20:.0f} MiB"
        sheet.node(Box(MARGIN + 9, y, 92, 36), f"buffer {row}", size, fill=HELD)
        for place, name in enumerate(tensor.shared_by):
            sliding = int(name.split(".")[-1]) in SPEC.sliding_layers
            kind = "sliding window" if sliding else "all tokens"
            sheet.node(Box(MARGIN + 129 + 128 * place, y, 122, 36), name, kind, fill=colors[name])
        sheet.arrow((MARGIN + 102, y + 18), (MARGIN + 127, y + 18))
    text = "A row is one buffer. Each of its blocks belongs to one layer at a time."
    sheet.note(MARGIN + 9, 375, text)
