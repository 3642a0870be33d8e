"""Checks of single arguments: type, shape, dtype, strides, device.

ValueError (TypeError for a wrong Python type) names the argument, the value and the way out.
"""

import math
import numbers
from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import NDArray

from pagesim.kernels.runtime import mode

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
FP8 = torch.float8_e4m3fn


def check_tensor(
    name: str, tensor: torch.Tensor, shape: str, dtypes: Sequence[torch.dtype]
) -> None:
    """Check one tensor: `shape` is its shape in words, as "[B, Hq, D]"."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor {shape}, got {describe(tensor)}")
    if tensor.dim() != shape.count(",") + 1:
        raise ValueError(f"{name} must have shape {shape}, got {list(tensor.shape)}")
    if tensor.dtype not in dtypes:
        expected = " or ".join(short(dtype) for dtype in dtypes)
        raise ValueError(f"{name} has dtype {short(tensor.dtype)}, expected {expected}")
    if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError(
            f"{name} is not contiguous along its last axis (its strides are "
            f"{list(tensor.stride())}): pass {name}.contiguous()"
        )


def check_devices(**tensors: torch.Tensor) -> None:
    """Check that all are on one device, which this process's kernels can reach."""
    (first, reference), *others = tensors.items()
    for name, tensor in others:
        if tensor.device != reference.device:
            raise ValueError(f"{name} is on {tensor.device}, {first} is on {reference.device}")
    backend = mode.decide()
    if backend.mode == "compiled" and reference.device.type != mode.device():
        raise ValueError(
            f"{first} is on {reference.device}, but kernels are compiled for {backend.device} "
            f"({backend.reason}): put tensors on kernels.backend.device()"
        )
    if backend.mode == "interpreted" and reference.device.type not in ("cpu", "cuda"):
        raise ValueError(
            f"{first} is on {reference.device}, where Triton's interpreter cannot read: "
            "put tensors on kernels.backend.device()"
        )


def check_same_dtype(**tensors: torch.Tensor) -> None:
    """Check that all have the first one's dtype."""
    (first, reference), *others = tensors.items()
    for name, tensor in others:
        if tensor.dtype != reference.dtype:
            raise ValueError(
                f"{name} has dtype {short(tensor.dtype)}, {first} has {short(reference.dtype)}: "
                "convert one with .to(dtype)"
            )


def check_places(**written: torch.Tensor) -> None:
    """Check that every element of what is written has a place of its own in memory."""
    for name, tensor in written.items():
        end = 0  # of what the axes inside this one span, in elements
        axes = zip(tensor.stride(), tensor.shape, strict=True)
        for stride, size in sorted(axis for axis in axes if axis[1] > 1):
            if stride <= end:
                raise ValueError(
                    f"several elements of {name} share one place in memory (its strides are "
                    f"{list(tensor.stride())}): pass {name}.contiguous()"
                )
            end += (size - 1) * stride
    for (one, a), (other, b) in combinations(written.items(), 2):
        if np.shares_memory(_addresses(a), _addresses(b)):
            raise ValueError(f"{one} and {other} share memory: one would overwrite the other")


def _addresses(tensor: torch.Tensor) -> NDArray[np.void]:
    """An array at the tensor's addresses, on whatever device: for comparison, never to be read."""
    size = tensor.element_size()
    memory = {"version": 3, "data": (tensor.data_ptr(), True), "typestr": f"|V{size}"}
    axes = {"shape": tuple(tensor.shape), "strides": tuple(size * step for step in tensor.stride())}
    return np.asarray(SimpleNamespace(__array_interface__={**memory, **axes}))


def finite(name: str, value: float) -> float:
    """A finite number as a float; a bool is refused."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {describe(value)}")
    if not math.isfinite(value):
        raise ValueError(f"{name} = {value}: give a finite number")
    return float(value)


def describe(value: object) -> str:
    """A value for a message: its repr and its type."""
    return f"{value!r} ({type(value).__name__})"[:80]


def short(dtype: torch.dtype) -> str:
    """A dtype's name without its package."""
    return str(dtype).removeprefix("torch.")
