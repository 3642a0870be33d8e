"""What `pagesim size` prints: the object for --json, and the rows of its text."""

from pagesim.commands.common import Options
from pagesim.commands.size_verdict import Rows, Verdict, request_rows, wrong_rows
from pagesim.files.jsonl import JsonObject
from pagesim.sizing import ByteRange, CacheSize
from pagesim.sizing.kinds import kind_of, lengths_of, words_of
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, padding_of
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec
from pagesim.sizing.log_lines import log_lines
from pagesim.sizing.logged import disagreement
from pagesim.sizing.start_lines import Facts
from pagesim.sizing.waste import EMPTY, counted, wasted


def value_of(found: CacheSize, options: Options) -> JsonObject:
    """The object for --json; ranges are [low, high]."""
    length = options["max_model_len"]
    length = found.max_model_len if found.engine == "v1" or length is None else length
    swap, v1 = options["swap_space"], found.engine == "v1"
    groups = found.high.kv_cache_groups
    needs = found.high.blocks_per_sequence
    return {
        "model": found.model.name,
        "engine": found.engine,
        "cache_dtype": found.dtype,
        "block_size": found.block_size,
        "num_layers": found.num_layers,
        "num_groups": len(groups),
        "bytes_per_token": found.bytes_per_token,
        "page_bytes": found.page_bytes,
        "block_bytes": found.block_bytes,
        "num_gpu_blocks": list(found.num_gpu_blocks),
        "usable_blocks": list(found.usable_blocks),
        "tensor_bytes": list(found.tensor_bytes),
        "tokens": list(found.tokens),
        "max_model_len": length,
        "max_concurrency": None if length is None else found.max_concurrency(length),
        "num_cpu_blocks": None if swap is None else found.num_cpu_blocks(swap),
        "groups": [_group(group) for group in groups],
        "waste": {one.name: one.share for one in wasted(groups)},
        "blocks_per_sequence": needs(length, found.max_in_flight_tokens) if v1 and length else None,
        "scheduler_block_size": found.block_sizes[0] if v1 else None,
        "hash_block_size": found.block_sizes[1] if v1 else None,
        "longest_sequence": found.longest_sequence(length) if v1 and length else None,
        "log": log_lines(found),
    }


def _group(group: KVCacheGroupSpec) -> JsonObject:
    spec = group.kv_cache_spec
    return {
        "layers": [int(name.rpartition(".")[2]) for name in group.layer_names],
        "kind": kind_of(spec),
        "block_size": spec.block_size,
        "page_bytes": spec.page_size_bytes,
        **lengths_of(spec),
    }


def value_of_log(verdict: Verdict, facts: Facts) -> JsonObject:
    """The object for --json, if there is no model; ranges are [low, high]."""
    room = verdict.room
    size = room.block_bytes
    return {
        "engine": room.engine,
        "block_size": room.block_size,
        "num_gpu_blocks": list(room.blocks),
        "usable_blocks": list(room.usable),
        "tokens": [number * room.block_size for number in room.blocks],
        "block_bytes": None if size is None else [size.low, size.high],
        "max_model_len": verdict.max_model_len,
        "lines": {
            name: [fact.low, fact.high] if isinstance(fact, ByteRange) else fact
            for name, fact in facts.items()
        },
    }


def lines_of_log(verdict: Verdict, facts: Facts) -> list[str]:
    """The text, if there is no model."""
    room, wanted = verdict.room, verdict.max_model_len
    slots = tuple(number * room.block_size for number in room.blocks)
    rows = [
        *wrong_rows(verdict),
        ("GPU blocks", f"{_range(room.blocks)} of {room.block_size:,} slots"),
        *([("usable", _less_null(room.usable))] if room.null_blocks else []),
        ("tokens", f"{_range((slots[0], slots[1]))}, if all layers are of one kind"),
    ]
    if (size := room.block_bytes) is not None:
        token = (size.low + size.high) / 2 / room.block_size / 1024
        words = f"{_range((size.low, size.high))} bytes, {token:,.1f} KiB for a token"
        rows.append(("a block", words))
    if wanted is not None:
        times = room.blocks[1] / room.needs(wanted)
        rows.append(("at once", f"{times:.2f} sequences of {wanted:,} tokens"))
    if words := disagreement(facts):
        rows.append(("careful", f"{words}: give --model or --config as well"))
    return _aligned(rows + request_rows(verdict))


