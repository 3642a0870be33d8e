"""# 14.3 Sectors ★★

GPU memory delivers **sectors** of 32 bytes. In the first load of keys, a warp of vLLM's kernel
reads 16 bytes of each of its tokens. The lanes of a thread group (exercise 14.1) share these 16
bytes. Keys are float16, so x is 8. Write `sectors(head_size, block_size)`. The function returns a
tuple of three things:

1. the number of sectors that this load touches if a block of keys is `[piece, slot, x]`. This is
   the kernel's layout, in which `piece` counts the pieces of x elements of a head;
2. the number of sectors if a block is `[slot, head_size]`, the natural order;
3. a layout of your own that needs **more** sectors than either, as an order of the axes, with the
   innermost axis last. For example, `("slot", "piece", "x")` is the natural order.

A block begins at the beginning of a sector. With `from pagesim.kernels import simt`,
`simt.thread_map(simt.Config(head_size, block_size))["footprints"]` shows which bytes of every
sector are used. Count first, and look afterwards.

## Hints
1. With 16 slots in a block, how many tokens does a warp read at once? How many bytes does it read
   of each?
2. In the kernel's layout, everything that the load reads is contiguous, so add up the bytes and
   divide by 32. In the natural layout, no two tokens share a sector.
3. Let `tokens` be 32 divided by the number of lanes in a group. The kernel's layout needs
   `16 * tokens // 32` sectors, and the natural one needs a sector for each token. For your own
   layout, choose as the innermost axis one along which the load does not run.

## Wrong answers
* lines (blocks of 16): Memory is delivered in lines of 128 bytes.
* a_sector_for_each_lane (blocks of 16): If keys are far apart, 32 lanes touch 32 sectors.
* natural_is_worst (blocks of 16): No layout is worse than the natural one.
* always_sixteen_tokens (blocks of 8): A warp always reads 16 tokens at once.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, K_vec and k_ptr
* csrc/attention/dtype_float16.cuh: Vec, the widths of a load
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from pagesim.exercises.kit import Case, Cases, Goal, Random, UsageError

Answer = tuple[int, int, Sequence[str]]
AXES = ("piece", "slot", "x")


def sectors(head_size: int, block_size: int) -> tuple[int, int, tuple[str, str, str]]:
    """32-byte sectors of a warp's first load of keys, float16, and a layout that needs more.

    The first number is for the kernel's layout [piece, slot, x], the second for [slot, head_size].
    The layout is an order of the axes "piece", "slot" and "x", the closest together last.
    """
    ### BEGIN SOLUTION
    lanes_of_a_token = max(32 // block_size, 1)
    bytes_of_a_lane = 16 // lanes_of_a_token
    tokens = 32 // lanes_of_a_token
    ### always_sixteen_tokens: tokens = 16
    bytes_of_a_token = lanes_of_a_token * bytes_of_a_lane
    side_by_side = tokens * bytes_of_a_token // 32
    ### lines: side_by_side = tokens * bytes_of_a_token // 128
    apart = tokens * ((bytes_of_a_token + 31) // 32)
    ### a_sector_for_each_lane: apart = 32 * ((bytes_of_a_token + 31) // 32)
    return side_by_side, apart, ("x", "slot", "piece")
    ### natural_is_worst: return side_by_side, apart, ("slot", "piece", "x")
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Blocks of 16, 8 and 32; more head sizes when hidden."""
    for head_size in (64, 256, 96) if hidden else (128,):
        for block_size in (16, 8, 32):
            tag = f"blocks of {block_size}"
            yield Case((head_size, block_size), f"head size {head_size}, {tag}, float16", tag)


def oracle(head_size: int, block_size: int) -> Goal:
    """The sectors that the emulated kernel counts, and any layout that needs more."""
    true = truth(head_size, block_size)
    asked = f"{true[0]}, {true[1]}, and axes that need more than {max(true)}"
    return Goal([*true, list(AXES)], asked)


def truth(head_size: int, block_size: int) -> list[int]:
    """The sectors of the kernel's layout, and of the natural one."""
    from pagesim.kernels import simt

    found = simt.thread_map(simt.Config(head_size, block_size))["footprints"]
    lines = (found[name] for name in ("k", "k_token_major"))
    return [sum(used > 0 for line in each for used in line["bytes"]) for each in lines]


def counted(head_size: int, block_size: int, axes: Sequence[str]) -> int:
    """The sectors of all numbers that warp 0 reads first, if a block's axes are in this order."""
    from pagesim.kernels import simt
    from pagesim.kernels.simt import indices

    if tuple(axes) not in set(permutations(AXES)):
        raise UsageError(f"{axes!r} is not an order of the axes {', '.join(AXES)}")
    config = simt.Config(head_size, block_size)
    x, offset = config.x, np.zeros(1, dtype=int)
    dim = indices.vecs(config)[0, :, 0, None] * config.vec_size + np.arange(config.vec_size)
    slot = np.broadcast_to(indices.k_row(config, 0)[0, :, None], dim.shape)
    places = {"piece": (head_size // x, dim // x), "slot": (block_size, slot), "x": (x, dim % x)}
    for size, place in map(places.__getitem__, axes):
        offset = offset * size + place
    return len(np.unique(offset * config.cache_bytes // 32))


def why(yours: Answer, head_size: int, block_size: int) -> str:
    lanes = max(32 // block_size, 1)
    tokens = 32 // lanes
    turned, natural = truth(head_size, block_size)
    if yours[0] != turned:
        reads = f"In the kernel's layout, the 32 lanes read {tokens} times 16 bytes, all contiguous"
        lines = f" ({yours[0]} is the number of lines, of 128 bytes each.)"
        lines *= yours[0] == -(-16 * tokens // 128)
        return f"{reads}: {16 * tokens} bytes are {turned} sectors of 32 bytes.{lines}"
    if yours[1] != natural:
        sharing = f", and the {lanes} lanes of a token share it" if lanes > 1 else ""
        apart = f"In the natural layout, keys are {2 * head_size} bytes apart"
        return f"{apart}. Each of the {tokens} tokens touches a sector of its own{sharing}."
    if (sectors := counted(head_size, block_size, yours[2])) > max(turned, natural):
        return ""
    tear = "Even in the natural layout, the 16 bytes of a token are in one sector. Pull them apart"
    return f"Your layout needs {sectors} sectors. {tear}."
