"""What paging is compared with: contiguous memory, static batching and token attention.

All of them implement :class:`MemoryPolicy`.
"""

from pagesim.simulation.baselines.buddy import BuddyAllocator
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.baselines.static import StaticPolicy
from pagesim.simulation.baselines.token import TokenPolicy

__all__ = ["BuddyAllocator", "ContiguousPolicy", "MemoryPolicy", "StaticPolicy", "TokenPolicy"]
