"""Tile sizes, warps and stages, one table per chip.

Triton could try configurations and keep the fastest (`@autotune`), but only with a GPU at hand.
This table is written down instead: readable, the same in every process, and a compiler can check
each line on a machine that has no GPU at all.

A tile holds `tile` tokens, so `tile · head_dim` numbers of K and as many of V. In q's dtype these
fill TILE_BYTES: smaller tiles wait for memory more often, larger ones overflow the registers.
Stages are how many tiles are in flight at once. Looking up a page in the table takes one of them:
with 2, only the look-up is in flight.
"""

from dataclasses import dataclass

import torch

from pagesim.kernels.runtime import mode
from pagesim.kernels.runtime.inputs import PagedInputs

TILE_BYTES = 16 * 1024
_SMALLEST, _LARGEST = 16, 128  # tl.dot needs at least 16 rows; beyond 128 registers spill


@dataclass(frozen=True, slots=True)
class Config:
    """One line of the table: rows of q and tokens per tile, and what the compiler is told."""

    rows: int
    tile: int
    num_warps: int
    num_stages: int


@dataclass(frozen=True, slots=True)
class _Chip:
    decode_stages: int
    prefill_stages: int
    prefill_warps: int
    prefill_tile: int


_CHIPS = {
    "sm_80": _Chip(4, 3, 8, 64),
    "sm_90": _Chip(5, 3, 4, 64),
    # 64 KiB of shared memory: two stages fill it.
    "gfx942": _Chip(2, 2, 4, 32),
}
_OTHER = _Chip(3, 2, 8, 32)  # 99 KiB of shared memory on consumer chips
# The interpreter pays for every step, whatever its size.
_INTERPRETED = 64


def target(device: torch.device) -> str:
    """The chip, as the table spells it: "sm_90", "gfx942", …; "interpreted" without one."""
    if mode.decide().mode != "compiled":
        return "interpreted"
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return str(properties.gcnArchName).split(":")[0]
    return f"sm_{properties.major}{properties.minor}"


def sizes(inputs: PagedInputs) -> tuple[str, int, int, int]:
    """What a configuration depends on: chip, head_dim, group, and bytes of a number of q."""
    return target(inputs.q.device), inputs.q.shape[2], inputs.group, inputs.q.element_size()


def constants(inputs: PagedInputs, config: Config) -> dict[str, int | bool]:
    """The compile-time arguments of the tiled kernels."""
    head_dim = inputs.q.shape[2]
    return {
        "GROUP": inputs.group,
        "BLOCK_SIZE": inputs.k_cache.shape[1],
        "HEAD_DIM": head_dim,
        "DIMS": padded(head_dim),
        "SOFTCAP": inputs.options.softcap,
        "ROWS": config.rows,
        "TILE": config.tile,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
    }


def padded(head_dim: int) -> int:
    """The width of a tile: a power of two, at least the 16 that a dot takes."""
    return max(_SMALLEST, _power_of_two(head_dim))


def decode_config(chip: str, head_dim: int, group: int, element_size: int) -> Config:
    """For one query token: the rows are the query heads of a group; arguments as from `sizes`."""
    rows = max(_SMALLEST, _power_of_two(group))
    if chip == "interpreted":
        return Config(rows, _INTERPRETED, 4, 1)
    stages = _CHIPS.get(chip, _OTHER).decode_stages
    if element_size == 4:
        # Exact float32 uses no tensor cores: the whole operands of a dot are in registers.
        return Config(rows, _SMALLEST, 8, stages)
    tile = _tile(head_dim, element_size)
    if rows >= 64:
        return Config(rows, min(tile, 64), 8, min(stages, 3))
    return Config(rows, tile, 4, stages)


def prefill_config(chip: str, head_dim: int, group: int, element_size: int) -> Config:
    """For many query tokens at once: rows are tokens times heads of a group."""
    fewest = _power_of_two(group)
    if chip == "interpreted":
        return Config(max(64, fewest), _INTERPRETED, 4, 1)
    values = _CHIPS.get(chip, _OTHER)
    if element_size == 4:
        return Config(max(_SMALLEST, fewest), _SMALLEST, 8, values.prefill_stages)
    rows, tile = max(64, fewest), min(_tile(head_dim, element_size), values.prefill_tile)
    warps = 8 if rows > 64 or head_dim > 128 else values.prefill_warps
    return Config(rows, tile, warps, values.prefill_stages)


def _tile(head_dim: int, element_size: int) -> int:
    fits = TILE_BYTES // (_power_of_two(head_dim) * element_size)
    return max(_SMALLEST, min(_LARGEST, fits))


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
