"""What paging is compared with: contiguous memory, static batching and token attention.

All of them implement :class:`MemoryPolicy`.
"""

from pagesim.simulation.baselines.buddy import BuddyAllocator, FirstFitAllocator
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.baselines.static import StaticPolicy
from pagesim.simulation.baselines.token import TokenPolicy

__all__ = ["BuddyAllocator", "FirstFitAllocator"]
__all__ += ["ContiguousPolicy", "MemoryPolicy", "StaticPolicy", "TokenPolicy"]
