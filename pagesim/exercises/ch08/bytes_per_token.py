"""# 8.1 The bytes of a token ★

How many bytes does one token take in the cache, in all layers together? Write

```python
def bytes_per_token(config):
    return bytes
```

`config` is a model's `config.json`, as a dict. Every element of the cache has 2 bytes. These keys
matter:

* `num_hidden_layers`, `num_attention_heads` and `hidden_size` are always there;
* `num_key_value_heads` is the number of KV heads. If it is missing, every query head has a KV head
  of its own;
* `head_dim` is the number of elements of one head. If it is missing, the query heads share
  `hidden_size` equally;
* `kv_lora_rank` and `qk_rope_head_dim` are there only with latent attention (DeepSeek V2 and V3).
  Then a token stores *one* vector in each layer and nothing else. The vector has
  `kv_lora_rank + qk_rope_head_dim` elements. (vLLM 0.6.4 does not use this yet, but later releases
  do.)

Example: `{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1,
"hidden_size": 32}` has query heads of 8 elements and one KV head. 2 layers · 2 (key and value) · 1
KV head · 8 elements · 2 bytes are 64 bytes.

## Hints
1. In each layer, a token stores a key and a value for each KV head.
2. `num_key_value_heads` and `head_dim` may be missing. Remember that `dict.get` has a second
   argument.
3. The result is `layers * 2 * kv_heads * head_dim * 2` bytes. With `kv_lora_rank`, it is
   `layers * (kv_lora_rank + qk_rope_head_dim) * 2` bytes.

## Wrong answers
* query_heads (fewer KV heads): Every query head has its own keys and values.
* hidden_size (a head_dim of its own): The query heads always share the hidden size equally.
* kv_heads_share (fewer KV heads): The KV heads share the hidden size among themselves.
* latent_twice (a latent vector): There is a key and a value, so everything counts twice.
* keys_alone (a head for each): Only the keys are cached.
* one_layer (a head for each): All layers share one cache.

## vLLM
* vllm/config.py: ModelConfig.get_total_num_kv_heads
* vllm/config.py: ModelConfig.get_head_size
* vllm/worker/cache_engine.py: CacheEngine.get_cache_block_size
"""

from pagesim.exercises.kit import Case, Cases, Random, counted
from pagesim.sizing.hf_config import parse_config
from pagesim.sizing.model import PRESETS, ModelSpec

Config = dict[str, int]
SHOWN = ("opt-13b", "llama-3.1-8b", "qwen3-0.6b", "gemma-2-9b", "deepseek-v3")
OTHERS = ("llama-2-7b", "llama-3.1-70b", "qwen3-32b", "gemma-3-27b", "deepseek-v2-lite")
HIDDEN_SIZE = {
    **{"qwen3-0.6b": 1024, "qwen3-32b": 5120, "gemma-2-9b": 3584, "gemma-3-27b": 5376},
    **{"deepseek-v2-lite": 2048, "deepseek-v3": 7168},
}
"""Where heads do not share the hidden size evenly; from the models' config.json."""


def bytes_per_token(config: dict[str, int]) -> int:
    """What one token takes in the cache, in all layers, at 2 bytes per element."""
    ### BEGIN SOLUTION
    if "kv_lora_rank" in config:
        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
        ### latent_twice: numbers = 2 * (config["kv_lora_rank"] + config["qk_rope_head_dim"])
    else:
        heads = config["num_attention_heads"]
        kv_heads = config.get("num_key_value_heads", heads)
        ### query_heads: kv_heads = heads
        head_dim = config.get("head_dim", config["hidden_size"] // heads)
        ### hidden_size: head_dim = config["hidden_size"] // heads
        ### kv_heads_share: head_dim = config.get("head_dim", config["hidden_size"] // kv_heads)
        numbers = 2 * kv_heads * head_dim
        ### keys_alone: numbers = kv_heads * head_dim
    return config["num_hidden_layers"] * numbers * 2
    ### one_layer: return numbers * 2
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Tiny ones, then the configs of models; hidden ones at random."""
    if not hidden:
        for config in (tiny(num_attention_heads=1), tiny(), tiny(num_hidden_layers=3)):
            yield Case((config,), tag="a head for each")
        yield Case((tiny(num_key_value_heads=1),), tag="fewer KV heads")
        yield Case((tiny(head_dim=8),), tag="a head_dim of its own")
        yield Case((tiny(kv_lora_rank=4, qk_rope_head_dim=2),), tag="a latent vector")
    for name in OTHERS if hidden else SHOWN:
        yield Case((published(name),), f"{name}: {published(name)}", name)
    for _ in range(20 if hidden else 0):
        heads = rng.choice((8, 16, 24))
        config = tiny(num_hidden_layers=rng.randint(2, 60), num_attention_heads=heads)
        config |= {"num_key_value_heads": rng.choice((1, 2, 4, heads)), "hidden_size": 64 * heads}
        yield Case((config | ({"head_dim": 80} if rng.random() < 0.5 else {}),), tag="random")


def tiny(**more: int) -> Config:
    return {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8} | more


def published(name: str) -> Config:
    """What the model's config.json says of its attention."""
    spec = PRESETS[name]
    evenly = spec.num_heads * spec.head_dim
    size, heads = HIDDEN_SIZE.get(name, evenly), {"num_key_value_heads": spec.num_kv_heads}
    config = tiny(
        num_hidden_layers=spec.num_layers, num_attention_heads=spec.num_heads, hidden_size=size
    )
    if spec.is_mla:
        latent = {"kv_lora_rank": spec.kv_lora_rank, "qk_rope_head_dim": spec.qk_rope_head_dim}
        return config | heads | {key: value or 0 for key, value in latent.items()}
    config |= heads if spec.num_kv_heads != spec.num_heads else {}
    return config | ({"head_dim": spec.head_dim} if size != evenly else {})


def oracle(config: Config) -> int:
    """What the simulator reads out of the config."""
    return parse_config(config, "model", ModelSpec).kv_bytes_per_token


def why(right: int, config: Config) -> str:
    spec = parse_config(config, "model", ModelSpec)
    if spec.is_mla:
        vector = f"{spec.kv_lora_rank} + {spec.qk_rope_head_dim} elements"
        return f"In each layer, a token stores one vector of {vector} of 2 bytes, and nothing else."
    layers, heads = counted(spec.num_layers, "layer"), counted(spec.num_kv_heads, "KV head")
    numbers = f"{heads} · {spec.head_dim} elements · 2 bytes = {right:,}"
    return f"The bytes are {layers} · 2 (key and value) · {numbers}."
