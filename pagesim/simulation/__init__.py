"""A workload through a memory policy: `simulate` makes the log and the outcomes.

`policy` has the policies as values; each makes its engine. `engine` says what an engine must keep
to; `paged`, `fast_forward` and `baseline` are three of them, `baselines/` holds the memory before
paging. `waste` says where the slots are, `outcomes` what became of the requests, and `cost_model`
is the clock.
"""

from pagesim.simulation.cost_model import CostModel, Roofline
from pagesim.simulation.engine import Engine
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.policy import POLICIES, Contiguous, Limits, Paged, Policy, Static, Token
from pagesim.simulation.simulate import PAPER_POOL, Simulation, simulate
from pagesim.simulation.waste import PARTS, Usage, WasteLog

__all__ = [
    "PAPER_POOL",
    "PARTS",
    "POLICIES",
    "Contiguous",
    "CostModel",
    "Engine",
    "Limits",
    "Outcomes",
    "Paged",
    "Policy",
    "Roofline",
    "Simulation",
    "Static",
    "Token",
    "Usage",
    "WasteLog",
    "simulate",
]
