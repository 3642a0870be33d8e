"""The pictures that explain, by name: a module for each, which has a function of that name.

A chapter includes one with ``![](attachment:NAME.svg)``; `python -m tools.course.pictures` does
the rest.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from pagesim.figures.book.server import HERE, here
from pagesim.figures.style import Picture

NAMES = (
    *("decode_step", "server", "address", "five_kinds", "table_walk", "online_softmax"),
    *("warp_bytes", "cuda_stages", "batching", "two_pools", "hash_tree", "merge", "gpu_memory"),
    *("raw_buffer", "fork_tree", "word_loop", "word_path", "v0_v1", "waves", "fused", "queue_ends"),
    *("layer_kinds", "shrinking_hit", "state_block", "copy_or_move", "arc_lists", "not_now"),
)
BOOK: dict[str, Callable[[], Picture]] = {
    name: getattr(import_module(f"pagesim.figures.book.{name}"), name) for name in NAMES
} | {f"here_{part.replace(' ', '_')}": partial(here, part=part) for part in HERE}
"""The pictures, and at the end a map for each part of the server ("you are here")."""
