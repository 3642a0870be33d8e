"""From trouble to its cause: what in a recorded run or a log cost tokens, steps or room, and why.

``finding`` is what one answer looks like, whatever it was found in.

A run is read once: ``reading`` writes its ``history``, request by request and step by step, while
``tracking`` follows its pages, and ``contents`` what was cached when. ``waiting`` says which rule
kept the first that waits from being admitted. Then pure functions of the history look for trouble,
by subject: ``starving``, ``preempting``, ``holding``, ``prefix``, ``copies``, ``groups`` and
``tier``. ``report`` puts their findings in order, ``request`` tells the story of one request, and
``page`` shows either above the player. ``words`` are those that all of them use.

A log has no blocks, so it is read by others: ``log`` finds the same in a log of vLLM, with
``log_reading`` (a stream of lines), ``log_stats`` and ``log_engine`` (the line of every few
seconds, and what these lines add up to), ``log_events``, and ``log_story`` (all that is kept).
``log_start``, ``log_stuck``, ``log_preempted``, ``log_waiting`` and ``log_cache`` are the findings,
and ``log_meaning`` says what the figures mean.
"""

from pagesim.explain.finding import COSTS, Finding

__all__ = ["COSTS", "Finding"]
