"""Pause Python's cyclic garbage collector for a run.

A step creates a thousand short-lived objects and no reference cycles. The collector scans them
repeatedly and finds nothing, which took about a third of the time of a stepped run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch cyclic collection off, if it was on; reference counting continues."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
