"""What a step may do, and what the engines take by default.

Source of the defaults: vLLM 0.6.4.post1, ``SchedulerConfig`` in ``vllm/config.py``; vLLM 0.33.0,
``EngineArgs.get_batch_defaults`` and ``_set_default_max_num_seqs_and_batched_tokens_args`` in
``vllm/engine/arg_utils.py``, in the usage context of the API server.
"""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from pagesim.checks import check_int
from pagesim.sizing.amount import GIB
from pagesim.sizing.hardware import card

T = TypeVar("T")
GPU = "a100-40gb"
"""The GPU of the paper, where none is named."""

CHUNK = 512
"""V0's tokens per step where prompts are computed in chunks."""


def option(default: T, help: str, *flags: str, **metadata: int | str | tuple[str, ...]) -> T:
    """A field that is also a command-line option; ``flags`` are its other names there.

    ``derived`` says in words what its default is where the value does not.
    """
    return field(default=default, metadata={"help": help, "flags": flags} | metadata)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a step may compute, and how long a sequence may become, under any policy.

    The default of ``max_num_batched_tokens`` depends on the policy: it is `budget` in general,
    `CHUNK` for V0 with chunked prefill, and the value of :meth:`of_server` on an A100 for V1.
    TypeError or UsageError names the field and the value.
    """

    max_model_len: int = option(2048, "Maximum tokens per sequence.", "--max-len")
    max_num_seqs: int = option(
        256,
        "Maximum sequences in a batch.",
        derived="256; 1024 for v1 on a GPU with at least 70 GiB, except the A100",
    )
    max_num_batched_tokens: int | None = option(
        None,
        "Maximum tokens per step.",
        derived="2048 or --max-model-len, whichever is larger. paged with chunked prefill: 512. "
        "v1: 2048; 8192 on a GPU with at least 70 GiB, except the A100; 16384 on a GPU with at "
        "least 160 GiB",
    )

    def __post_init__(self) -> None:
        check_int("max_model_len", self.max_model_len, 1)
        check_int("max_num_seqs", self.max_num_seqs, 1)
        check_int("max_num_batched_tokens", self.budget, 1)

    @property
    def budget(self) -> int:
        """The maximum tokens per step, given or by default, if a step computes whole prompts."""
        if self.max_num_batched_tokens is None:
            return max(2048, self.max_model_len)
        return self.max_num_batched_tokens

    @classmethod
    def of_server(
        cls,
        gpu: str = GPU,
        *,
        chunked: bool = True,
        max_model_len: int = 2048,
        max_num_seqs: int | None = None,
        max_num_batched_tokens: int | None = None,
    ) -> "Limits":
        """Return the limits of V1's API server on a GPU; numbers that are given replace its own.

        A large budget made the A100 slower, so vLLM gives it the budget of small GPUs. UsageError
        for an unknown GPU.
        """
        memory, tokens, seqs = card(gpu).memory_bytes, 2_048, 256
        if memory >= 160 * GIB:
            tokens, seqs = 16_384, 1_024
        elif memory >= 70 * GIB and "a100" not in gpu.lower():
            tokens, seqs = 8_192, 1_024
        most = seqs if max_num_seqs is None else max_num_seqs
        checked = cls(max_model_len, most, max_num_batched_tokens)
        if max_num_batched_tokens is None:
            tokens = tokens if chunked else max(tokens, max_model_len)
            checked = replace(checked, max_num_batched_tokens=min(tokens, most * max_model_len))
        if max_num_seqs is None:
            checked = replace(checked, max_num_seqs=min(seqs, checked.budget))
        return checked
