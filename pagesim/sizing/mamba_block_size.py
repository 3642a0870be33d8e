"""Why a block has 528 tokens: next to a state, the block of an attention layer must be as large.

A state takes about as many bytes as the keys and values of hundreds of tokens, and all pages of the
pool have one size. So vLLM puts so many tokens into a block of the attention layers that its page
is at least as large as a state, and pads the page of the state.

    state of 2,146,304 bytes / 4,096 bytes a token = 524 tokens, and 528 is a multiple of 16

Source: vLLM V1, ``_align_hybrid_block_size`` in ``vllm/platforms/interface.py``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.checks import check_choice, check_int
from pagesim.sizing.kv_cache_spec import MambaSpec

DEFAULT_BLOCK_SIZE, LEAST_OF_MLA = 16, 128


@dataclass(frozen=True, slots=True)
class AlignedBlockSize:
    """The block size of the attention layers, and the page of the layers with states.

    ``mamba_block_size`` is None if it does not follow (mode "none"), and ``mamba_page_size_padded``
    if a state is exactly as large as a page.
    """

    block_size: int
    mamba_block_size: int | None
    mamba_page_size_padded: int | None
    state_bytes: int
    bytes_per_token: int
    multiple: int

    @property
    def page_size_bytes(self) -> int:
        return self.block_size * self.bytes_per_token

    @property
    def padding_percent(self) -> float:
        """How much larger the page is than the state, as vLLM logs it."""
        return 100 * (self.page_size_bytes - self.state_bytes) / self.state_bytes

    def mamba_spec(self, mode: str, *longest: int | None) -> MambaSpec:
        """The spec of the states.

        Where the size of their block does not follow, a block is as long as a sequence: the first
        of ``longest`` that is a number of tokens, or a block of the attention layers.
        """
        sizes = (self.mamba_block_size, *longest, self.block_size)
        return MambaSpec(
            next(size for size in sizes if size and size > 0),
            self.state_bytes,
            page_size_padded=self.mamba_page_size_padded,
            mamba_cache_mode=mode,
        )

    @property
    def why(self) -> str:
        """The division that leads to the block size."""
        exact = -(-self.state_bytes // self.bytes_per_token)
        rounded = "" if self.block_size % self.multiple == 0 else ", rounded up for the kernel,"
        return (
            f"a state takes {self.state_bytes:,} bytes, as much as {exact:,} tokens of "
            f"{self.bytes_per_token:,} bytes; the next multiple of {self.multiple}{rounded} is "
            f"{self.block_size:,}"
        )


def align_hybrid_block_size(
    state_bytes: int,
    bytes_per_token: int,
    *,
    block_size: int | None = None,
    mamba_cache_mode: str = "align",
    kernel_block_sizes: Sequence[int] = (DEFAULT_BLOCK_SIZE,),
    mla: bool = False,
    checkpoint_alignment: int | None = None,
) -> AlignedBlockSize:
    """The block size next to a state of ``state_bytes`` bytes.

    ``bytes_per_token`` is what an attention layer keeps of a token, and ``kernel_block_sizes`` the
    sizes that its kernel can compute with. The ``block_size`` that a user gives is not the size of
    a block here: the size becomes a multiple of it.
    """
    check_int("state_bytes", state_bytes, 1)
    check_int("bytes_per_token", bytes_per_token, 1)
    check_choice("mamba_cache_mode", mamba_cache_mode, ("none", "align"))
    wanted = DEFAULT_BLOCK_SIZE if block_size is None else check_int("block_size", block_size, 1)
    least = min(check_int("kernel_block_sizes", size, 1) for size in kernel_block_sizes)
    multiple = max(least, wanted, LEAST_OF_MLA if mla else 1)
    if mamba_cache_mode == "align":
        multiple = math.lcm(multiple, checkpoint_alignment or 1)
    tokens = multiple * -(-state_bytes // (multiple * bytes_per_token))
    tokens = max(wanted, -(-tokens // least) * least)
    page = tokens * bytes_per_token
    return AlignedBlockSize(
        tokens,
        tokens if mamba_cache_mode == "align" else None,
        page if page != state_bytes else None,
        state_bytes,
        bytes_per_token,
        multiple,
    )
