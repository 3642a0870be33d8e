"""Copies of whole blocks: copy-on-write (`copy_blocks`) and swapping (`swap_blocks`).

**copy_blocks.** Two sequences share a block until one of them writes. Then the block manager gives
the writer a new block and asks for the old one's content there, in every layer, K and V:

    pairs = [(7, 1)]                   layer 0   layer 1   …
                                    K   7 -> 1    7 -> 1
                                    V   7 -> 1    7 -> 1

All of it is one launch: a program copies one block of one tensor. A kernel cannot take the tensors
as arguments, because their number varies; it reads their addresses from a table:

    caches    [ address of K₀ | its block stride | its row stride | its head stride ]
              [ address of V₀ | …

Programs run in no order, but pairs are an ordered list: the manager does ask for [(2, 4), (3, 4)].
So the host turns the list into copies that do not meet (`batches`):

    (2, 4), (3, 4)    ->    4 <- 3            the later copy covers the earlier
    (1, 5), (5, 6)    ->    5 <- 1, 6 <- 1    6 gets what 5 will have been given
    (5, 6), (1, 5)    ->    6 <- 5, then, as a second launch, 5 <- 1

**swap_blocks** moves blocks between a GPU's cache and one in the CPU's memory. No kernel reaches
both: each block is a copy of its own, queued on the current stream and not waited for.

Tested in tests/kernels/test_block_copy.py.
"""

from collections.abc import Sequence
from typing import no_type_check

import torch

from pagesim.kernels.runtime import fallback, mode
from pagesim.kernels.runtime.argument_checks import FLOATS, FP8, check_devices, check_tensor

triton, tl = mode.load_triton()

_TILE = 4096  # numbers that a program moves


@no_type_check
@triton.jit
def copy_blocks_kernel(
    caches_ptr,  # int64 [2 · layers, 4], see above
    pairs_ptr,  # int64 [P, 2]: no block is both read and written
    NUMBER: tl.constexpr,  # what the addresses point to: an integer as wide as the cache's numbers
    BLOCK_SIZE: tl.constexpr,
    NUM_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two
    LINES: tl.constexpr,  # heads of tokens that a program moves
    ALIGNED: tl.constexpr,  # addresses and steps are multiples of 16: load 16 bytes at a time
):
    """One program: LINES heads of tokens of one block of one tensor."""
    pair = tl.program_id(0).to(tl.int64)
    cache = tl.program_id(1)
    address = tl.load(caches_ptr + cache * 4)
    block_step = tl.load(caches_ptr + cache * 4 + 1)
    row_step = tl.load(caches_ptr + cache * 4 + 2)
    head_step = tl.load(caches_ptr + cache * 4 + 3)
    cache_ptr = address.to(tl.pointer_type(NUMBER))
    if ALIGNED:
        cache_ptr = tl.multiple_of(cache_ptr, 16)
        block_step = tl.multiple_of(block_step, 16)
        row_step = tl.multiple_of(row_step, 16)
        head_step = tl.multiple_of(head_step, 16)
    source = tl.load(pairs_ptr + pair * 2)
    target = tl.load(pairs_ptr + pair * 2 + 1)

    line = (tl.program_id(2) * LINES + tl.arange(0, LINES))[:, None]
    dim = tl.arange(0, DIMS)[None, :]
    inside = (line < BLOCK_SIZE * NUM_HEADS) & (dim < HEAD_DIM)
    # Steps are 64 bits wide, as they come from an int64 table; so are all products with them.
    offset = line // NUM_HEADS * row_step + line % NUM_HEADS * head_step + dim
    numbers = tl.load(cache_ptr + (source * block_step + offset), mask=inside)
    tl.store(cache_ptr + (target * block_step + offset), numbers, mask=inside)


def copy_blocks(
    k_caches: Sequence[torch.Tensor], v_caches: Sequence[torch.Tensor], pairs: torch.Tensor
) -> None:
    """Copy blocks within every layer's caches, in place, as if one pair came after the other.

    k_caches, v_caches: one cache [num_blocks, block_size, Hkv, D] per layer, all of one shape and
    one dtype (any, including fp8), contiguous along D; pairs: int64 [P, 2], rows (source,
    destination).

    Raises ValueError or TypeError naming the argument and the value before anything is written. If
    pairs are on the GPU, checking them waits for it: keep them on the CPU.
    """
    caches = _checked_caches(k_caches, v_caches)
    moves = batches(_checked_pairs(pairs, caches, caches))
    if mode.decide().mode == "reference":
        fallback.copy_blocks(caches, moves)
        return
    for batch in moves:
        _launch(caches, batch)


