"""The kernel's constants, as the compiler derives them from the parameters of vLLM's template.

The parameters are head size, block size, number of threads and the two dtypes. Names are vLLM's in
lower case (csrc/attention/attention_kernels.cuh, release 0.6.4.post1).
"""

from dataclasses import dataclass

WARP_SIZE = 32
LOAD_BYTES = 16  # the widest load of one thread


@dataclass(frozen=True, slots=True)
class Config:
    """One instance of the kernel template; ValueError for sizes that its formulas do not allow.

    element_bytes is the size of the query's dtype, 2 or 4. quantized means that K and V have
    elements of 8 bits.
    """

    head_size: int
    block_size: int
    num_threads: int = 128
    element_bytes: int = 2
    quantized: bool = False

    def __post_init__(self) -> None:
        if self.element_bytes not in (2, 4):
            raise ValueError(
                f"element_bytes = {self.element_bytes}: an element of a query has 2 or 4 bytes"
            )
        if not _is_power_of_two(self.block_size):
            raise ValueError(
                f"block_size = {self.block_size}: it must be a power of two; otherwise the "
                "shuffles would pair lanes of different rows"
            )
        # A warp must be able to hold one whole row of V.
        largest = WARP_SIZE * LOAD_BYTES // self.element_bytes
        if self.block_size > largest:
            raise ValueError(
                f"block_size = {self.block_size}: it must be at most {largest} with elements of "
                f"{self.element_bytes} bytes; otherwise a row of V would be wider than a warp's "
                "load"
            )
        warps, rest = divmod(self.num_threads, WARP_SIZE)
        if rest or not _is_power_of_two(warps) or warps > WARP_SIZE:
            raise ValueError(
                f"num_threads = {self.num_threads}: it must be 32, 64, 128, 256, 512 or 1024; "
                "otherwise the reduction over the warps would lose one"
            )
        # A thread group walks over a key in steps of its vecs; K's layout cuts it into pieces of x.
        step = max(self.thread_group_size * self.vec_size, self.x)
        if self.head_size <= 0 or self.head_size % step:
            raise ValueError(
                f"head_size = {self.head_size}: it must be a multiple of {step} here; otherwise "
                "no thread would read the last elements of a key"
            )

    @property
    def cache_bytes(self) -> int:
        """The bytes of one element of the caches."""
        return 1 if self.quantized else self.element_bytes

    @property
    def num_warps(self) -> int:
        """The number of warps in a thread block; warp w takes the blocks w, w + num_warps, …"""
        return self.num_threads // WARP_SIZE

    @property
    def thread_group_size(self) -> int:
        """The number of lanes that share one key, so that each token of a block has a group."""
        return max(WARP_SIZE // self.block_size, 1)

    @property
    def num_thread_groups(self) -> int:
        """The number of thread groups in a thread block."""
        return self.num_threads // self.thread_group_size

    @property
    def num_tokens_per_thread_group(self) -> int:
        """The number of keys of a block that one group takes: more than 1 above 32 tokens."""
        return -(-self.block_size // WARP_SIZE)

    @property
    def vec_size(self) -> int:
        """The number of elements of q or K in one load; a group reads 16 bytes of q at once."""
        return max(LOAD_BYTES // (self.thread_group_size * self.element_bytes), 1)

    @property
    def num_vecs(self) -> int:
        """The number of vecs in a head."""
        return self.head_size // self.vec_size

    @property
    def num_elems_per_thread(self) -> int:
        """The number of elements of each key, and of q, that one thread multiplies."""
        return self.head_size // self.thread_group_size

    @property
    def num_vecs_per_thread(self) -> int:
        """The number of vecs, and so of loads, per key and thread."""
        return self.num_elems_per_thread // self.vec_size

    @property
    def x(self) -> int:
        """The number of elements in the innermost axis of K's layout: 16 bytes of the cache."""
        return LOAD_BYTES // self.cache_bytes

    @property
    def v_vec_size(self) -> int:
        """The number of elements of V in one load: consecutive tokens of one row."""
        return min(LOAD_BYTES // self.element_bytes, self.block_size)

    @property
    def num_v_vecs_per_row(self) -> int:
        """The number of lanes that read one row of a V block: all tokens of one dimension."""
        return self.block_size // self.v_vec_size

    @property
    def num_rows_per_iter(self) -> int:
        """The number of rows of V that a warp reads with one instruction."""
        return WARP_SIZE // self.num_v_vecs_per_row

    @property
    def num_rows_per_thread(self) -> int:
        """The number of rows of V that one thread sums, and so of its accs and loads per block."""
        return -(-self.head_size // self.num_rows_per_iter)

    def shared_bytes(self, num_tokens: int) -> int:
        """Return the bytes of dynamic shared memory for a thread block of `num_tokens` tokens.

        This memory first holds one float32 logit per token slot, and later half of the warps'
        float32 outputs.
        """
        slots = -(-num_tokens // self.block_size) * self.block_size
        return 4 * max(slots, self.head_size * self.num_warps // 2)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
