"""From trouble to its cause: what in a recorded run cost tokens, steps or room, and why.

``finding`` is what one answer looks like, whatever it was found in. ``log`` finds the same in a log
of vLLM, with ``log_reading`` (a stream of lines), ``log_stats`` and ``log_engine`` (the line of
every few seconds, and what these lines add up to), ``log_events``, and ``log_story`` (all that is
kept); ``log_start``, ``log_stuck``, ``log_preempted``, ``log_waiting`` and ``log_cache`` are the
findings, and ``log_meaning`` says what the figures mean.
"""

from pagesim.explain.finding import COSTS, Finding

__all__ = ["COSTS", "Finding"]