def swap_blocks(src: torch.Tensor, dst: torch.Tensor, pairs: torch.Tensor) -> None:
    """Copy blocks src[i] -> dst[j] between two caches, usually one on the CPU and one on the GPU.

    src, dst: [num_blocks, …], alike except for the number of blocks and the device; pairs: int64
    [P, 2] on the CPU, rows (i, j), carried out as if one came after the other. If the CPU's cache
    is in pinned memory, this call does not wait: the copies are in order with the other work of the
    current stream.

    Raises ValueError or TypeError naming the argument and the value before anything is written.
    """
    for name, cache in (("src", src), ("dst", dst)):
        if not isinstance(cache, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(cache).__name__}")
    if src.dim() == 0 or src.shape[1:] != dst.shape[1:] or src.dtype != dst.dtype:
        raise ValueError(
            f"src is {src.dtype} {list(src.shape)}, dst is {dst.dtype} {list(dst.shape)}: they "
            "may differ only in their first axis, the number of blocks"
        )
    for source, target in _checked_pairs(pairs, [src], [dst]):
        dst[target].copy_(src[source], non_blocking=True)


def batches(pairs: Sequence[tuple[int, int]]) -> list[dict[int, int]]:
    """Cut an ordered list of copies into batches whose copies can run in any order.

    A batch is {destination: source}; no destination is also a source. Batches run one after the
    other. Nearly every list is one batch: only overwriting a block that was read before cuts it.
    """
    done: list[dict[int, int]] = []
    batch: dict[int, int] = {}
    for source, target in pairs:
        # This batch has yet to write that source: copy from where its content comes from.
        origin = batch.get(source, source)
        if origin == target:
            continue
        if target in batch.values():
            done.append(batch)
            batch, origin = {}, source
        batch[target] = origin
    return [*done, batch] if batch else done


def _launch(caches: list[torch.Tensor], batch: dict[int, int]) -> None:
    device, (_, block_size, num_heads, head_dim) = caches[0].device, caches[0].shape
    if mode.decide().mode == "interpreted" and device.type != "cpu":
        raise ValueError(
            f"k_caches[0] is on {device}: the interpreter follows addresses only on the CPU; put "
            "the caches on kernels.backend.device()"
        )
    rows = [[cache.data_ptr(), *cache.stride()[:3]] for cache in caches]
    pairs = [[source, target] for target, source in batch.items()]
    dims, heads = triton.next_power_of_2(head_dim), block_size * num_heads
    lines = max(1, min(_TILE // dims, triton.next_power_of_2(heads)))
    with torch.cuda.device_of(caches[0]):
        copy_blocks_kernel[(len(pairs), len(caches), triton.cdiv(heads, lines))](
            torch.tensor(rows, dtype=torch.int64, device=device),
            torch.tensor(pairs, dtype=torch.int64, device=device),
            # Bits in, bits out: a NaN keeps its payload.
            NUMBER=getattr(tl, f"int{8 * caches[0].element_size()}"),
            BLOCK_SIZE=block_size, NUM_HEADS=num_heads, HEAD_DIM=head_dim, DIMS=dims, LINES=lines,
            ALIGNED=all(number % 16 == 0 for row in rows for number in row),
        )  # fmt: skip


def _checked_caches(
    k_caches: Sequence[torch.Tensor], v_caches: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    if len(k_caches) != len(v_caches):
        raise ValueError(f"there are {len(k_caches)} k_caches and {len(v_caches)} v_caches")
    shape, named = "[num_blocks, block_size, Hkv, D]", {}
    for kind, caches in (("k_caches", k_caches), ("v_caches", v_caches)):
        for layer, cache in enumerate(caches):
            name = f"{kind}[{layer}]"
            check_tensor(name, cache, shape, (*FLOATS, FP8))
            named[name] = cache
    if not named:
        return []
    check_devices(**named)
    (first, model), *others = named.items()
    for name, cache in others:
        if cache.shape != model.shape or cache.dtype != model.dtype:
            raise ValueError(
                f"{name} is {cache.dtype} {list(cache.shape)}, {first} is {model.dtype} "
                f"{list(model.shape)}: all layers must have one shape and one dtype"
            )
    return list(named.values())


def _checked_pairs(
    pairs: torch.Tensor, sources: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]
) -> list[tuple[int, int]]:
    check_tensor("pairs", pairs, "[P, 2]", (torch.int64,))
    if pairs.shape[1] != 2:
        raise ValueError(f"pairs must have shape [P, 2], got {list(pairs.shape)}")
    if not sources:
        return []
    rows = pairs.cpu().tolist()
    sides = (("source", sources[0].shape[0]), ("destination", targets[0].shape[0]))
    for index, row in enumerate(rows):
        for side, (block, (name, limit)) in enumerate(zip(row, sides, strict=True)):
            if not 0 <= block < limit:
                raise ValueError(
                    f"pairs[{index}, {side}] = {block}: the {name} is outside its cache, which "
                    f"has blocks 0 to {limit - 1}"
                )
    return [(source, target) for source, target in rows]
