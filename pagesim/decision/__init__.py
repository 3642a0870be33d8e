"""One decision of a scheduler: who is admitted, who waits, who makes room, and why.

`what_if` builds a real scheduler in a state that is described in words, and lets it decide one
step. `next_step` does the same with a copy of a scheduler that already exists. Nothing here knows
a rule of vLLM's: the numbers are those that the scheduler's own block manager counted, and the
answer is what the scheduler did.

Which file answers which question::

    requests    How is a request described?
    build       How does a scheduler get into the described state?
    watch       Which numbers does the block manager compare, and what does it say?
    decision    What became of each request, in words?
    ask         The two calls.
"""

from pagesim.decision.ask import next_step, what_if
from pagesim.decision.decision import Decision, Victim
from pagesim.decision.watch import Check

__all__ = ["Check", "Decision", "Victim", "next_step", "what_if"]
