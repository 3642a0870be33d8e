"""What paging is compared with: three ways to reserve contiguous memory, static batching, and
token attention. All speak the same few words, those of :class:`MemoryPolicy`.
"""

from pagesim.baselines.buddy import BuddyAllocator, FirstFitAllocator
from pagesim.baselines.contiguous import ContiguousPolicy
from pagesim.baselines.policy import MemoryPolicy
from pagesim.baselines.static import StaticPolicy
from pagesim.baselines.token import TokenPolicy

__all__ = [
    "BuddyAllocator",
    "ContiguousPolicy",
    "FirstFitAllocator",
    "MemoryPolicy",
    "StaticPolicy",
    "TokenPolicy",
]
