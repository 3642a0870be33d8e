"""The tensors behind the blocks of a run: what a reader needs to find the bytes of a word."""

from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject, finite
from pagesim.journal.effects import Name, is_name, show
from pagesim.sizing.model import DTYPE_BYTES, ModelSpec
from pagesim.timeline.questions import check_text

FLASH, CUDA = LAYOUTS = ("flash", "cuda")
"""Tensors [block][slot][head][dim], and those of vLLM 0.6.4's CUDA kernels (`kernels.layouts`)."""
PIECE = 16
"""The bytes of a key that lie together in the CUDA layout."""
MAX_ELEMENTS = 2**40
"""The most numbers that a slot may have in all layers: more is a mistake."""
MAX_VALUES = 65_536
"""The most numbers of keys and values in one file: about 400 kB of text."""

Vectors = tuple[tuple[float, ...], ...]
"""K and V of layer 0, K and V of layer 1, …: the heads of each, one after another."""


@dataclass(frozen=True, slots=True)
class KVShape:
    """The numbers of a model that one GPU keeps for a token: the key ``model`` of a header.

    ``layers`` share one block table. A number takes ``bytes`` bytes. ``layout`` is the order of the
    numbers in the tensors of K and V: one of LAYOUTS. ``values`` has the keys and values of some
    words, by (table, position). UsageError or TypeError says what is wrong.
    """

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    bytes: int = 2
    layout: str = FLASH
    values: dict[tuple[Name, int], Vectors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text("the name of a model", self.name)
        sizes = (self.layers, self.kv_heads, self.head_dim, self.bytes)
        for key, size in zip(("layers", "kv_heads", "head_dim", "bytes"), sizes, strict=True):
            check_int(f"a model's {key}", size, 1)
        if prod(sizes) > MAX_ELEMENTS:
            raise UsageError(f"a model of {sizes} has more bytes in a slot than any machine")
        if self.layout not in LAYOUTS:
            raise UsageError(f"a model's layout is {' or '.join(LAYOUTS)}, not {show(self.layout)}")
        if self.layout == CUDA and self.head_dim * self.bytes % PIECE:
            raise UsageError(
                f"head_dim {self.head_dim} of {self.bytes} bytes: the layout {CUDA!r} cuts a key "
                f"into pieces of {PIECE} bytes"
            )
        if len(self.values) * prod(sizes[:3]) * 2 > MAX_VALUES:
            raise UsageError(f"a model's values are more than {MAX_VALUES} numbers")
        for place, vectors in self.values.items():
            lengths = [len(vector) for vector in vectors]
            if lengths != 2 * self.layers * [self.kv_heads * self.head_dim]:
                raise UsageError(f"the values of {show(place)} are not K and V of each layer")

    @classmethod
    def of(cls, model: Any, tp: int = 1) -> "KVShape":
        """The shape of a `ModelSpec`, or of a model known by name, on one of ``tp`` GPUs.

        UsageError for a model that keeps anything else than keys and values in all layers.
        """
        if isinstance(model, cls):
            return model
        spec = ModelSpec.preset(model) if isinstance(model, str) else model
        if not isinstance(spec, ModelSpec):
            raise TypeError(f"model must be a name, a ModelSpec or a KVShape, not {show(model)}")
        if spec.is_mla or spec.num_attention_layers < spec.num_layers:
            raise UsageError(f"{spec.name} does not keep keys and values in all of its layers")
        heads = max(spec.num_kv_heads // check_int("tp", tp, 1), 1)
        size = DTYPE_BYTES[spec.dtype]
        return cls(spec.name, spec.num_layers, heads, spec.head_dim, size)

    def as_dict(self) -> JsonObject:
        """What the header has."""
        values = [[*place, [*map(list, vectors)]] for place, vectors in self.values.items()]
        words = asdict(self) | {"values": values}
        return {key: value for key, value in words.items() if value}


def kv_shape_from(given: Json) -> KVShape | None:
    """The model of a header. TypeError, ValueError or KeyError if it is invalid."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise TypeError(f"model must be an object, not {show(given)}")
    keys = ("name", "layers", "kv_heads", "head_dim", "bytes", "layout")
    values = given.get("values", [])
    if not isinstance(values, list) or len(values) > MAX_VALUES:
        raise TypeError(f"a model's values must be a list of words, not {show(values)}")
    fields: JsonObject = {key: given.get(key) for key in keys}
    return KVShape(**fields | {"values": dict(map(_word, values))})


def _word(given: Any) -> tuple[tuple[Name, int], Vectors]:
    """One of the words whose vectors a header has."""
    name, position, vectors = given
    if not is_name(name):
        raise TypeError(f"a model's values must name tables, not {show(name)}")
    numbers = tuple(tuple(map(_number, vector)) for vector in vectors)
    return (name, check_int("the position of a value", position, 0)), numbers


def _number(value: Json) -> float:
    if (number := finite(value)) is None:
        raise TypeError(f"a model's values must be numbers, not {show(value)}")
    return number
