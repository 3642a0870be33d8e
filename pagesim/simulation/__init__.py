"""A workload through a memory policy: `simulate` makes the engine, the log and the outcomes.

`engine` says what an engine must keep to; `paged`, `fast_forward` and `baseline` are three of them,
`baselines/` holds the memory before paging. `waste` says where the slots are, `outcomes` what
became of the requests, and `cost_model` is the clock.
"""

from pagesim.simulation.cost_model import CostModel, Roofline
from pagesim.simulation.engine import Engine
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.simulate import PAPER_POOL, POLICIES, Simulation, simulate
from pagesim.simulation.waste import PARTS, Usage, WasteLog

__all__ = [
    "PAPER_POOL",
    "PARTS",
    "POLICIES",
    "CostModel",
    "Engine",
    "Outcomes",
    "Roofline",
    "Simulation",
    "Usage",
    "WasteLog",
    "simulate",
]
