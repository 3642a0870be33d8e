"""What serves: a model on GPUs, as the pool, the clock and the limits of a step that follow."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pagesim.errors import UsageError
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.limits import GPU, Limits
from pagesim.simulation.policy import POLICIES, Policy
from pagesim.simulation.policy_v1 import PagedV1
from pagesim.simulation.simulate import PAPER_POOL
from pagesim.sizing.cost_model import Roofline
from pagesim.sizing.pool import Pool

OF_MODEL = "model"
"""Given as groups: those of the model's layers."""

NAMES = ("model", "gpu", "tp", "kv_gib")
"""What describes a machine on the command line and in the cell of a sweep."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A model on ``tp`` ideal GPUs, and the slots that it has for keys and values."""

    pool: Pool
    model: str
    gpu: str
    tp: int = 1

    @classmethod
    def of(
        cls,
        model: str | None = None,
        gpu: str | None = None,
        tp: int | None = None,
        kv_gib: float | None = None,
        pool: Pool | None = None,
    ) -> "Machine":
        """The paper's where nothing is given: OPT-13B on an A100-40GB with 15,728 slots.

        The pool is ``pool``, ``kv_gib`` GiB on each GPU, or what the weights leave. UsageError or
        TypeError names what is unknown, does not fit, or is given twice.
        """
        if pool is not None and kv_gib is not None:
            raise UsageError("give one of pool and kv_gib: both set the size of the pool")
        named = model is not None or gpu is not None or tp is not None
        model = "opt-13b" if model is None else model
        gpu, tp = GPU if gpu is None else gpu, 1 if tp is None else tp
        if pool is None:
            pool = PAPER_POOL
            if kv_gib is not None:
                pool = Pool.for_model(model, kv_gib, tp)
            elif named:
                pool = Pool.for_card(model, gpu, tp)
        return cls(pool, model, gpu, tp)

    def keywords(
        self, policy: Policy | MemoryPolicy | str, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """``options`` of `simulate` with the pool, the clock, and for V1 the limits of a step.

        Those are of its API server on this GPU: see `Limits.of_server`.
        """
        clock = Roofline.for_model(self.model, self.gpu, self.tp)
        means = {"pool": self.pool, "cost_model": clock} | dict(options)
        if policy == "v1" and means.get("groups") == OF_MODEL:
            means |= self._groups(options)
        if policy == "v1":
            limits = {one.name: options[one.name] for one in fields(Limits) if one.name in options}
            chunked = options.get("enable_chunked_prefill", POLICIES["v1"].enable_chunked_prefill)
            means |= asdict(Limits.of_server(self.gpu, chunked=bool(chunked), **limits))
        return means

    def _groups(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of V1's policy that a model's layers decide."""
        size = options.get("block_size")
        made = PagedV1.for_model(self.model, **({} if size is None else {"block_size": size}))
        return {name: getattr(made, name) for name in ("groups", "group_layers", "sliding_window")}

    def __str__(self) -> str:
        name = f" ({self.pool.name})" if self.pool.name else ""
        return (
            f"{self.pool.slots:,} slots{name}; times of {self.model} on {self.tp} ideal {self.gpu}"
        )
