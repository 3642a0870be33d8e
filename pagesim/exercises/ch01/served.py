"""Serving requests by their lengths, for the exercises of chapter 1."""

from collections.abc import Iterable
from typing import Any

from pagesim.simulation import Policy, Simulation, simulate
from pagesim.simulation.baselines.buddy import power_of_two_from as power_of_two_from
from pagesim.workload import Request


def served(
    policy: str | Policy, requests: Iterable[tuple[int, int]], pool: int, longest: int, **more: Any
) -> Simulation:
    """Requests of these prompts and outputs, in tokens, all of which wait from the beginning."""
    waiting = [Request(f"s{i}", 0.0, *lengths) for i, lengths in enumerate(requests)]
    more |= {"max_model_len": longest, "progress": False}
    return simulate(waiting, policy=policy, pool=pool, **more)
