"""A published trace that is part of this package: lengths, arrivals and hashes, no text."""

from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files

from pagesim.workload.files import load
from pagesim.workload.request import Workload

SOURCE = (
    "the first 1,000 requests of conversation_trace.jsonl in github.com/kvcache-ai/Mooncake, "
    "FAST25-release/traces (Apache-2.0)"
)


@cache
def mooncake_conversation() -> Workload:
    """Return recorded long conversations, with the hashes of their 512-token blocks.

    `mooncake_like` draws only lengths. These prompts begin alike where the real ones did, which
    prefix caching needs.
    """
    name = "mooncake_conversation"
    file = files("pagesim.workload").joinpath("data", f"{name}-first1000.csv.gz")
    with as_file(file) as path:
        return replace(load(path), name=name, source=SOURCE)
