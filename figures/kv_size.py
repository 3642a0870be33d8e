"""What one token of a model takes in the KV cache: one bar a model, all its layers together.

The colour and the pattern say how the model keeps it: keys and values for every head, for a few
heads that the others share, or one latent vector for all. Nothing is computed here: the numbers are
the `ModelSpec`'s own.
"""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import chart, style
from figures.style import Box
from pagesim.sizing import ModelSpec

BAR, PITCH, LEGEND = 13.0, 19.0, 24.0
NAME, VALUE, KEPT = 88.0, 56.0, 176.0
KIB = 1024
EACH, SHARED, LATENT = "every head its own", "heads share", "one latent vector"
# A colour and a hatch for each; slanting the other way than the hatch of the CPU pool.
KINDS = {EACH: (1, ""), SHARED: (0, "\\\\\\"), LATENT: (2, "xxx")}


def kv_size(
    models: Iterable[ModelSpec], *, title: str | None = None, notes: Iterable[str] = ()
) -> Figure:
    """Draw the bytes per token of some models, in their own dtype, on one linear scale.

    ``notes`` stand under the picture: where the shapes are from. Raises ValueError when there is no
    model.
    """
    rows = _rows(models)
    with mpl.rc_context(style.RC):
        return _draw(rows, title or "What one token takes in the KV cache", notes)


def kv_size_alt_text(models: Iterable[ModelSpec], notes: Iterable[str] = ()) -> str:
    """The picture in words: each model's KiB per token, and what it keeps in a layer."""
    said = [f"{model.name} {_kib(model)}: {_kept(model)}" for model in _rows(models)]
    bars = f"Bytes per token in all layers, one bar a model. {'. '.join(said)}."
    return " ".join([bars, *notes])


def _rows(models: Iterable[ModelSpec]) -> list[ModelSpec]:
    rows = list(models)
    if not rows:
        raise ValueError("there is no model to draw: give at least one ModelSpec")
    return rows


def _kib(model: ModelSpec) -> str:
    return f"{model.kv_bytes_per_token / KIB:,.1f} KiB".replace(".0 KiB", " KiB")


def _kind(model: ModelSpec) -> str:
    if model.is_mla:
        return LATENT
    return EACH if model.num_kv_heads == model.num_heads else SHARED


def _kept(model: ModelSpec) -> str:
    """What is kept in how many layers; in brackets the query heads that share the heads kept."""
    factors = [f"{model.num_layers} layers"]
    if model.is_mla:
        factors.append(f"{model.latent_dim} numbers")
    else:
        shared = "" if model.num_kv_heads == model.num_heads else f" (for {model.num_heads})"
        factors += [f"{model.num_kv_heads} heads{shared}", "2", f"{model.head_dim} numbers"]
    return f" {style.TIMES} ".join(factors)


def _draw(rows: list[ModelSpec], title: str, notes: Iterable[str]) -> Figure:
    figure, axes, top = chart.page(
        title,
        "KiB in all layers, in the type that the model runs in",
        LEGEND + len(rows) * PITCH,
        notes,
    )
    _legend(axes, top)
    left = chart.MARGIN + NAME
    scale = (chart.ROOM - NAME - VALUE - KEPT) / max(model.kv_bytes_per_token for model in rows)
    for place, model in enumerate(rows):
        y = top + LEGEND + place * PITCH
        middle = y + BAR / 2
        color, hatch = KINDS[_kind(model)]
        width = model.kv_bytes_per_token * scale
        style.write(axes, left - 6, middle, model.name, ha="right")
        style.rectangle(axes, Box(left, y, width, BAR), fill=style.color_of(color), hatch=hatch)
        style.write(axes, left + width + 5, middle, _kib(model), ha="left", bold=True)
        right = chart.MARGIN + chart.ROOM
        style.write(axes, right, middle, _kept(model), ha="right", color=style.MUTED)
    return figure


def _legend(axes: Axes, y: float) -> None:
    x = chart.MARGIN
    for name, (color, hatch) in KINDS.items():
        box = Box(x, y, 22, 11)
        style.rectangle(axes, box, fill=style.color_of(color), hatch=hatch)
        style.write(axes, x + 27, y + 5.5, name, ha="left")
        x += 27 + style.text_width(name) + 22
