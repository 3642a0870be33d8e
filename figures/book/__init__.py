"""The pictures that explain, by name: one module for each, or for a few that belong together.

A chapter includes one with ``![](attachment:NAME.svg)``; `python -m tools.course.pictures` does
the rest.
"""

from collections.abc import Callable
from functools import partial

from pagesim.figures.book.address import address
from pagesim.figures.book.batching import batching
from pagesim.figures.book.cuda_stages import cuda_stages
from pagesim.figures.book.decode_step import decode_step
from pagesim.figures.book.five_kinds import five_kinds
from pagesim.figures.book.fork_tree import fork_tree
from pagesim.figures.book.fused import fused
from pagesim.figures.book.gpu_memory import gpu_memory
from pagesim.figures.book.hash_tree import hash_tree
from pagesim.figures.book.merge import merge
from pagesim.figures.book.online_softmax import online_softmax
from pagesim.figures.book.queue_ends import queue_ends
from pagesim.figures.book.raw_buffer import raw_buffer
from pagesim.figures.book.server import HERE, here, server
from pagesim.figures.book.table_walk import table_walk
from pagesim.figures.book.two_pools import two_pools
from pagesim.figures.book.v0_v1 import v0_v1
from pagesim.figures.book.warp_bytes import warp_bytes
from pagesim.figures.book.waves import partitions_in_waves
from pagesim.figures.book.word_loop import word_loop
from pagesim.figures.book.word_path import word_path
from pagesim.figures.style import Picture

BOOK: dict[str, Callable[[], Picture]] = {
    "decode_step": decode_step,
    "server": server,
    "address": address,
    "five_kinds": five_kinds,
    "table_walk": table_walk,
    "online_softmax": online_softmax,
    "warp_bytes": warp_bytes,
    "cuda_stages": cuda_stages,
    "batching": batching,
    "two_pools": two_pools,
    "hash_tree": hash_tree,
    "merge": merge,
    "gpu_memory": gpu_memory,
    "raw_buffer": raw_buffer,
    "fork_tree": fork_tree,
    "word_loop": word_loop,
    "word_path": word_path,
    "v0_v1": v0_v1,
    "waves": partitions_in_waves,
    "fused": fused,
    "queue_ends": queue_ends,
} | {f"here_{part.replace(' ', '_')}": partial(here, part=part) for part in HERE}
"""The pictures, and at the end a map for each part of the server ("you are here")."""
