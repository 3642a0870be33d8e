"""Block layer and scheduler as they are while somebody records: their methods say what they do.

Nothing of this is in any code path otherwise: the first recorder puts these in the place of the
plain methods, and the last one puts the plain ones back.
"""

from pagesim.timeline.hooks import calls, pools, scheduler, tables
from pagesim.timeline.hooks.registry import install, uninstall

__all__ = ["calls", "install", "pools", "scheduler", "tables", "uninstall"]
