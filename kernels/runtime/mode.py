"""Compiled or interpreted? Decided once, before triton is imported.

Triton reads `TRITON_INTERPRET` when its own library is imported and again when `@triton.jit`
decorates a kernel. A process is therefore one or the other for its whole life: the first import of
triton decides. This module makes the decision before that:

    a CUDA or HIP device           -> compiled       (unless the user set TRITON_INTERPRET=1)
    no device                      -> interpreted    (TRITON_INTERPRET=1 is set here)
    no triton, or an unsuited one  -> reference      (NumPy answers, and says so once)

Kernel files take triton from here: `triton, tl = mode.load_triton()`. Other code uses
`kernels.backend`.
"""

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, NoReturn, cast

from pagesim.kernels.runtime import interpreter

Mode = Literal["compiled", "interpreted", "reference"]

INSTALL = 'pip install "pagesim[kernels]"'
# Set by tools that compile kernels for a GPU which is not here; nothing can be launched then.
COMPILE_ONLY = "PAGESIM_COMPILE_ONLY"
_YES = ("1", "true", "yes", "on", "y")  # what triton itself reads as yes


class CannotRunError(RuntimeError):
    """A kernel cannot run in this process; the message says why, and the way out."""


@dataclass(frozen=True, slots=True)
class Backend:
    """How kernels run in this process.

    mode: "compiled" (GPU code), "interpreted" (triton's interpreter, on the CPU) or "reference"
    (NumPy). reason: one sentence saying why. device: where tensors should live, as torch spells it
    ("cuda", "cpu"); None where nothing can run (torch missing, or compiling only).
    """

    mode: Mode
    reason: str
    device: str | None


@functools.cache
def decide() -> Backend:
    """Decide how kernels run, and import triton accordingly; later calls give the same answer.

    Raises RuntimeError when triton was already imported the other way.
    """
    try:
        torch = import_module("torch")
    except (ImportError, OSError) as error:
        return Backend("reference", f"torch cannot be imported ({error}): {INSTALL}", None)
    wanted = _wanted(torch)
    _refuse_the_other_way(wanted)
    before = os.environ.get("TRITON_INTERPRET")
    if wanted.mode == "interpreted":
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        triton = import_module("triton")
        import_module("triton.language")
    except (ImportError, OSError) as error:
        if before is None:
            os.environ.pop("TRITON_INTERPRET", None)
        return Backend("reference", f"triton cannot be imported ({error})", "cpu")
    if wanted.mode == "interpreted":
        if problem := _cannot_interpret(triton):
            return Backend("reference", problem, "cpu")
        interpreter.patch_once()
    return wanted


def device() -> str:
    """Return the torch device for the kernels' tensors, as a string.

    Raises ImportError without torch, RuntimeError when this process only compiles.
    """
    require_torch("pagesim.kernels.backend.device")
    where = decide().device
    if where is None:
        raise RuntimeError(f"no kernel can run here: {decide().reason}")
    return where


def require_torch(what: str) -> None:
    """Raise ImportError, naming the extra to install, if `what` is used without torch."""
    try:
        import_module("torch")
    except (ImportError, OSError) as error:
        raise ImportError(f"{what} needs torch ({error}): {INSTALL}") from error


def has_torch() -> bool:
    """Whether torch can be imported here."""
    decide()
    return "torch" in sys.modules


def load_triton() -> tuple[Any, Any]:
    """Return `(triton, triton.language)`, imported the decided way.

    Without triton both are stand-ins, so that a kernel can still be written down, its file
    imported, and its launcher answer through the reference. Launching one raises CannotRunError.
    """
    if decide().mode == "reference":
        return SimpleNamespace(jit=_Written), SimpleNamespace(constexpr=lambda value: value)
    # Triton 3.9 warns unless this is chosen, because 3.10 changes the default: fused, as before.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    return import_module("triton"), import_module("triton.language")


class _Written:
    """A kernel where there is no triton: written down, never run."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.fn = function
        functools.update_wrapper(cast(Any, self), function)

    def __getitem__(self, grid: object) -> NoReturn:
        name, why = self.fn.__name__, decide().reason
        raise CannotRunError(f"{name} needs triton: {why}; use Linux and {INSTALL}")


@functools.cache
def announce_reference() -> None:
    """Say on stderr, once a process, that NumPy answers in place of the kernels."""
    print(f"kernels: the NumPy reference answers, {decide().reason}", file=sys.stderr)


def _wanted(torch: ModuleType) -> Backend:
    """The decision by the machine and the user's wishes alone, before triton is considered."""
    asked = os.environ.get("TRITON_INTERPRET", "").lower() in _YES
    if os.environ.get(COMPILE_ONLY, "").lower() in _YES:
        return Backend("compiled", f"{COMPILE_ONLY} is set: kernels are compiled, never run", None)
    if not torch.cuda.is_available():
        return Backend("interpreted", "torch sees no CUDA or HIP device", "cpu")
    name = torch.cuda.get_device_name()
    if asked:
        return Backend("interpreted", f"TRITON_INTERPRET is set, although there is a {name}", "cpu")
    return Backend("compiled", f"torch sees a {name}", "cuda")


def _refuse_the_other_way(wanted: Backend) -> None:
    """Raise RuntimeError if triton is already in this process, in the mode that is not wanted."""
    if sys.modules.get("triton") is None:
        return
    # Triton's own library went through @triton.jit when it was imported: its type tells the mode.
    kind = type(import_module("triton.language.standard").sum).__name__
    found = "interpreted" if kind == "InterpretedFunction" else "compiled"
    if found != wanted.mode:
        raise RuntimeError(
            f"triton was imported for {found} kernels before `kernels` could choose, but this "
            f"process needs {wanted.mode} ones ({wanted.reason}). Triton cannot switch: restart "
            "Python (in Jupyter: restart the kernel) and import kernels before triton."
        )


def _cannot_interpret(triton: ModuleType) -> str | None:
    """Why this triton cannot interpret our kernels, or None.

    Triton before 3.7 turns a loaded loop bound (an array of shape [1]) into an int in a way that
    NumPy 2.4 no longer allows; compiled kernels do not care.
    """
    numpy = import_module("numpy")
    if _version(triton) < (3, 7) and _version(numpy) >= (2, 4):
        return (
            f"triton {triton.__version__} cannot interpret loops with NumPy {numpy.__version__}: "
            "install triton>=3.7 or numpy<2.4"
        )
    return None


def _version(module: ModuleType) -> tuple[int, int]:
    major, minor = module.__version__.split(".")[:2]
    return int(major), int(minor)
