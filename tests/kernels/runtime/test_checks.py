"""What the launchers refuse: each message names the argument, the value and the sequence."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pagesim.kernels import assert_matches_reference, backend, paged_attention_v1, reshape_and_cache


def decode_arguments() -> dict[str, Any]:
    """Two sequences of 5 and 3 tokens in a cache of 6 blocks of 4; block_tables[1, 1] is unused."""
    where = backend.device()
    return {
        "q": torch.ones(2, 4, 16, device=where),
        "k_cache": torch.ones(6, 4, 2, 16, device=where),
        "v_cache": torch.ones(6, 4, 2, 16, device=where),
        "block_tables": torch.tensor([[5, 0], [3, -1]], dtype=torch.int32, device=where),
        "seq_lens": torch.tensor([5, 3], dtype=torch.int32, device=where),
    }


def write_arguments() -> dict[str, Any]:
    where = backend.device()
    return {
        "key": torch.ones(3, 2, 16, device=where),
        "value": torch.ones(3, 2, 16, device=where),
        "k_cache": torch.zeros(6, 4, 2, 16, device=where),
        "v_cache": torch.zeros(6, 4, 2, 16, device=where),
        "slot_mapping": torch.tensor([0, 23, -1], device=where),
    }


def put(name: str, *index: int, value: int) -> Callable[[dict[str, Any]], None]:
    def change(arguments: dict[str, Any]) -> None:
        arguments[name][index] = value

    return change


def swap(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(arguments: dict[str, Any]) -> None:
        arguments[name] = change(arguments.get(name))

    return apply


def strided(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, two apart in memory."""
    return tensor.repeat_interleave(2, dim=-1)[..., ::2]


def floats(*shape: int) -> torch.Tensor:
    return torch.ones(shape, device=backend.device())


DECODE = [
    # Tables and lengths: the argument, the value, the sequence.
    (put("seq_lens", 1, value=-3), r"seq_lens\[1\] = -3: sequence 1"),
    (put("seq_lens", 0, value=9), r"too short for sequence 0.*= 9 needs 3 blocks of 4.*room for 2"),
    (put("seq_lens", 1, value=2**31 - 1), "too short for sequence 1"),
    (put("block_tables", 0, 1, value=6), r"block_tables\[0, 1\] = 6: sequence 0.*0 to 5"),
    (put("block_tables", 1, 0, value=-1), r"block_tables\[1, 0\] = -1: sequence 1"),
    (put("block_tables", 1, 0, value=2**31 - 1), r"block_tables\[1, 0\] = 2147483647"),
    (put("seq_lens", 1, value=5), r"block_tables\[1, 1\] = -1: sequence 1"),
    # Shapes.
    (swap("q", lambda t: t[0]), r"q must have shape \[B, Hq, D\], got \[4, 16\]"),
    (swap("q", lambda t: t[:, :3]), "q has 3 heads.*not a multiple.*2 KV heads"),
    (swap("q", lambda t: t[:, :0]), "q has 0 heads"),
    (swap("q", lambda t: t[:, :, :8]), "q has head_dim 8, but k_cache has 16"),
    (
        swap("k_cache", lambda t: t[0]),
        r"k_cache must have shape \[num_blocks, block_size, Hkv, D\]",
    ),
    (swap("v_cache", lambda t: t[:5]), "v_cache has"),
    (swap("block_tables", lambda t: t[0]), r"block_tables must have shape \[B, max_blocks\]"),
    (swap("block_tables", lambda t: t[:1]), "block_tables has 1 sequences, but q has 2"),
    (swap("seq_lens", lambda t: t[:1]), "seq_lens has 1 sequences, but q has 2"),
    # Types of numbers.
    (
        swap("q", lambda t: t.double()),
        "q has dtype float64, expected float32 or float16 or bfloat16",
    ),
    (swap("q", lambda t: t.half()), r"k_cache has dtype float32, q has float16"),
    (swap("v_cache", lambda t: t.bfloat16()), "v_cache has dtype bfloat16"),
    (swap("block_tables", lambda t: t.long()), "block_tables has dtype int64, expected int32"),
    (swap("seq_lens", lambda t: t.float()), "seq_lens has dtype float32, expected int32"),
    # Strides.
    (swap("q", strided), r"q is not contiguous along its last axis.*q\.contiguous\(\)"),
    (swap("k_cache", strided), "k_cache is not contiguous"),
    (swap("v_cache", strided), "v_cache is not contiguous"),
    (swap("block_tables", strided), "block_tables is not contiguous"),
    (swap("seq_lens", strided), "seq_lens is not contiguous"),
    # Keywords.
    (swap("sliding_window", lambda _: -1), "sliding_window = -1"),
    (swap("softcap", lambda _: -1.0), "softcap = -1.0"),
    (swap("softcap", lambda _: float("inf")), "softcap = inf"),
    (swap("scale", lambda _: float("nan")), "scale = nan"),
    (swap("alibi_slopes", lambda _: floats(3)), "alibi_slopes has 3 slopes, but q has 4"),
    (swap("alibi_slopes", lambda _: floats(4).half()), "alibi_slopes has dtype float16"),
    (swap("k_scale", lambda _: floats(4)), "k_scale has 4 scales, but k_cache has 2"),
    (swap("v_scale", lambda _: floats(2, 1)), r"v_scale must have shape \[Hkv\]"),
    (swap("v_scale", lambda _: float("inf")), "v_scale = inf"),
]

