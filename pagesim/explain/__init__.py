"""From trouble to its cause: what in a recorded run or a log cost tokens, steps or room, and why.

``finding`` is what one answer looks like, whatever it was found in.

A run is read once: ``reading`` writes its ``history``, request by request and step by step, while
``tracking`` follows its pages, and ``contents`` what was cached when. ``waiting`` says which rule
kept the first that waits from being admitted. Then pure functions of the history look for trouble,
by subject: ``starving``, ``preempting``, ``holding``, ``prefix``, ``copies``, ``groups`` and
``tier``. ``report`` puts their findings in order, ``request`` tells the story of one request, and
``page`` shows either above the player. ``words`` are those that all of them use.

A log has no blocks, so it is read by others: ``log`` and the files whose names begin with it.
"""

from pagesim.explain.finding import COSTS, Finding

__all__ = ["COSTS", "Finding"]
