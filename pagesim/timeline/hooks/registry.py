"""Which methods are replaced while somebody records, by what, and how to put them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from pagesim.timeline.tap import TAPS, Tap
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.pool_allocator import PoolAllocator
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager

ALLOCATORS = (CpuGpuBlockAllocator, PoolAllocator)

_plain: dict[tuple[type, str], Any] = {}
_hooks: dict[tuple[type, str], Callable[[Any], Any]] = {}


def install() -> None:
    """Put the recording methods in the place of the plain ones."""
    for (owner, name), hook in _hooks.items():
        plain = _plain[owner, name] = owner.__dict__[name]
        setattr(owner, name, functools.wraps(plain)(hook(plain)))


def uninstall() -> None:
    """Put the plain methods back."""
    for (owner, name), plain in _plain.items():
        setattr(owner, name, plain)
    _plain.clear()


def hook(owner: type, *names: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register ``hook(plain) -> recording method`` for methods of a class."""

    def register(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name in names:
            _hooks[owner, name] = hook
        return hook

    return register


def hook_again(owner: type, name: str) -> Callable[[Callable[[Any], Any]], None]:
    """Register one more hook around the one that a method has already."""
    inner = _hooks[owner, name]

    def register(hook: Callable[[Any], Any]) -> None:
        _hooks[owner, name] = lambda plain: hook(inner(plain))

    return register


# -- every public call is an event ---------------------------------------------------------------


def event(owner: type, name: str, subject: Callable[..., Any]) -> None:
    """Make the outermost call of a method an event; ``subject(tap, self, *args)`` names it."""
    inner = _hooks.get((owner, name))
    is_manager = owner is SelfAttnBlockSpaceManager
    undo_of = attrgetter("undo" if issubclass(owner, ALLOCATORS) else "_undo")

    def make(plain: Any) -> Any:
        call = inner(plain) if inner else plain

        def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
            tap = TAPS.get(undo_of(self))
            if tap is None or tap.open:
                return call(self, *args, **kwargs)
            if is_manager and self not in tap.managers:
                tap.meet(self)
            given = (*args, *kwargs.values())
            return tap.run(name, lambda: subject(tap, self, *given), call, self, *args, **kwargs)

        def recorded_free(self: Any, block: Any) -> Any:  # the same, once for each block
            tap = TAPS.get(undo_of(self))
            if tap is None or tap.open:
                return call(self, block)
            return tap.run(name, lambda: None, call, self, block)

        if name == "free" and issubclass(owner, ALLOCATORS):
            return recorded_free
        return recorded

    _hooks[owner, name] = make


def nobody(tap: Tap, *_: Any) -> None:
    return None
