"""How long an iteration takes: a clock made of a few numbers that are easy to check.

The machine is ideal, without kernel launches or sampling. An iteration reads the weights once or
does the arithmetic, whichever takes longer; in addition, it reads the cached keys and values and
moves swapped ones over PCIe.
"""

import math
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.hardware import card, parameters, weight_bytes
from pagesim.sizing.model import DTYPE_BYTES, ModelSpec


@runtime_checkable
class CostModel(Protocol):
    """A clock: it says how long a step takes. :class:`Roofline` is the built-in one."""

    def seconds(
        self, prefill_tokens: int, decode_batch: int, kv_tokens: int, swapped_tokens: int = 0
    ) -> float:
        """Return the length of one step in seconds, which must be above 0.

        ``prefill_tokens`` is the number of prompt tokens computed, and ``decode_batch`` the number
        of sequences that get one more token, counting each sample. ``kv_tokens`` is the number of
        cached tokens that all of these read: a chunk of a prompt reads the tokens before it, and a
        decode all tokens up to its new one. ``swapped_tokens`` counts the slots of the blocks that
        are moved in or out.
        """


@dataclass(frozen=True, slots=True)
class Roofline(CostModel):
    """The time to read the weights or to compute, whichever is longer, plus that to read the cache.

    The defaults are OPT-13B in 16 bit on an A100-40GB, as in the paper's experiments:
    13e9 parameters of 2 bytes and 2 floating point operations per token each; 800 KiB of keys and
    values per token (the paper's section 3); 1,555 GB/s and 312 TFLOPS (dense 16-bit tensor cores)
    from NVIDIA's A100-40GB data sheet; PCIe 4.0 x16 at its nominal 32 GB/s. Nothing is fitted:
    real engines are slower, and ``overhead_seconds`` adds the host's time to every iteration.
    The numbers are those of ``num_gpus`` GPUs together, each with a link of its own. UsageError
    unless every number is above 0 (the overhead may be 0).
    """

    weight_bytes: float = 26e9
    flops_per_token: float = 26e9
    kv_bytes_per_token: float = 819_200
    bytes_per_second: float = 1.555e12
    flops_per_second: float = 312e12
    swap_bytes_per_second: float = 32e9
    overhead_seconds: float = 0.0
    num_gpus: float = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (0 < value < math.inf or (value == 0 and field.name == "overhead_seconds")):
                raise UsageError(f"{field.name} must be a number above 0, not {value!r}")

    @classmethod
    def for_model(cls, model: str, gpu: str = "a100-40gb", tp: int = 1) -> "Roofline":
        """Make the clock of a preset on ``tp`` GPUs that share all work and communicate for free.

        For a model with experts, all weights are read, because a large batch needs them. UsageError
        names an unknown model or GPU, and lists the known ones.
        """
        spec, on = ModelSpec.preset(model), card(gpu)
        _, active = parameters(model)
        return cls(
            weight_bytes(model, DTYPE_BYTES[spec.dtype]),
            2 * active,
            spec.kv_bytes_per_token,
            on.bytes_per_second * check_int("tp", tp, 1),
            on.flops_per_second * tp,
            on.swap_bytes_per_second * tp,
            num_gpus=tp,
        )

    def seconds(
        self, prefill_tokens: int, decode_batch: int, kv_tokens: int, swapped_tokens: int = 0
    ) -> float:
        weights = self.weight_bytes / self.bytes_per_second
        compute = (prefill_tokens + decode_batch) * self.flops_per_token / self.flops_per_second
        cache = kv_tokens * self.kv_bytes_per_token / self.bytes_per_second
        swap = swapped_tokens * self.kv_bytes_per_token / self.swap_bytes_per_second
        return max(weights, compute) + cache + swap + self.overhead_seconds
