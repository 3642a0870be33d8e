"""What vLLM's flags for states mean: ``--mamba-cache-mode`` and ``--mamba-ssm-cache-dtype``."""

from pagesim.checks import check_choice
from pagesim.errors import UsageError
from pagesim.sizing.dtypes import model_dtype
from pagesim.sizing.model import DTYPE_BYTES, ModelSpec


def cache_mode(given: str | None, enable_prefix_caching: bool) -> str:
    """The mode: "align" with prefix caching, because states must be kept where a block ends."""
    check_choice("mamba_cache_mode", given, ("none", "align", None))
    if given == "none" and enable_prefix_caching:
        raise UsageError(
            "mamba_cache_mode is 'none', but prefix caching is on, and only in mode 'align' are "
            "states found again: choose that, or disable prefix caching"
        )
    return given or ("align" if enable_prefix_caching else "none")


def state_bytes(
    model: ModelSpec, tensor_parallel_size: int, dtype: str, mamba_ssm_cache_dtype: str
) -> int:
    """The bytes of a state on one rank; UsageError for a model without states.

    The matrices of the state have the dtype of the model if neither the flag nor the model says
    otherwise. fp8 is for keys and values only.
    """
    if mamba_ssm_cache_dtype not in ("auto", *DTYPE_BYTES):
        raise UsageError(
            f"mamba_ssm_cache_dtype must be one of auto, {', '.join(DTYPE_BYTES)}, not "
            f"{mamba_ssm_cache_dtype!r}"
        )
    if model.state is None:
        raise UsageError(f"{model.name} has no layers with a state")
    runs_in = model_dtype(model, dtype)
    matrices = model.state_dtype if mamba_ssm_cache_dtype == "auto" else mamba_ssm_cache_dtype
    sizes = DTYPE_BYTES[runs_in], DTYPE_BYTES[matrices or runs_in]
    return model.state.state_bytes(tensor_parallel_size, *sizes)
