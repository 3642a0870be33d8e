"""The emulated kernel computes attention, at every size that its formulas allow."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pagesim.kernels import simt
from pagesim.kernels.simt.memory import VALUES
from pagesim.kernels.simt.reduce import combine_partitions
from tests.kernels.simt.worlds import World, make_world

EXACT, AS_KERNEL = 1e-5, 2e-3
EXAMPLES = int(os.environ.get("PAGESIM_FUZZ", "10"))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, int]:
    """A launch of any size, and a number of threads that suits it."""
    block_size = draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]))
    head_size = draw(st.sampled_from([32, 64, 80, 96, 112, 120, 128, 192, 256]))
    dtype = draw(st.sampled_from([np.float16, np.float32]))
    threads, quantized = draw(st.sampled_from([32, 64, 128, 256])), draw(st.booleans())
    try:
        simt.Config(head_size, block_size, threads, np.dtype(dtype).itemsize, quantized)
    except ValueError:
        assume(False)
    kv_heads, group = draw(st.sampled_from([(1, 1), (2, 1), (1, 3), (2, 2)]))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["alibi_slopes"] = np.linspace(0.01, 0.5, kv_heads * group)
    if draw(st.booleans()):
        options |= {"scale": 0.05, "k_scale": 0.5, "v_scale": 3.0}
    world = make_world(
        draw(st.lists(st.integers(0, 70), min_size=1, max_size=2)),
        head_size=head_size,
        block_size=block_size,
        heads=kv_heads * group,
        kv_heads=kv_heads,
        dtype=dtype,
        quantized=quantized,
        seed=draw(st.integers(0, 999)),
        **options,
    )
    return world, threads


@settings(max_examples=EXAMPLES, deadline=None)
@given(worlds(), st.integers(1, 3))
def test_any_size_equals_the_reference(drawn: tuple[World, int], blocks: int) -> None:
    world, threads = drawn
    out = world.run(num_threads=threads)
    assert out.dtype == np.float32
    assert world.error(out) < EXACT
    size = blocks * world.k.shape[1]
    assert world.error(world.run(num_threads=threads, partition_size=size)) < EXACT


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(worlds())
def test_rounding_as_the_kernel_does(drawn: tuple[World, int]) -> None:
    world, threads = drawn
    for split in ({}, {"partition_size": 2 * world.k.shape[1]}):
        out = world.run(num_threads=threads, rounding="as_kernel", **split)
        assert out.dtype == world.q.dtype
        assert world.error(out) < AS_KERNEL


def test_the_kernels_rounding_is_that_of_halves() -> None:
    world = make_world([300], head_size=128)
    exact, rounded = world.run(), world.run(rounding="as_kernel")
    assert world.error(exact) < 2e-6
    # More than the output's own rounding explains.
    assert world.error(rounded) > 2 * world.error(exact.astype(np.float16))


@pytest.mark.parametrize("rounding", ["exact", "as_kernel"])
def test_eight_bit_numbers_are_scaled_on_their_way_to_the_registers(rounding: str) -> None:
    world = make_world([20], quantized=True, k_scale=0.3, v_scale=0.7)
    launch = world.trace(rounding=rounding)[0, 0].launch
    for tensor, scale in (("k", 0.3), ("v", 0.7)):
        held = VALUES[launch.tensors[tensor][:500]] * np.float32(scale)
        got = launch.fetch(tensor, np.array([0]), 500)[0]
        # As the kernel: the product becomes a half, which 0.3 and 0.7 leave no room for.
        wanted = held if rounding == "exact" else held.astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(got, wanted)


def test_a_long_sequence_in_partitions() -> None:
    world = make_world([1500, 512, 513], heads=2, kv_heads=1)
    assert world.error(world.run(partition_size=512)) < EXACT
    trace = world.trace(partition_size=512)
    spans = {
        key: (block.first_token, block.num_tokens) for key, block in trace.thread_blocks.items()
    }
    # A partition is a slice of the KV sequence, whatever the number of GPUs.
    assert {key[2]: span for key, span in spans.items() if key[:2] == (0, 1)} == {
        0: (0, 512),
        1: (512, 512),
        2: (1024, 476),
    }
    assert [key for key in spans if key[0] == 1] == [(1, 0, 0), (1, 1, 0)]
    assert spans[2, 0, 1] == (512, 1)


def test_the_partitions_outputs_are_kept_in_the_querys_dtype() -> None:
    """vLLM writes them to memory as halves: 1 + 2⁻¹² is 1 there, and no half is between."""
    for rounding, kept in (("exact", 1 + 2.0**-12), ("as_kernel", 1.0)):
        trace = make_world([100]).trace(partition_size=32, rounding=rounding)
        parts = [trace[0, 0, partition] for partition in range(4)]
        for part in parts:
            part.output[:] = 1 + 2.0**-12
        np.testing.assert_allclose(combine_partitions(parts, 64), kept, atol=1e-5)


def test_an_empty_sequence_gives_zeros() -> None:
    world = make_world([0, 5])
    for out in (world.run(), world.run(partition_size=16), world.run(rounding="as_kernel")):
        assert (out[0] == 0).all()
        assert np.abs(out[1]).max() > 0.1
    trace = world.trace(partition_size=16)
    with pytest.raises(KeyError, match="no thread block computed sequence 0, head 0, partition 0"):
        trace[0, 0]


def test_large_logits_do_not_overflow() -> None:
    world = make_world([40], scale=1e4, dtype=np.float32)
    for out in (world.run(), world.run(partition_size=16)):
        assert world.error(out) < EXACT


@pytest.mark.parametrize("junk", [1e4, -1e4, np.inf])
def test_what_lies_past_the_end_is_never_the_maximum(junk: float) -> None:
    """A NaN is no danger to a maximum; a large number is."""
    world = make_world([20, 3])
    for cache in (world.k, world.v):
        cache[np.isnan(cache)] = junk
    for out in (world.run(), world.run(partition_size=16)):
        assert world.error(out) < EXACT


def test_a_nan_in_a_key_is_not_swallowed() -> None:
    world = make_world([20])
    block, row = divmod(int(world.tokens(0)[7]), 16)
    world.k[block, row, 1, 3] = np.nan
    out = world.run()
    assert np.isnan(out[0, 2:]).all()
    assert np.isfinite(out[0, :2]).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0.9), ("alibi_slopes", [0.5, 0.2, 0.1, 0.05]), ("k_scale", 3.0), ("v_scale", 3.0)],
)
def test_every_option_changes_the_answer(name: str, value: Any) -> None:
    plain = make_world([30])
    changed = make_world([30], **{name: value})
    assert np.abs(changed.run() - plain.run()).max() > 1e-2
    assert changed.error(changed.run()) < EXACT


@pytest.mark.parametrize(
    ("longest", "seqs", "heads", "version"),
    [
        (512, 1, 1, "v1"),
        (513, 1, 32, "v2"),
        (513, 16, 32, "v2"),
        (8192, 17, 32, "v1"),
        (8193, 17, 32, "v2"),
    ],
)
def test_which_version_is_launched(longest: int, seqs: int, heads: int, version: str) -> None:
    assert simt.choose_version(longest, seqs, heads) == version


def test_e4m3() -> None:
    known = {0x00: 0.0, 0x01: 2.0**-9, 0x08: 2.0**-6, 0x38: 1.0, 0x39: 1.125, 0x7E: 448.0}
    for code, number in known.items():
        assert VALUES[code] == number
        assert VALUES[code | 0x80] == -number
    assert np.isnan(VALUES[[0x7F, 0xFF]]).all()
    assert np.isfinite(np.delete(VALUES, [0x7F, 0xFF])).all()
    torch = pytest.importorskip("torch")
    codes = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn)
    np.testing.assert_array_equal(VALUES, codes.float().numpy())


class TestRefusals:
    def refused(self, message: str, kind: type[Exception] = ValueError, **changes: Any) -> None:
        q, k, v, tables, lens = make_world([20, 5]).arguments
        given = {"q": q, "k_cache": k, "v_cache": v, "block_tables": tables, "seq_lens": lens}
        with pytest.raises(kind, match=message):
            simt.paged_attention_v1(**(given | changes))

    def test_arrays(self) -> None:
        self.refused("q must be a NumPy array", TypeError, q=[[1.0]])
        self.refused(r"q must have shape \[num_seqs, num_heads, head_size\]", q=np.zeros((2, 4)))
        self.refused("q has dtype float64", q=np.zeros((2, 4, 64)))
        self.refused("k_cache has dtype float16", q=np.zeros((2, 4, 64), np.float32))
        self.refused("not a multiple of k_cache's 2 KV heads", q=np.zeros((2, 3, 64), np.float16))
        self.refused("seq_lens has 3", seq_lens=np.array([1, 2, 3]))
        self.refused("block_tables has dtype float64", block_tables=np.zeros((2, 2)))
        self.refused(r'rounding = .up.: .*"exact"', rounding="up")
        self.refused("alibi_slopes has shape", alibi_slopes=[1.0])

    def test_a_cache_in_the_wrong_layout(self) -> None:
        _, k, v, *_ = make_world([20, 5]).arguments
        self.refused("kernels.to_cuda_layout makes both", k_cache=k.swapaxes(2, 3))
        self.refused("v_cache has dtype", v_cache=v.astype(np.float32))

    def test_tables_and_lengths(self) -> None:
        self.refused(
            r"block_tables\[1, 0\] = 999: sequence 1", block_tables=np.array([[0, 1], [999, 0]])
        )
        self.refused("too short for sequence 0", seq_lens=np.array([33, 5]))
        self.refused(r"seq_lens\[1\] = -1", seq_lens=np.array([3, -1]))

    def test_partitions(self) -> None:
        world = make_world([20])
        with pytest.raises(ValueError, match=r"partition_size = 24: .*multiple of the block size"):
            world.run(partition_size=24)
        with pytest.raises(ValueError, match=r"partition_size = 0: .*positive"):
            world.run(partition_size=0)
