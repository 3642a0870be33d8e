"""`plan_kv_cache`: a case of the recordings in, what vLLM plans for it out, both as JSON.

It only translates. The cases have names such as "window" for the kinds of layers; layer i is
"layers.i".
"""

from collections.abc import Mapping

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.sizing.block_sizes import resolve_kv_cache_block_sizes
from pagesim.sizing.enough_memory import (
    NotEnoughMemoryError,
    check_enough_memory,
    estimated_max_model_len,
)
from pagesim.sizing.kinds import KINDS, lengths_of
from pagesim.sizing.kv_cache_config import (
    KVCacheConfig,
    get_kv_cache_config,
    num_blocks_for,
    parts_of,
)
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, get_kv_cache_groups, padding_of
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec
from pagesim.sizing.mamba_block_size import align_hybrid_block_size

DTYPES = {1: "fp8_e4m3", 2: "bfloat16", 4: "float32"}


def plan_kv_cache(case: JsonObject) -> JsonObject:
    """What vLLM plans at its start for a case; too little memory is returned as an error.

    UsageError if the case lacks something.
    """
    if not isinstance(case, Mapping):
        raise TypeError(f"case must be an object of the recordings, not {case!r}")
    try:
        return _aligned(case) if case.get("what") == "align" else _sized(case)
    except KeyError as error:
        raise UsageError(f"the case has no {error}") from error


def _sized(case: JsonObject) -> JsonObject:
    specs = [_spec(one) for one in case["specs"]]
    layers = {f"layers.{i}": specs[kind] for i, kind in enumerate(case["layers"])}
    ranks = case.get("ranks") or [range(len(layers))]
    mine = [{f"layers.{i}": layers[f"layers.{i}"] for i in rank} for rank in ranks]
    disabled = bool(case.get("disable_hybrid_kv_cache_manager"))
    groups = get_kv_cache_groups(layers, disable_hybrid_kv_cache_manager=disabled)
    parts = parts_of(groups, mine)
    blocks = min(map(num_blocks_for, parts, case["available_memory"]))
    blocks = case.get("num_gpu_blocks_override") or blocks
    length = case["max_model_len"]
    in_flight = case["max_num_batched_tokens"] * (2 if case.get("async_scheduling") else 1)
    if case.get("auto_fit"):
        length = estimated_max_model_len(groups, blocks - 1, length, in_flight) or length
    try:
        check_enough_memory(groups, blocks, length, in_flight)
    except NotEnoughMemoryError as error:
        longest = error.estimated_max_model_len
        return {"error": "ValueError"} | ({"estimated_max_model_len": longest} if longest else {})
    found = _planned([get_kv_cache_config(part, blocks) for part in parts], length, in_flight)
    scheduler, hashes = resolve_kv_cache_block_sizes(
        groups,
        enable_prefix_caching=case.get("enable_prefix_caching", True),
        prefix_match_unit=case.get("prefix_match_unit"),
    )
    return {
        "groups": [_group(group) for group in groups],
        **found,
        "scheduler_block_size": scheduler,
        "hash_block_size": hashes,
        "padding": [[one.places, round(one.percent, 2)] for one in padding_of(groups)],
        "promoted": any(
            _length(group.kv_cache_spec) and _kind(group.kv_cache_spec) == "full"
            for group in groups
        ),
        **({"max_model_len": length} if case.get("auto_fit") else {}),
    }


def _spec(one: JsonObject) -> KVCacheSpec:
    if one["kind"] == "mamba":
        return MambaSpec(
            one["block_size"],
            one["state_bytes"],
            page_size_padded=one["page_size_padded"],
            mamba_cache_mode=one["mamba_cache_mode"],
            num_prefill_checkpoint_blocks=one["num_prefill_checkpoint_blocks"],
        )
    made = next(kind for kind, name in KINDS.items() if name == one["kind"])
    heads, size, dtype = one["num_kv_heads"], one["head_size"], DTYPES[one["dtype_bytes"]]
    lengths = {key: one[key] for key in ("sliding_window", "attention_chunk_size") if key in one}
    return made(one["block_size"], heads, size, dtype, **lengths)  # type: ignore[call-arg]


def _kind(spec: KVCacheSpec) -> str:
    return KINDS[type(spec)]


def _length(spec: KVCacheSpec) -> dict[str, int]:
    """The window or the chunk of a layer."""
    return {name: length for name, length in lengths_of(spec).items() if length is not None}


def _numbers(names: tuple[str, ...]) -> list[int]:
    return [int(name.removeprefix("layers.")) for name in names]


def _group(group: KVCacheGroupSpec) -> JsonObject:
    spec = group.kv_cache_spec
    return {
        "layers": _numbers(group.layer_names),
        "kind": _kind(spec),
        "block_size": spec.block_size,
        "page_size_bytes": spec.page_size_bytes,
        **_length(spec),
    }


def _planned(configs: list[KVCacheConfig], length: int, in_flight: int) -> JsonObject:
    first = configs[0]
    concurrency = first.max_concurrency(length, in_flight)
    return {
        "bytes_per_block": first.bytes_per_block,
        "num_blocks": first.num_blocks,
        "tensors": [
            [
                {
                    "size": tensor.size,
                    "layers": _numbers(tensor.layer_names),
                    "layer_stride": tensor.layer_stride,
                    "block_stride": tensor.block_stride,
                    "offset": tensor.offset,
                }
                for tensor in config.strided_tensors
            ]
            for config in configs
        ],
        "blocks_per_request": first.blocks_per_sequence(length, in_flight),
        "max_concurrency": round(concurrency, 9),
        "kv_cache_tokens": int(concurrency * length),
    }


def _aligned(case: JsonObject) -> JsonObject:
    heads = 1 if case.get("mla") else 2 * case["num_kv_heads"]
    found = align_hybrid_block_size(
        case["state_bytes"],
        heads * case["head_size"] * case["dtype_bytes"],
        block_size=case.get("block_size"),
        mamba_cache_mode=case["mamba_cache_mode"],
        kernel_block_sizes=case["kernel_block_sizes"],
        mla=bool(case.get("mla")),
        checkpoint_alignment=case.get("checkpoint_alignment"),
    )
    return {
        "block_size": found.block_size,
        "mamba_block_size": found.mamba_block_size,
        "mamba_page_size_padded": found.mamba_page_size_padded,
        "padding_percent": round(found.padding_percent, 2),
    }
