"""Request streams: generated from a seed, drawn from fitted summaries, published, or from files."""

from pagesim.workload.files import load, stream
from pagesim.workload.fitted import azure_conv_like, mooncake_like, sharegpt_like
from pagesim.workload.request import ChatTurn, Request, Workload
from pagesim.workload.rows import WorkloadError
from pagesim.workload.synthetic import gamma, lognormal, paper_alpaca, paper_sharegpt
from pagesim.workload.traces import mooncake_conversation

__all__ = ["ChatTurn", "Request", "Workload", "WorkloadError", "load", "stream"]
__all__ += ["azure_conv_like", "gamma", "lognormal", "mooncake_conversation", "mooncake_like"]
__all__ += ["paper_alpaca", "paper_sharegpt", "sharegpt_like"]
