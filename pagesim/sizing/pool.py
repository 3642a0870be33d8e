"""How many tokens fit into the memory left for keys and values."""

from dataclasses import dataclass

from pagesim.checks import check_count, check_int
from pagesim.errors import UsageError
from pagesim.sizing.amount import GIB
from pagesim.sizing.hardware import card, weight_bytes
from pagesim.sizing.model import DTYPE_BYTES, ModelSpec


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory for ``slots`` tokens; ``name`` says which model it belongs to."""

    slots: int
    name: str = ""

    def __post_init__(self) -> None:
        check_count("slots", self.slots, 1)

    @classmethod
    def for_model(cls, model: str | ModelSpec, kv_gib: float, tp: int = 1) -> "Pool":
        """Make the pool of a model that has ``kv_gib`` GiB on each of ``tp`` GPUs.

        The memory is divided by the bytes that one token takes. The GPUs share the KV heads; each
        keeps at least one head, or the latent vector. ``model`` is a preset's name or a spec.
        OPT-13B with 12 GiB and 800 KiB per token has the 15,728 slots of the paper's table 1.
        UsageError if not a single token fits.
        """
        if isinstance(kv_gib, bool) or not isinstance(kv_gib, int | float):
            raise TypeError(f"kv_gib must be a number, not {kv_gib!r}")
        if not 0 < kv_gib < float("inf"):
            raise UsageError(f"kv_gib must be a number above 0, not {kv_gib}")
        spec = ModelSpec.preset(model) if isinstance(model, str) else model
        if spec.num_heads % check_int("tp", tp, 1):
            raise UsageError(f"tp is {tp}, which does not divide the {spec.num_heads} heads")
        shares = 1 if spec.is_mla else min(tp, spec.num_kv_heads)
        slots = int(kv_gib * GIB) * shares // spec.kv_bytes_per_token
        if not slots:
            raise UsageError(
                f"kv_gib is {kv_gib}: a token of {spec.name} alone takes "
                f"{spec.kv_bytes_per_token:,} bytes"
            )
        return cls(slots, f"{spec.name}, {kv_gib:g} GiB" + (f" on each of {tp}" if tp > 1 else ""))

    @classmethod
    def for_card(cls, model: str, gpu: str, tp: int = 1) -> "Pool":
        """Make the pool from the memory that a preset's weights leave on ``tp`` GPUs.

        As in vLLM, 90 % of a GPU's memory may be used. Activations are not counted. UsageError if
        the weights do not fit.
        """
        weights = weight_bytes(model, DTYPE_BYTES[ModelSpec.preset(model).dtype])
        left = 0.9 * card(gpu).memory_bytes - weights / check_int("tp", tp, 1)
        if left <= 0:
            raise UsageError(
                f"the weights of {model} take {weights / 1e9:.0f} GB, more than 90 % of {tp} x "
                f"{gpu}: use more GPUs (tp) or larger ones"
            )
        return cls.for_model(model, left / GIB, tp)
