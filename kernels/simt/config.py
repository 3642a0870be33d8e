"""The kernel's constants, as the compiler derives them from the parameters of vLLM's template.

The parameters are head size, block size, number of threads and the two dtypes. Names are vLLM's in
lower case (csrc/attention/attention_kernels.cuh, release 0.6.4.post1).
"""

from dataclasses import dataclass

WARP_SIZE = 32
LOAD_BYTES = 16  # the widest load of one thread


@dataclass(frozen=True, slots=True)
class Config:
    """One instance of the kernel template; raises ValueError for sizes its formulas cannot serve.

    element_bytes: size of the query's dtype, 2 or 4. quantized: K and V are 8-bit numbers.
    """

    head_size: int
    block_size: int
    num_threads: int = 128
    element_bytes: int = 2
    quantized: bool = False

    def __post_init__(self) -> None:
        if self.element_bytes not in (2, 4):
            raise ValueError(f"element_bytes = {self.element_bytes}: a query has 2 or 4")
        if not _is_power_of_two(self.block_size):
            raise ValueError(
                f"block_size = {self.block_size}: must be a power of two, "
                "or the shuffles would pair lanes of different rows"
            )
        # A warp must be able to hold one whole row of V.
        largest = WARP_SIZE * LOAD_BYTES // self.element_bytes
        if self.block_size > largest:
            raise ValueError(
                f"block_size = {self.block_size}: at most {largest} with elements of "
                f"{self.element_bytes} bytes, or a row of V is wider than a warp's load"
            )
        warps, rest = divmod(self.num_threads, WARP_SIZE)
        if rest or not _is_power_of_two(warps) or warps > WARP_SIZE:
            raise ValueError(
                f"num_threads = {self.num_threads}: must be 32, 64, 128, 256, 512 or 1024, "
                "or the tree over the warps would lose one"
            )
        # A thread group walks over a key in steps of its vecs; K's layout cuts it into pieces of x.
        step = max(self.thread_group_size * self.vec_size, self.x)
        if self.head_size <= 0 or self.head_size % step:
            raise ValueError(
                f"head_size = {self.head_size}: must be a multiple of {step} here, or no thread "
                "would read the last elements of a key"
            )

    @property
    def cache_bytes(self) -> int:
        """Bytes of one element of the caches."""
        return 1 if self.quantized else self.element_bytes

    @property
    def num_warps(self) -> int:
        """Warps of a thread block; warp w takes the sequence's blocks w, w + num_warps, …"""
        return self.num_threads // WARP_SIZE

    @property
    def thread_group_size(self) -> int:
        """Neighbouring lanes that share one key: as many as give each token of a block a group."""
        return max(WARP_SIZE // self.block_size, 1)

    @property
    def num_thread_groups(self) -> int:
        """Thread groups of a thread block."""
        return self.num_threads // self.thread_group_size

    @property
    def num_tokens_per_thread_group(self) -> int:
        """Keys of a block that a group meets, one after the other: more than 1 above 32 tokens."""
        return -(-self.block_size // WARP_SIZE)

    @property
    def vec_size(self) -> int:
        """Elements of q or K that a thread reads at once: a group together reads 16 bytes of q."""
        return max(LOAD_BYTES // (self.thread_group_size * self.element_bytes), 1)

    @property
    def num_vecs(self) -> int:
        """Vecs of a head."""
        return self.head_size // self.vec_size

    @property
    def num_elems_per_thread(self) -> int:
        """Elements of each key, and of q, that one thread multiplies."""
        return self.head_size // self.thread_group_size

    @property
    def num_vecs_per_thread(self) -> int:
        """The same in vecs: as many loads per key and thread."""
        return self.num_elems_per_thread // self.vec_size

    @property
    def x(self) -> int:
        """Elements in the innermost axis of K's layout: 16 bytes of the cache."""
        return LOAD_BYTES // self.cache_bytes

    @property
    def v_vec_size(self) -> int:
        """Elements of V that a thread reads at once, all of one row: consecutive tokens."""
        return min(LOAD_BYTES // self.element_bytes, self.block_size)

    @property
    def num_v_vecs_per_row(self) -> int:
        """Lanes that together read one row of a V block: block_size tokens of one dimension."""
        return self.block_size // self.v_vec_size

    @property
    def num_rows_per_iter(self) -> int:
        """Rows of V that a warp reads with one instruction."""
        return WARP_SIZE // self.num_v_vecs_per_row

    @property
    def num_rows_per_thread(self) -> int:
        """Rows of V that one thread sums, hence its number of accs and of loads per block."""
        return -(-self.head_size // self.num_rows_per_iter)

    def shared_bytes(self, num_tokens: int) -> int:
        """Dynamic shared memory for at most `num_tokens` tokens a thread block, in bytes.

        First it holds one float32 logit per token slot, later half of the warps' float32 outputs.
        """
        slots = -(-num_tokens // self.block_size) * self.block_size
        return 4 * max(slots, self.head_size * self.num_warps // 2)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
