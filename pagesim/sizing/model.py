"""What determines the size of a model's KV cache: a few numbers from its config."""

from dataclasses import dataclass, replace
from pathlib import Path

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.hf_config import read_config
from pagesim.sizing.mamba_state import MambaState
from pagesim.sizing.presets import MODELS, preset_name

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
"""The dtypes of models, and the bytes of one number."""

PADDED_HEAD_DIM = 256
"""The next size of a head, above DeepSeek's 192, for which V0's kernels were made."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The shape of a decoder's attention. All numbers are for the whole model, not for one GPU.

    ``dtype`` is the dtype of the model, and ``max_model_len`` its longest sequence in tokens. The
    layers in ``sliding_layers`` (counted from 0) attend to the last ``sliding_window`` tokens, all
    others to all tokens. With multi-head latent attention (DeepSeek V2 and V3), a layer keeps one
    vector of ``kv_lora_rank + qk_rope_head_dim`` elements per token instead of keys and values for
    each head (DeepSeek-V2, arXiv 2405.04434, section 2.1). The layers in ``chunked_layers`` attend
    to their own chunk of ``attention_chunk_size`` tokens. Those in ``state_layers`` keep a
    ``state``, in the dtype of the model unless ``state_dtype`` is another one, and those in
    ``layers_without_cache`` keep nothing. ``source`` says where these figures come from.

    UsageError or TypeError names the field and the value.
    """

    name: str
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: str = "bfloat16"
    max_model_len: int | None = None
    sliding_window: int | None = None
    sliding_layers: tuple[int, ...] = ()
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    source: str = ""
    attention_chunk_size: int | None = None
    chunked_layers: tuple[int, ...] = ()
    state: MambaState | None = None
    state_layers: tuple[int, ...] = ()
    state_dtype: str | None = None
    layers_without_cache: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("num_layers", "num_heads", "num_kv_heads", "head_dim"):
            check_int(name, getattr(self, name), 1)
        for name in (
            *("max_model_len", "sliding_window", "kv_lora_rank", "qk_rope_head_dim"),
            "attention_chunk_size",
        ):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), 1)
        if self.num_heads % self.num_kv_heads:
            raise UsageError(
                f"num_heads is {self.num_heads}, which is not a multiple of num_kv_heads "
                f"({self.num_kv_heads}): each KV head serves the same number of query heads"
            )
        if self.dtype not in DTYPE_BYTES:
            raise UsageError(f"dtype must be one of {', '.join(DTYPE_BYTES)}, not {self.dtype!r}")
        if (self.kv_lora_rank is None) != (self.qk_rope_head_dim is None):
            raise UsageError(
                f"kv_lora_rank is {self.kv_lora_rank} and qk_rope_head_dim is "
                f"{self.qk_rope_head_dim}: latent attention needs both, other models neither"
            )
        self._check_layers("sliding_layers", "a sliding_window")
        self._check_layers("chunked_layers", "an attention_chunk_size")
        self._check_layers("state_layers", "a state")
        self._check_layers("layers_without_cache")
        lists = (self.sliding_layers, self.chunked_layers, self.state_layers)
        every = [layer for one in (*lists, self.layers_without_cache) for layer in one]
        if len(set(every)) < len(every):
            raise UsageError(
                "a layer is named twice among sliding_layers, chunked_layers, state_layers and "
                "layers_without_cache: each layer is of one kind"
            )
        if not self.num_attention_layers:
            raise UsageError(f"{self.name} has no layer with attention, so it has no KV cache")
        if self.state_dtype not in (None, *DTYPE_BYTES):
            known = ", ".join(DTYPE_BYTES)
            raise UsageError(f"state_dtype must be one of {known}, not {self.state_dtype!r}")

    def _check_layers(self, name: str, needs: str | None = None) -> None:
        layers = getattr(self, name)
        outside = [layer for layer in layers if not 0 <= layer < self.num_layers]
        if outside:
            raise UsageError(
                f"{name} names layer {outside[0]}, but the layers are 0 to {self.num_layers - 1}"
            )
        if layers and needs is not None and getattr(self, needs.split()[-1]) is None:
            raise UsageError(f"{name} is given without {needs}")
        if layers and needs is not None and self.is_mla:
            raise UsageError(f"{name} does not apply to a model with latent attention")

    @property
    def num_attention_layers(self) -> int:
        """How many layers keep keys and values, or latent vectors."""
        return self.num_layers - len(self.state_layers) - len(self.layers_without_cache)

    @property
    def is_mla(self) -> bool:
        """Whether a layer keeps one latent vector per token instead of keys and values."""
        return self.kv_lora_rank is not None

    @property
    def latent_dim(self) -> int:
        """The length of the latent vector; UsageError for a model without one."""
        if self.kv_lora_rank is None or self.qk_rope_head_dim is None:
            raise UsageError(f"{self.name} keeps keys and values, not a latent vector: see is_mla")
        return self.kv_lora_rank + self.qk_rope_head_dim

    def without_latents(self) -> "ModelSpec":
        """The model as V0 stored it before it knew latent attention; others stay as they are.

        Every head had keys and values of its own, padded to 256 elements.
        """
        if not self.is_mla:
            return self
        return replace(
            self,
            num_kv_heads=self.num_heads,
            head_dim=PADDED_HEAD_DIM,
            kv_lora_rank=None,
            qk_rope_head_dim=None,
        )

    @property
    def kv_bytes_per_token(self) -> int:
        """The bytes of one token in all layers on one GPU, in the model's own dtype.

        A state grows with no token, so it is not counted.
        """
        numbers = self.latent_dim if self.is_mla else 2 * self.num_kv_heads * self.head_dim
        return self.num_attention_layers * numbers * DTYPE_BYTES[self.dtype]

    @classmethod
    def from_config(cls, path: str | Path) -> "ModelSpec":
        """Read a Hugging Face ``config.json``; UsageError says which key cannot be used and why."""
        return read_config(path, cls)

    @classmethod
    def preset(cls, name: str) -> "ModelSpec":
        """Return a model of `PRESETS` by name; UsageError lists the nearest names."""
        return PRESETS[preset_name(name)]


PRESETS = {name: ModelSpec(name, **fields) for name, fields in MODELS.items()}
"""The known models by name."""
