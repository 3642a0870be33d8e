"""The Triton kernels of the course, their NumPy references, and the checks in front of them.

Importing this package chooses compiled or interpreted (`kernels.backend`) **before** triton can be
imported by anyone else, because triton cannot change its mind afterwards. The import works without
torch and without triton. Without triton the kernels answer through `kernels.reference`; without
torch, asking for one raises an ImportError that names the missing extra.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

from kernels import decision

# Where each exported name lives. Modules load on first use: they need torch, this package does not.
_HOMES = {
    "assert_matches_reference": "kernels.compare",
    "paged_attention_v1": "kernels.attention_v1",
    "reshape_and_cache": "kernels.cache_write",
}
_MODULES = ("backend", "reference")

__all__ = [
    "assert_matches_reference",
    "backend",
    "paged_attention_v1",
    "reference",
    "reshape_and_cache",
]

# A triton imported the wrong way is reported when a kernel is asked for, not here: the references
# need no triton and must stay within reach.
with contextlib.suppress(RuntimeError):
    decision.decide()


def __getattr__(name: str) -> Any:
    """Load an exported name on first use; see `_HOMES`."""
    if name in _MODULES:
        return import_module(f"kernels.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'kernels' has no attribute {name!r}; it has {__all__}")
    decision.require_torch(name)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
