"""Engines: what runs a workload, iteration by iteration, and tells where the slots are.

An engine is any object with one method, :meth:`Engine.run`. What it must keep to:

* It serves first come, first served, and writes what becomes of ``requests[i]`` into row ``i`` of
  the :class:`Outcomes`: ``schedule`` with the time at which an iteration begins, ``answer`` and
  ``finish`` with the time at which it ends, ``preempt``, ``ignore``.
* The clock starts at 0. An iteration lasts ``cost_model.seconds(…)``; with nothing to run, the
  clock jumps to the next arrival.
* It adds one row to the :class:`WasteLog` for every iteration, with the time at its end, and one
  with batch 0 for every jump. The slots are counted as they are while the iteration runs: prompts
  that it prefills are tokens, and so is the token that each decoding request writes. (A request of
  ``p`` prompt and ``o`` output tokens runs ``o`` iterations and ends with ``p + o - 1`` tokens
  cached: the last one is sampled, and never stored.)
* Free slots are external while the head of the queue waits because it does not fit, and free
  otherwise; a head that waits for a seat in the batch (``max_num_seqs``) makes nothing external.
* A request whose prompt and output together are longer than ``max_model_len`` is ignored, whatever
  the policy; so is one that this policy could never hold, even alone. A request that is neither
  finished nor ignored at the end is stuck: swapped out for good. No baseline has such requests.
* The batch is the number of requests that are running, and hold memory, while the iteration lasts;
  one that only waits for others to be prefilled counts, one that is swapped out does not.
* Slots that belong to no block (a pool that is no multiple of the block size) are external.
* It calls ``progress(n)`` with the number of requests that are done (finished or ignored) whenever
  that has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pagesim.simulation.cost_model import CostModel
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.waste import WasteLog
from pagesim.workload.request import Request

Told = Callable[[int], None]
"""Called with how many requests are done, finished or ignored."""


def untold(done: int) -> None:
    """For runs without a watcher."""


class Engine(Protocol):
    """Runs a workload. Built for one run, with its memory and its limits."""

    def run(
        self,
        requests: Sequence[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Told = untold,
    ) -> None:
        """Serve ``requests`` (in order of arrival) to the end, and write down what happens."""
