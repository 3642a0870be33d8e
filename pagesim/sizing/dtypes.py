"""The dtype of the cached numbers: the model's own, or 8 bits.

Source: vLLM's flags ``--dtype`` and ``--kv-cache-dtype`` (0.6.4.post1, ``vllm/config.py`` and
``STR_DTYPE_TO_TORCH_DTYPE`` in ``vllm/utils.py``).
"""

from pagesim.errors import UsageError
from pagesim.sizing.model import DTYPE_BYTES, ModelSpec

MODEL_DTYPES = {"half": "float16", "float": "float32"} | {name: name for name in DTYPE_BYTES}
"""The values of ``--dtype`` apart from "auto", and the dtype that each means."""

CACHE_DTYPES = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2")
"""The values of ``--kv-cache-dtype``; "fp8" means fp8_e4m3 on CUDA devices."""


def cache_dtype(model: ModelSpec, dtype: str = "auto", kv_cache_dtype: str = "auto") -> str:
    """The dtype of the cache: 8 bits on request, otherwise the dtype of the model.

    UsageError names the flag and its values.
    """
    if dtype not in ("auto", *MODEL_DTYPES):
        raise UsageError(f"dtype must be one of auto, {', '.join(MODEL_DTYPES)}, not {dtype!r}")
    if kv_cache_dtype not in CACHE_DTYPES:
        raise UsageError(
            f"kv_cache_dtype must be one of {', '.join(CACHE_DTYPES)}, not {kv_cache_dtype!r}"
        )
    if kv_cache_dtype != "auto":
        return "fp8_e4m3" if kv_cache_dtype == "fp8" else kv_cache_dtype
    return model_dtype(model, dtype)


def model_dtype(model: ModelSpec, dtype: str) -> str:
    """The dtype in which a model runs, given the value of ``--dtype``."""
    return model.dtype if dtype == "auto" else MODEL_DTYPES[dtype]


def dtype_bytes(dtype: str) -> int:
    """Bytes of one number of a dtype returned by `cache_dtype`."""
    return 1 if dtype.startswith("fp8") else DTYPE_BYTES[dtype]
