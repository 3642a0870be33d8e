"""What one token of a model takes in the KV cache: one bar per model, for all its layers.

The colour and the pattern say what the model keeps: keys and values for every head, for a few heads
that the others share, or one latent vector for all.
"""

from collections.abc import Iterable
from os import PathLike, fspath

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot, is_path
from pagesim.figures.style import Box, Picture
from pagesim.sizing import ModelSpec

BAR, PITCH, LEGEND = 13.0, 19.0, 24.0
NAME, VALUE, KEPT = 88.0, 56.0, 176.0
KIB = 1024
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
    path of a Hugging Face config.json. Bars are in KiB per token over all layers, in the model's
    own dtype, on one linear scale. TypeError for anything else, UsageError if there is no model.
    """
    if is_path(models) or isinstance(models, ModelSpec):
        models = [models]
    elif not isinstance(models, Iterable):
        raise cannot("kv_size", models, MODELS)
    rows = [_model(model) for model in models]
    if not rows:
        raise UsageError(f"there is no model to draw: give {MODELS}")
    texts = [f"{model.name} {_kib(model)}: {_kept(model)}" for model in rows]
    bars = f"Bytes per token in all layers, one bar a model. {'. '.join(texts)}."
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


def _draw(rows: list[ModelSpec], title: str, notes: Iterable[str]) -> Picture:
    subtitle = "KiB in all layers, in the type that the model runs in"
    figure, sheet, top = page.sheet(title, subtitle, LEGEND + len(rows) * PITCH, notes)
    _legend(sheet, top)
    left = page.MARGIN + NAME
    scale = (page.ROOM - NAME - VALUE - KEPT) / max(model.kv_bytes_per_token for model in rows)
    for place, model in enumerate(rows):
        y = top + LEGEND + place * PITCH
        middle = y + BAR / 2
        color, hatch = KINDS[_kind(model)]
        width = model.kv_bytes_per_token * scale
        sheet.write(left - 6, middle, model.name, ha="right")
        sheet.rectangle(Box(left, y, width, BAR), fill=style.color_of(color), hatch=hatch)
        sheet.write(left + width + 5, middle, _kib(model), ha="left", bold=True)
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
