"""From trouble to its cause: what in a recorded run cost tokens, steps or room, and why.

``finding`` is what one answer looks like, whatever it was found in.
"""

from pagesim.explain.finding import COSTS, Finding

__all__ = ["COSTS", "Finding"]
