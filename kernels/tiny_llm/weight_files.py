"""Files of weights, by the package safetensors, which is imported when one is read or written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from pagesim.kernels.runtime.mode import INSTALL
from pagesim.kernels.tiny_llm.config_json import CheckpointError, plain_file, quoted

DTYPES = ("F32", "F16", "BF16")


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file, open; CheckpointError for whatever is wrong with it."""
    package = _package()
    try:
        # Read, not mapped: if a mapped file is cut off meanwhile, the process is killed.
        with plain_file(path), package.safe_open(path, "pt", backend="pread") as file:
            yield file
    except package.SafetensorError as problem:
        raise CheckpointError(f"{path}: {problem}") from problem


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The tensors of a file: those of a dtype that cannot be read are a CheckpointError."""
    shapes = {}
    with opened(path) as file:
        for name in file.offset_keys():
            tensor = file.get_slice(name)
            if tensor.get_dtype() not in DTYPES:
                raise CheckpointError(
                    f"{path}: the tensor {quoted(name)} has dtype {tensor.get_dtype()!r}: "
                    f"only {', '.join(DTYPES)} can be read"
                )
            shapes[name] = tuple(tensor.get_shape())
    return shapes


def write(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write contiguous tensors."""
    _package().torch.save_file(dict(tensors), path, metadata={"format": "pt"})


def _package() -> ModuleType:
    try:
        import safetensors.torch
    except ImportError as error:
        raise ImportError(f"weights need the package safetensors ({error}): {INSTALL}") from error
    return safetensors