def lines_of(found: CacheSize, value: JsonObject, verdict: Verdict) -> list[str]:
    """The text: a name and what it is in each row; first what is wrong, if something is."""
    tensors = len(found.high.kv_cache_tensors)
    per_layer = f"{found.page_bytes:,} bytes for a block of {found.block_size} slots"
    rows = [
        *wrong_rows(verdict),
        (found.model.name, _shape(found)),
        ("a token", f"{found.bytes_per_token:,} bytes in {_attention_layers(found)}"),
        *_states(found),
        ("per layer", per_layer),
        ("a block", f"{found.block_bytes:,} bytes in {tensors} tensors"),
        *_groups(found),
        ("GPU blocks", _range(found.num_gpu_blocks)),
        *_usable(found),
        ("tensors", f"{tensors} of {_range(found.tensor_bytes)} bytes"),
        ("tokens", _range(found.tokens)),
        *_sequences(found, value),
        *request_rows(verdict),
    ]
    if value["num_cpu_blocks"] is not None:
        rows.append(("CPU blocks", f"{value['num_cpu_blocks']:,}"))
    if len(found.groups) > 1 and value["log"]:
        names = ("vLLM logs", *("" for _ in value["log"]))
        rows += zip(names, value["log"], strict=False)
    return _aligned(rows)


def _aligned(rows: Rows) -> list[str]:
    """The rows as lines, their texts below each other."""
    width = max(len(name) for name, _ in rows) + 2
    return [f"{name:<{width}}{text}" for name, text in rows]


def _shape(found: CacheSize) -> str:
    model = found.model
    heads = found.attention_specs[0].num_kv_heads if found.attention_specs else 0
    kept = (
        f"a latent vector of {model.latent_dim}"
        if model.is_mla
        else f"{heads} KV heads of {model.head_dim}"
    )
    keeping = model.num_layers - len(model.layers_without_cache)
    layers = f"{found.num_layers} layers"
    if found.num_layers != keeping or keeping != model.num_layers:
        layers += f" of {model.num_layers}"
    return f"{layers}, {kept}, {found.dtype} ({model.source})"


def _attention_layers(found: CacheSize) -> str:
    return "all layers" if found.aligned is None else "all layers with attention"


def _states(found: CacheSize) -> Rows:
    """What a state takes, and why the block beside it is as large."""
    if (aligned := found.aligned) is None:
        return []
    layers = sum(
        len(group.layer_names)
        for group in found.high.kv_cache_groups
        if kind_of(group.kv_cache_spec) == "states"
    )
    return [
        (
            "a state",
            f"{aligned.state_bytes:,} bytes in each of {layers} layers, however many tokens",
        ),
        (f"why {aligned.block_size:,}", aligned.why),
    ]


def _groups(found: CacheSize) -> Rows:
    """The groups kind by kind, and what is wasted in them."""
    groups = found.high.kv_cache_groups
    if len(groups) == 1:
        words = words_of(groups[0].kv_cache_spec)
        return [("groups", f"1: {words}")] if "though" in words else []
    rows = [("groups", f"{len(groups)}: a sequence has blocks in each")]
    for spec in dict.fromkeys(group.kv_cache_spec for group in groups):
        counts = [len(group.layer_names) for group in groups if group.kv_cache_spec == spec]
        layers, name = counted(sum(counts), "layer"), counted(len(counts), "group")
        rows.append((f"  {name}", f"{layers} with {words_of(spec)}, {_blocks(spec)}"))
    for waste in wasted(groups):
        logged = _logged(found) if waste.name == EMPTY else ""
        share = f"{100 * waste.share:.2f} % of the memory is wasted"
        rows.append((waste.name, f"{waste.words}: {share}{logged}"))
    sizes = {group.kv_cache_spec.block_size for group in groups}
    if found.enable_prefix_caching and (len(sizes) > 1 or found.aligned is not None):
        rows.append(("hits end", f"at multiples of {found.block_sizes[0]:,} tokens"))
    return rows


def _blocks(spec: KVCacheSpec) -> str:
    """The tokens of a block; in mode "none" a state is for all of a sequence."""
    if isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "none":
        return "one block for a sequence"
    return f"blocks of {spec.block_size:,} tokens"


def _logged(found: CacheSize) -> str:
    """Of what the percentages are that vLLM logs for empty places, if one rank has all layers."""
    if found.groups != found.high.kv_cache_groups:
        return ""
    said = [
        f"{one.places} / {one.layers} layers = {one.percent:.2f} %"
        for one in padding_of(found.groups)
    ]
    return f" (vLLM logs {', '.join(said)})"


def _usable(found: CacheSize) -> Rows:
    if found.engine == "v0":
        return []
    return [("usable", _less_null(found.usable_blocks))]


def _less_null(usable: tuple[int, int]) -> str:
    return f"{_range(usable)}: block 0 is the null block"


def _sequences(found: CacheSize, value: JsonObject) -> Rows:
    """How many sequences fit at once."""
    length = value["max_model_len"]
    if length is None:
        return []
    rows = [("at once", f"{value['max_concurrency']:.2f} sequences of {length:,} tokens")]
    if len(found.groups) > 1:
        rows.append(("each needs", f"{value['blocks_per_sequence']:,} blocks"))
    if len(found.groups) > 1 and (gain := value["fp8_gain"]) is not None:
        words = f"{gain[0]:.2f} times as many sequences of {length:,} tokens"
        if found.aligned is not None:
            words += f", {gain[1]:.2f} times of {found.block_size:,}: states stay as they are"
        rows.append(("fp8 holds", words))
    return rows


def _range(pair: tuple[int, int]) -> str:
    low, high = pair
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"
