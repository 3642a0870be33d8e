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
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from pagesim.kernels.attention import configs
from pagesim.kernels.runtime import mode

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget


class _Driver:
    """All that triton asks of a driver before it compiles; one pretended device a target."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._target: GPUTarget | None = None

    def use(self, name: str, target: "GPUTarget") -> None:
        if name not in self._names:
            self._names.append(name)
        self._name, self._target = name, target

    def get_current_target(self) -> "GPUTarget | None":
        return self._target

    def get_current_device(self) -> int:
        # Triton keeps what it has compiled by device: two targets must not share one.
        return self._names.index(self._name)

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


_DRIVER = _Driver()
Launch = tuple[str, Any, dict[str, Any]]
"""A kernel's name, what became of it, and its constants."""


def compiled(name: str, target: "GPUTarget", call: Callable[[], object]) -> list[Launch]:
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
    _DRIVER.use(name, target)
    import_module("triton").runtime.driver.set_active(_DRIVER)
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
