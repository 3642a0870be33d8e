"""Runs a workload through a memory policy: `simulate` returns the log and the outcomes.

`policy` has the policies as values, and `unpaged` those without pages; each creates its server.
`limits` are those of a step, and `machine` what a model on GPUs has. `serving` has the loop and the
rules for servers: `paged` and `fast_forward` for V0, `paged_v1` and `fast_forward_v1` for V1, and
`baseline`, whose memory is in `baselines/`. `waste` says where the slots are, `outcomes` what
became of the requests, and `cost_model` is the clock.
"""

from pagesim.simulation.cost_model import CostModel, Roofline
from pagesim.simulation.limits import Limits
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.policy import POLICIES, Paged, PagedV1, Policy
from pagesim.simulation.serving import PagedServing, Server, serve
from pagesim.simulation.simulate import PAPER_POOL, Simulation, simulate
from pagesim.simulation.unpaged import Contiguous, Static, Token
from pagesim.simulation.waste import CACHED_PARTS, PARTS, Usage, WasteLog

__all__ = ["POLICIES", "Contiguous", "Paged", "PagedV1", "Policy", "Static", "Token"]
__all__ += ["PAPER_POOL", "CostModel", "Limits", "Roofline", "Simulation", "simulate"]
__all__ += ["CACHED_PARTS", "PARTS", "Outcomes", "Usage", "WasteLog"]
__all__ += ["PagedServing", "Server", "serve"]
