"""Compile what a launcher would launch, for a GPU that is not here.

Triton needs no GPU to compile for one: its wheel includes the assemblers. Only its driver asks for
a device. `compiled` replaces the driver, lets the real launchers run on CPU tensors, and turns each
launch into a compilation. So what is compiled is what would run: its constants, its warps and
stages, and what the launcher's tensors say about alignment.

This needs a process of its own, with PAGESIM_COMPILE_ONLY=1 set before `kernels` is imported:
it cannot launch kernels (`python -m pagesim.kernels.gate` starts one).
"""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from pagesim.kernels.attention import configs
from pagesim.kernels.runtime import mode

if TYPE_CHECKING:
    from torch import Tensor
    from triton.backends.compiler import GPUTarget


_CHIPS: list[str] = []
"""Each pretends to be the device of its number: triton keeps what it has compiled by device."""
Launch = tuple[str, Any, dict[str, Any]]
"""A kernel's name, what became of it, and its constants."""


def compiled(name: str, target: "GPUTarget", call: "Callable[[], Tensor | None]") -> list[Launch]:
    """Run `call`; (kernel name, compiled kernel, its constants) for each launch in it.

    name: as `kernels.attention.configs` spells the chip; target: triton's GPUTarget. What `call`
    returns is garbage: nothing was computed. Raises what the compiler raises; RuntimeError in a
    process that does not only compile.
    """
    if mode.decide().mode != "compiled" or mode.decide().device == "cuda":
        raise RuntimeError(
            f"this process can also run kernels ({mode.decide().reason}): start Python with "
            f"{mode.COMPILE_ONLY}=1, or use python -m pagesim.kernels.gate"
        )
    if name not in _CHIPS:
        _CHIPS.append(name)
    import_module("triton").runtime.driver.set_active(_driver(name, target))
    found: list[Launch] = []
    jit: Any = import_module("triton.runtime.jit").JITFunction
    run = jit.run

    def build(self: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        kernel = run(self, *arguments, grid=grid, warmup=True, **keywords)
        found.append((self.fn.__name__, kernel, keywords))
        return kernel

    # Launchers accept CPU tensors, and choose the configuration of the chip `name`. What they ask
    # is looked up in its module at each call, so replacing it there is enough.
    here = mode.Backend("compiled", f"compiling for {name}", "cpu")
    with (
        patch.object(jit, "run", build),
        patch.object(mode, "decide", lambda: here),
        patch.object(configs, "target", lambda device: name),
    ):
        call()
    return found


def _driver(name: str, target: "GPUTarget") -> SimpleNamespace:
    """All that triton asks of a driver before it compiles."""
    return SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: _CHIPS.index(name),
        get_current_stream=lambda device: 0,
        get_active_torch_device=lambda: torch.device("cpu"),
    )
