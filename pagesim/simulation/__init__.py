"""Runs a workload through a memory policy: `simulate` returns the log and the outcomes.

`policy` has the policies as values, and `unpaged` those without pages; each creates its server.
`limits` are those of a step, and `machine` what a model on GPUs has. `serving` has the loop and the
rules for servers: `paged` and `fast_forward` for V0, `paged_v1` and `fast_forward_v1` for V1,
`paged_v1_groups` and `fast_forward_groups` for V1 with several KV cache groups, `paged_v1_tier` for
V1 with a second tier, and `baseline`, whose memory is in `baselines/`. `groups` says what groups
take of a pool. `waste` says where the slots are, and `waste_groups` where they are in several
groups; `outcomes` says what became of the requests, and `tier_use` what was copied. The clock is
`pagesim.sizing.cost_model`, and `link_clock` says when copies end. `observed` hears what a run
tells of its blocks. `recorded` shows a baseline in the player, `report` makes tables of runs, and
`saved` reads what `pagesim simulate` wrote.
"""

from pagesim.simulation.limits import Limits
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.policy import POLICIES, Policy
from pagesim.simulation.policy_v0 import Paged
from pagesim.simulation.policy_v1 import PagedV1
from pagesim.simulation.serving import PagedServing, Server, serve
from pagesim.simulation.simulate import PAPER_POOL, Simulation, simulate
from pagesim.simulation.unpaged import Contiguous, Static, Token
from pagesim.simulation.waste import CACHED_PARTS, PARTS, Usage, WasteLog
from pagesim.sizing.cost_model import CostModel, Roofline

__all__ = ["POLICIES", "Contiguous", "Paged", "PagedV1", "Policy", "Static", "Token"]
__all__ += ["PAPER_POOL", "CostModel", "Limits", "Roofline", "Simulation", "simulate"]
__all__ += ["CACHED_PARTS", "PARTS", "Outcomes", "Usage", "WasteLog"]
__all__ += ["PagedServing", "Server", "serve"]
