"""The size of the cache: from a model and an amount of memory to blocks, tokens and concurrency.

    size = size_v1(ModelSpec.preset("qwen2-1.5b"), "38.48GiB")
    size.bytes_per_token, size.num_gpu_blocks       # 28672, and a range: the GiB were rounded

`v1` is vLLM's current engine and `v0` that of 0.6.4.post1. Models are in `model`, `presets`,
`mamba_state`, and `hf_config` with `hf_layers` (config.json). The arithmetic is in `amount` (what
"38.48GiB" means), `dtypes`, `ranks` (several GPUs), `kv_cache_spec` and `layer_specs` (a layer's
page), `kinds` (what layers are called), `unify` (pages of one size), `kv_cache_groups`,
`kv_cache_config` (tensors and blocks), `enough_memory`, `block_sizes`, and for states `mamba_cache`
and `mamba_block_size`. `waste`, `log_lines` and `fp8` say more of a size, and `plan` answers the
cases of the recordings. `room` says which requests fit, and `fixes` what makes room for one that
does not; `start_lines` and `logged` read the same from the lines of a log. `pool` is the short way:
slots, whatever the blocks. `hardware` has GPUs, and `link` what connects them with the memory of
their host; `cost_model` is the clock of a step on them, and `load_or_compute` that of a prefix.
"""

from pagesim.sizing.amount import ByteRange
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.model import PRESETS, ModelSpec
from pagesim.sizing.pool import Pool
from pagesim.sizing.v0 import size_v0
from pagesim.sizing.v1 import size_v1

__all__ = ["PRESETS", "ByteRange", "CacheSize", "ModelSpec", "Pool", "size_v0", "size_v1"]
