"""The course's pictures: one module a figure, drawn from a `Snapshot` of the simulator.

from figures.block_layout import block_layout
figures.show(block_layout(manager), alt=figures.alt_text(manager))
"""

from __future__ import annotations

from figures.describe import alt_text
from figures.display import save, show
from figures.snapshot import BlockView, Snapshot, read_snapshot

__all__ = ["BlockView", "Snapshot", "alt_text", "read_snapshot", "save", "show"]
