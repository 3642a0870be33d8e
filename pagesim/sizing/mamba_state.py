"""What a layer with a state keeps: the last inputs of a convolution, and a matrix for each head.

Its size does not depend on the number of tokens. The convolution's part is kept in the dtype of the
model, the matrices in ``mamba_ssm_cache_dtype``. ``ranks`` are those of tensor parallelism.

Source: vLLM V1, ``MambaStateShapeCalculator`` in ``vllm/model_executor/layers/mamba``.
"""

from dataclasses import dataclass, fields

from pagesim.checks import check_int
from pagesim.errors import UsageError


@dataclass(frozen=True, slots=True)
class MambaState:
    """A kind of state; ``conv_kernel`` is how many inputs the convolution looks at."""

    conv_kernel: int

    def __post_init__(self) -> None:
        for field in fields(self):
            check_int(field.name, getattr(self, field.name), 1)

    @property
    def heads(self) -> int:
        """What tensor parallelism divides."""
        raise NotImplementedError

    @property
    def numbers(self) -> int:
        """The numbers of all matrices."""
        raise NotImplementedError

    def channels(self, ranks: int) -> int:
        """The channels of the convolution on each of so many ranks."""
        raise NotImplementedError

    def state_bytes(self, ranks: int, conv_bytes: int, ssm_bytes: int) -> int:
        """The bytes on each rank, from those of a number; UsageError if heads are left over."""
        if self.heads % ranks:
            raise UsageError(
                f"tensor_parallel_size is {ranks}, which does not divide the {self.heads} heads of "
                "the layers with a state"
            )
        convolution = self.channels(ranks) * (self.conv_kernel - 1) * conv_bytes
        return convolution + self.numbers // ranks * ssm_bytes


@dataclass(frozen=True, slots=True)
class GatedDeltaNet(MambaState):
    """The linear attention of Qwen3-Next and Qwen3.5: a matrix of keys by values for each head."""

    num_k_heads: int
    num_v_heads: int
    head_k_dim: int
    head_v_dim: int

    @property
    def heads(self) -> int:
        return self.num_k_heads

    @property
    def numbers(self) -> int:
        return self.num_v_heads * self.head_k_dim * self.head_v_dim

    def channels(self, ranks: int) -> int:
        """Queries and keys of the key heads, and values."""
        keys, values = self.num_k_heads * self.head_k_dim, self.num_v_heads * self.head_v_dim
        return (2 * keys + values) // ranks


@dataclass(frozen=True, slots=True)
class Mamba1(MambaState):
    """The first Mamba, as in Jamba: ``state_size`` numbers for each channel."""

    intermediate_size: int
    state_size: int

    @property
    def heads(self) -> int:
        return self.intermediate_size

    @property
    def numbers(self) -> int:
        return self.intermediate_size * self.state_size

    def channels(self, ranks: int) -> int:
        return self.intermediate_size // ranks


@dataclass(frozen=True, slots=True)
class Mamba2(MambaState):
    """The second Mamba, as in Nemotron-H: a matrix for each head, and heads in groups."""

    num_heads: int
    head_dim: int
    n_groups: int
    state_size: int

    @property
    def heads(self) -> int:
        return self.num_heads

    @property
    def numbers(self) -> int:
        return self.num_heads * self.head_dim * self.state_size

    def channels(self, ranks: int) -> int:
        """The heads, and two vectors for each group; a rank has at least one group."""
        if self.n_groups % ranks and ranks % self.n_groups:
            raise UsageError(
                f"tensor_parallel_size is {ranks} and the layers with a state have "
                f"{self.n_groups} groups of heads: one must be a multiple of the other"
            )
        groups = max(1, self.n_groups // ranks)
        return self.num_heads * self.head_dim // ranks + 2 * groups * self.state_size