DECODE_TYPES = [
    (swap("q", lambda t: t.tolist()), "q must be a torch.Tensor"),
    (swap("seq_lens", lambda t: t.cpu().numpy()), r"seq_lens must be a torch.Tensor.*\(ndarray\)"),
    (swap("sliding_window", lambda _: 2.0), r"sliding_window must be an int, got 2.0 \(float\)"),
    (swap("sliding_window", lambda _: True), "sliding_window must be an int"),
    (swap("softcap", lambda _: "30"), "softcap must be a number, got '30'"),
    (swap("scale", lambda _: floats(1)), "scale must be a number"),
    (swap("k_scale", lambda _: [1.0, 2.0]), "k_scale must be a number"),
    (swap("alibi_slopes", lambda _: [1.0] * 4), "alibi_slopes must be a torch.Tensor"),
]

WRITE = [
    (put("slot_mapping", 1, value=24), r"slot_mapping\[1\] = 24: token 1.*slots 0 to 23"),
    (put("slot_mapping", 2, value=-2), r"slot_mapping\[2\] = -2: token 2"),
    (put("slot_mapping", 2, value=2**62), r"slot_mapping\[2\] = 4611686018427387904"),
    (put("slot_mapping", 2, value=0), r"slot_mapping\[2\] = 0: tokens 0 and 2 share a slot"),
    (swap("slot_mapping", lambda t: t.int()), "slot_mapping has dtype int32, expected int64"),
    (swap("slot_mapping", lambda t: t[:2]), "slot_mapping has 2 slots, but key has 3"),
    (swap("slot_mapping", strided), "slot_mapping is not contiguous"),
    (swap("key", lambda t: t[:, :1]), r"key has shape \[3, 1, 16\], but value has \[3, 2, 16\]"),
    (swap("key", strided), "key is not contiguous"),
    (swap("value", strided), "value is not contiguous"),
    (swap("key", lambda t: t.half()), "value has dtype float32, key has float16"),
    (swap("key", lambda t: t.long()), "key has dtype int64"),
    (swap("k_cache", lambda t: t.half()), "k_cache has dtype float16, key has float32"),
    (swap("k_cache", strided), "k_cache is not contiguous"),
    (swap("v_cache", lambda t: t[..., :8]), "v_cache has"),
    # Two elements in one place: the last program to come would win.
    (
        swap("k_cache", lambda t: t[:1].expand(6, -1, -1, -1)),
        "several elements of k_cache.*strides",
    ),
    (swap("v_cache", lambda t: t[:, :1].expand(-1, 4, -1, -1)), "several elements of v_cache"),
    (
        swap("v_cache", lambda t: t.as_strided(t.shape, (64, 16, 16, 1))),
        "several elements of v_cache",
    ),
]

SHARED = [
    lambda both: (both[:6], both[:6]),
    lambda both: (both[:6], both[5:]),
    lambda both: (both[:6], both[:6].as_strided((6, 4, 2, 16), (128, 16, 64, 1))),
    lambda both: (both[..., :12], both[..., 4:]),
]
"""Two caches in one tensor [11, 4, 2, 16] that share some element."""


