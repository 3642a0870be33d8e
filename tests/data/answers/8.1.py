# %% right: get with a default
def bytes_per_token(config):
    layers = config["num_hidden_layers"]
    if "kv_lora_rank" in config:
        return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    dim = config.get("head_dim", config["hidden_size"] // heads)
    return layers * 2 * kv_heads * dim * 2

# %% right: try and except
def bytes_per_token(config):
    try:
        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    except KeyError:
        try:
            kv_heads = config["num_key_value_heads"]
        except KeyError:
            kv_heads = config["num_attention_heads"]
        try:
            dim = config["head_dim"]
        except KeyError:
            dim = config["hidden_size"] // config["num_attention_heads"]
        numbers = 2 * kv_heads * dim
    return 2 * numbers * config["num_hidden_layers"]

# %% right: None taken for missing
def bytes_per_token(config):
    rank = config.get("kv_lora_rank")
    if rank is not None:
        per_layer = rank + config["qk_rope_head_dim"]
    else:
        heads = config["num_attention_heads"]
        dim = config.get("head_dim") or config["hidden_size"] // heads
        per_layer = (config.get("num_key_value_heads") or heads) * dim * 2
    return sum(2 * per_layer for _ in range(config["num_hidden_layers"]))

# %% right: NumPy's product, a NumPy integer
import numpy as np


def bytes_per_token(config):
    c = dict(config)
    c.setdefault("num_key_value_heads", c["num_attention_heads"])
    c.setdefault("head_dim", c["hidden_size"] // c["num_attention_heads"])
    vector = 2 * c["num_key_value_heads"] * c["head_dim"]
    if "kv_lora_rank" in c:
        vector = c["kv_lora_rank"] + c["qk_rope_head_dim"]
    return np.prod([c["num_hidden_layers"], vector, 2])

# %% right: keys and values by themselves
def bytes_per_token(config):
    def get(name, default):
        return config[name] if name in config else default

    heads = config["num_attention_heads"]
    dim = get("head_dim", config["hidden_size"] // heads)
    key = value = get("num_key_value_heads", heads) * dim * 2
    if get("kv_lora_rank", 0):
        key, value = (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2, 0
    return (key + value) * config["num_hidden_layers"]

# %% wrong: the values forgotten
# as "get with a default", but
#-     return layers * 2 * kv_heads * dim * 2
#+     return layers * kv_heads * dim * 2

# %% wrong: numbers instead of bytes
# as "get with a default", but
#-     return layers * 2 * kv_heads * dim * 2
#+     return layers * 2 * kv_heads * dim

# %% wrong: every query head has keys
# as "get with a default", but
#-     kv_heads = config.get("num_key_value_heads", heads)
#+     kv_heads = heads

# %% wrong: one KV head where it is missing
# as "get with a default", but
#-     kv_heads = config.get("num_key_value_heads", heads)
#+     kv_heads = config.get("num_key_value_heads", 1)

# %% wrong: head_dim is not looked up
# as "get with a default", but
#-     dim = config.get("head_dim", config["hidden_size"] // heads)
#+     dim = config["hidden_size"] // heads

# %% wrong: the hidden size shared by the KV heads
# as "get with a default", but
#-     dim = config.get("head_dim", config["hidden_size"] // heads)
#+     dim = config.get("head_dim", config["hidden_size"] // kv_heads)

# %% wrong: the latent vector twice, as key and value
# as "get with a default", but
#-         return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2
#+         return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 4

# %% wrong: the latent vector without its position
# as "get with a default", but
#-         return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2
#+         return layers * config["kv_lora_rank"] * 2

# %% wrong: the latent vector for each head
# as "get with a default", but
#-         return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2
#+         return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * 2 * config["num_attention_heads"]

# %% wrong: one layer
# as "get with a default", but
#-     return layers * 2 * kv_heads * dim * 2
#+     return 2 * kv_heads * dim * 2
