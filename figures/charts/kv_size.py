"""What one token of a model takes in the KV cache: one mark per model, for all its layers.

The colour and the pattern say what the model keeps: keys and values for every head, for a few heads
that the others share, or one latent vector for all.
"""

import math
from collections.abc import Iterable, Sequence
from os import PathLike, fspath

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot, is_path
from pagesim.figures.style import Box, Picture
from pagesim.sizing import ModelSpec

MARK, PITCH, LEGEND, AXIS = 13.0, 19.0, 24.0, 17.0
NAME, VALUE, KEPT = 98.0, 64.0, 209.0
KIB, FACTOR = 1024, 4
MODELS = "ModelSpecs, names of presets, or paths of config.json files"
EACH, SHARED, LATENT = "every head its own", "heads share", "one latent vector"
# A colour and a hatch for each; slanting the other way than the hatch of the CPU pool.
KINDS = {EACH: (1, ""), SHARED: (0, "\\\\\\"), LATENT: (2, "xxx")}

Model = ModelSpec | str | PathLike[str]


@style.picture
def kv_size(
    models: Model | Iterable[Model], *, title: str | None = None, notes: Iterable[str] = ()
) -> tuple[Picture, str]:
    """Draw how many bytes one token takes in the cache, to see what a model's shape costs.

    ``models`` is one model or several: a ModelSpec, the name of a preset ("llama-3.1-8b"), or the
    path of a Hugging Face config.json. Marks are in KiB per token over all layers, in the
    model's own dtype, the smallest first. The scale is logarithmic: models differ by a factor of
    hundreds. TypeError for anything else, UsageError if there is no model.
    """
    if is_path(models) or isinstance(models, ModelSpec):
        models = [models]
    elif not isinstance(models, Iterable):
        raise cannot("kv_size", models, MODELS)
    rows = sorted(map(_model, models), key=lambda model: model.kv_bytes_per_token)
    if not rows:
        raise UsageError(f"there is no model to draw: give {MODELS}")
    texts = [f"{model.name} {_kib(model)}: {_kept(model)}" for model in rows]
    bars = f"Bytes per token in all layers, one mark a model. {'. '.join(texts)}."
    figure = _draw(rows, title or "What one token takes in the KV cache", notes)
    return figure, " ".join([bars, *notes])


def _model(model: Model) -> ModelSpec:
    if isinstance(model, ModelSpec):
        return model
    if not is_path(model):
        raise cannot("kv_size", model, MODELS)
    name = fspath(model)
    return ModelSpec.from_config(name) if name.endswith(".json") else ModelSpec.preset(name)


def _kib(model: ModelSpec) -> str:
    return f"{model.kv_bytes_per_token / KIB:,.1f} KiB".replace(".0 KiB", " KiB")


def _kind(model: ModelSpec) -> str:
    if model.is_mla:
        return LATENT
    return EACH if model.num_kv_heads == model.num_heads else SHARED


def _kept(model: ModelSpec) -> str:
    """What is kept per layer; in brackets the number of query heads that share the KV heads."""
    factors = [f"{model.num_attention_layers} layers"]
    if model.is_mla:
        factors.append(f"{model.latent_dim} numbers")
    else:
        shared = "" if model.num_kv_heads == model.num_heads else f" (for {model.num_heads})"
        factors += [f"{model.num_kv_heads} heads{shared}", "2", f"{model.head_dim} numbers"]
    return f" {style.TIMES} ".join(factors)


def scale_of(sizes: Sequence[int]) -> Scale:
    """A logarithmic scale on which there is room for all of some sizes in bytes, in KiB."""
    low, high = min(sizes) / KIB, max(sizes) / KIB
    low = FACTOR ** math.floor(math.log(low, FACTOR))
    left = page.MARGIN + NAME
    right = page.MARGIN + page.ROOM - VALUE - KEPT
    return Scale(low, max(high, low * FACTOR), left, right, log=True)


def _draw(rows: list[ModelSpec], title: str, notes: Iterable[str]) -> Picture:
    subtitle = (
        "KiB in all layers, in the type that the model runs in; each line is "
        f"{FACTOR} times the one before"
    )
    body = LEGEND + AXIS + len(rows) * PITCH
    figure, sheet, top = page.sheet(title, subtitle, body, notes)
    _legend(sheet, top)
    across = scale_of([model.kv_bytes_per_token for model in rows])
    tick, y = across.low, top + LEGEND
    while tick <= across.high:
        ends = y + AXIS - 6, top + body
        sheet.line([across(tick)] * 2, ends, color=page.GRID, behind=True)
        sheet.write(across(tick), y + 4, f"{tick:,g}", color=style.MUTED)
        tick *= FACTOR
    for place, model in enumerate(rows):
        y = top + LEGEND + AXIS + place * PITCH
        middle = y + MARK / 2
        color, hatch = KINDS[_kind(model)]
        x = across(model.kv_bytes_per_token / KIB)
        sheet.write(across.start - 12, middle, model.name, ha="right")
        box = Box(x - MARK / 2, y, MARK, MARK)
        sheet.rectangle(box, fill=style.color_of(color), hatch=hatch)
        sheet.write(across.end + VALUE, middle, _kib(model), ha="right", bold=True)
        right = page.MARGIN + page.ROOM
        sheet.write(right, middle, _kept(model), ha="right", color=style.MUTED)
    return figure


def _legend(sheet: Sheet, y: float) -> None:
    x = page.MARGIN
    for name, (color, hatch) in KINDS.items():
        box = Box(x, y, 22, 11)
        sheet.rectangle(box, fill=style.color_of(color), hatch=hatch)
        sheet.write(x + 27, y + 5.5, name, ha="left")
        x += 27 + style.text_width(name) + 22
