"""How many tokens fit into the memory that is left for keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.checks import check_count
from pagesim.errors import UsageError
from pagesim.sizing.amount import GIB
from pagesim.sizing.model import ModelSpec


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory for ``slots`` tokens, and a word on what it belongs to."""

    slots: int
    name: str = ""

    def __post_init__(self) -> None:
        check_count("slots", self.slots, 1)

    @classmethod
    def for_model(cls, model: str | ModelSpec, kv_gib: float) -> Pool:
        """``kv_gib`` GiB, divided by what one token of the model takes.

        ``model`` is a preset's name or a spec. OPT-13B with 12 GiB, 800 KiB a token, has the 15,728
        slots of the paper's table 1. UsageError if not a single token fits.
        """
        if isinstance(kv_gib, bool) or not isinstance(kv_gib, int | float):
            raise TypeError(f"kv_gib must be a number, not {kv_gib!r}")
        if not 0 < kv_gib < float("inf"):
            raise UsageError(f"kv_gib must be a number above 0, not {kv_gib}")
        spec = ModelSpec.preset(model) if isinstance(model, str) else model
        slots = int(kv_gib * GIB) // spec.kv_bytes_per_token
        if not slots:
            raise UsageError(
                f"kv_gib is {kv_gib}: a token of {spec.name} alone takes "
                f"{spec.kv_bytes_per_token:,} bytes"
            )
        return cls(slots, f"{spec.name}, {kv_gib:g} GiB")
