"""Chapter on the size of the cache: one buffer of bytes, its shapes and its names."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    INNER,
    LOOK,
    MARGIN,
    S0,
    S1,
    S2,
    S3,
    arrow,
    drawing,
    foot,
    node,
    note,
    panel,
    say,
)
from pagesim.figures.style import HELD, Box
from pagesim.sizing import ModelSpec, size_v1

BLOCKS, MARKED = 8, 3


@drawing("The same bytes: without a shape, with two shapes, and with names", 400)
def raw_buffer(axes: Axes) -> str:
    """A buffer as bytes, as [2, blocks, …], as [blocks, 2, …]; and the tensors of a model."""
    cell = INNER / (2 * BLOCKS)
    firsts = [f"{'kv'[i // BLOCKS]}{i % BLOCKS}" for i in range(2 * BLOCKS)]
    pairs = [f"{'kv'[i % 2]}{i // 2}" for i in range(2 * BLOCKS)]
    rows = {
        "bytes, as they were allocated": [""] * (2 * BLOCKS),
        f"[2, {BLOCKS} blocks, …]: all keys, then all values": firsts,
        f"[{BLOCKS} blocks, 2, …]: a block's keys beside its values": pairs,
    }
    for row, (title, cells) in enumerate(rows.items()):
        y = 60 + 58 * row
        say(axes, MARGIN, y - 11, title, ha="left", bold=True)
        for place, name in enumerate(cells):
            mine = name.endswith(str(MARKED))
            fill = HELD if not name else LOOK if mine else S0 if name[0] == "k" else S1
            box = Box(MARGIN + cell * place, y, cell, 26)
            style.rectangle(axes, box, fill=fill, width=0.7)
            if name:
                say(axes, *box.center, name, color=style.ink_on(fill), bold=mine)
        style.rectangle(axes, Box(MARGIN, y, INNER, 26), fill=None, width=1.6)
    foot(
        axes,
        218,
        f"Block {MARKED}, yellow: two pieces far apart, or one. The kernel must know which, the "
        "allocator need not.",
    )
    spec = ModelSpec("a model", 6, 4, 4, 64, sliding_window=64, sliding_layers=(1, 2, 4, 5))
    config = size_v1(spec, 2**24).high
    panel(
        axes,
        Box(MARGIN, 248, INNER, 140),
        f"{spec.num_layers} layers, {len(spec.sliding_layers)} with a sliding window: "
        f"{len(config.kv_cache_tensors)} buffers",
    )
    colors = {
        name: (S0, S2, S3)[number]
        for number, group in enumerate(config.kv_cache_groups)
        for name in group.layer_names
    }
    for row, tensor in enumerate(config.kv_cache_tensors):
        y = 274 + 44 * row
        node(
            axes,
            Box(MARGIN + 9, y, 92, 36),
            f"buffer {row}",
            f"{tensor.size / 2**20:.0f} MiB",
            fill=HELD,
        )
        for place, name in enumerate(tensor.shared_by):
            x = MARGIN + 129 + 128 * place
            kind = (
                "sliding window"
                if int(name.split(".")[-1]) in spec.sliding_layers
                else "all tokens"
            )
            node(axes, Box(x, y, 122, 36), name, kind, fill=colors[name])
        arrow(axes, (MARGIN + 102, y + 18), (MARGIN + 127, y + 18))
    text = "A row is one buffer. Each of its blocks belongs to one layer at a time."
    note(axes, MARGIN + 9, 375, text)
    names = "; ".join(", ".join(tensor.shared_by) for tensor in config.kv_cache_tensors)
    return (
        f"A buffer of bytes; the same bytes with all keys before all values, so that the keys of "
        f"block {MARKED} are far from its values; and block by block, so that they are side by "
        f"side. Below, the buffers of a model with layers of two kinds, each known under three "
        f"names: {names}."
    )