def ids(rows: list[tuple[Any, str]]) -> list[str]:
    return [message[:32] for _, message in rows]


@pytest.mark.parametrize(("change", "message"), DECODE, ids=ids(DECODE))
def test_bad_decode_values(change, message: str) -> None:
    arguments = decode_arguments()
    change(arguments)
    with pytest.raises(ValueError, match=message):
        paged_attention_v1(**arguments)
    with pytest.raises(ValueError, match=message):
        assert_matches_reference(torch.ones(2, 4, 16), **arguments)


@pytest.mark.parametrize(("change", "message"), DECODE_TYPES, ids=ids(DECODE_TYPES))
def test_bad_decode_types(change, message: str) -> None:
    arguments = decode_arguments()
    change(arguments)
    with pytest.raises(TypeError, match=message):
        paged_attention_v1(**arguments)


@pytest.mark.parametrize(("change", "message"), WRITE, ids=ids(WRITE))
def test_bad_writes_write_nothing(change, message: str) -> None:
    arguments = write_arguments()
    change(arguments)
    with pytest.raises(ValueError, match=message):
        reshape_and_cache(**arguments)
    assert not arguments["k_cache"].any()
    assert not arguments["v_cache"].any()


@pytest.mark.parametrize("cut", SHARED)
def test_keys_and_values_in_one_place_are_refused(cut) -> None:
    both = floats(11, 4, 2, 16)
    k_cache, v_cache = cut(both)
    rows = floats(1, 2, k_cache.shape[3])
    slots = torch.zeros(1, dtype=torch.int64, device=both.device)
    with pytest.raises(ValueError, match="k_cache and v_cache share memory"):
        reshape_and_cache(2 * rows, 3 * rows, k_cache, v_cache, slots)
    assert (both == 1).all()


@pytest.mark.parametrize(
    "cut", [lambda both: (both[:, :2], both[:, 2:]), lambda both: (both[..., :8], both[..., 8:])]
)
def test_keys_and_values_may_lie_between_each_other(cut) -> None:
    k_cache, v_cache = cut(floats(11, 4, 2, 16))
    rows = floats(1, 2, k_cache.shape[3])
    slots = torch.zeros(1, dtype=torch.int64, device=rows.device)
    reshape_and_cache(2 * rows, 3 * rows, k_cache, v_cache, slots)
    assert (k_cache[0, 0] == 2).all()
    assert (v_cache[0, 0] == 3).all()


def test_a_cache_without_rows_or_with_too_long_ones() -> None:
    for shape, message in [
        ((6, 0, 2, 16), "block_size = 0"),
        ((6, 4, 0, 16), "Hkv = 0"),
        ((6, 4, 2, 264), "head_dim 264: .*at most 256"),
    ]:
        arguments = decode_arguments()
        arguments["k_cache"] = arguments["v_cache"] = floats(*shape)
        with pytest.raises(ValueError, match=message):
            paged_attention_v1(**arguments)


@pytest.mark.parametrize("name", ["k_cache", "v_cache", "block_tables", "seq_lens"])
def test_tensors_on_two_devices(name: str) -> None:
    arguments = decode_arguments()
    arguments[name] = arguments[name].to("meta")
    with pytest.raises(ValueError, match=f"{name} is on meta"):
        paged_attention_v1(**arguments)


def test_tensors_where_kernels_cannot_run() -> None:
    if backend.decide().mode == "reference":
        pytest.skip("without triton the reference takes tensors from any device")
    elsewhere = "cpu" if backend.decide().mode == "compiled" else "meta"
    arguments = {name: tensor.to(elsewhere) for name, tensor in decode_arguments().items()}
    with pytest.raises(ValueError, match=rf"q is on {elsewhere}.*kernels\.backend\.device\(\)"):
        paged_attention_v1(**arguments)


def test_the_good_arguments_are_good() -> None:
    """Otherwise everything above could be refused for another reason."""
    assert (paged_attention_v1(**decode_arguments()) == 1).all()
    arguments = write_arguments()
    reshape_and_cache(**arguments)
    assert arguments["k_cache"].sum() == 2 * 2 * 16
