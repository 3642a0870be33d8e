"""What the threads hold after each stage, against NumPy on the gathered keys and values."""

from dataclasses import dataclass

import numpy as np
import pytest

from pagesim.kernels.simt import Trace, indices
from pagesim.kernels.simt.thread_block import ThreadBlock
from tests.kernels.simt.worlds import World, make_world

HEAD = 3
LENGTH = 150  # ten blocks of 16: the warps take 3, 3, 2 and 2, and the last is not full


@dataclass(frozen=True, slots=True)
class Given:
    """A thread block, and in float64 what it computes from: q, k and v of its sequence and head."""

    world: World
    block: ThreadBlock
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    qk: np.ndarray
    weights: np.ndarray


@pytest.fixture(scope="module")
def given() -> Given:
    slopes = [0.1, 0.05, 0.02, 0.01]
    world = make_world([9, LENGTH], head_size=128, dtype=np.float16, alibi_slopes=slopes)
    slots, q = world.tokens(1), world.q[1, HEAD].astype(float)
    k, v = (
        cache.reshape(-1, 2, 128)[slots, HEAD // 2].astype(float) for cache in (world.k, world.v)
    )
    qk = k @ q / np.sqrt(128) + 0.01 * (np.arange(LENGTH) - (LENGTH - 1))
    terms = np.exp(qk - qk.max())
    return Given(world, world.trace()[1, HEAD], q, k, v, qk, terms / terms.sum())


def test_q_lies_in_shared_memory_by_lane_of_the_group(given: Given) -> None:
    vecs = given.q.reshape(32, 4)
    held = given.block.q_vecs.words.reshape(2, 16, 4)
    assert (held[0] == vecs[0::2]).all()
    assert (held[1] == vecs[1::2]).all()


def test_a_lane_holds_its_vecs_share_of_the_dot(given: Given) -> None:
    products = (given.k * given.q).reshape(LENGTH, 32, 4)
    step = given.block.key_steps[1]  # second round: warp 1 has block 5, tokens 80 to 95
    assert step.token[1].tolist() == [80 + lane // 2 for lane in range(32)]
    for lane in range(32):
        share = products[80 + lane // 2, lane % 2 :: 2].sum()
        assert step.partial[1, lane] == pytest.approx(share, abs=1e-4)
    # After the shuffle both lanes of a group hold the whole.
    whole = products[80:96].sum(axis=(1, 2)).repeat(2)
    np.testing.assert_allclose(step.dot[1], whole, atol=1e-4)


def test_warps_take_blocks_in_turn(given: Given) -> None:
    assert len(given.block.key_steps) == 3
    taken = [[], [], [], []]
    for step in given.block.key_steps:
        for warp in range(4):
            if step.working[warp].all():
                taken[warp].append(int(step.token[warp, 0]) // 16)
    assert taken == [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]


def test_logits_before_and_after_the_softmax(given: Given) -> None:
    block = given.block
    np.testing.assert_allclose(block.raw_logits[:LENGTH], given.qk, atol=1e-5)
    np.testing.assert_allclose(block.logits[:LENGTH], given.weights, atol=2e-6)
    assert block.raw_logits.size == 160
    assert (block.raw_logits[LENGTH:] == 0).all() and (block.logits[LENGTH:] == 0).all()


def test_only_the_first_lane_of_a_group_has_a_maximum(given: Given) -> None:
    block, qk = given.block, given.qk
    assert (block.lane_max[:, 1::2] == np.finfo(np.float32).min).all()
    # Group 3 of warp 1 met row 3 of blocks 1, 5 and 9.
    assert block.lane_max[1, 6] == pytest.approx(max(qk[[19, 83, 147]]), abs=1e-5)
    # Group 10 of warp 1: row 10 of block 9 is past the end.
    assert block.lane_max[1, 20] == pytest.approx(max(qk[[26, 90]]), abs=1e-5)


def test_the_maximum_reaches_every_lane(given: Given) -> None:
    block, qk = given.block, given.qk
    np.testing.assert_allclose(block.qk_max, qk.max(), atol=1e-5)
    assert block.qk_max.shape == (4, 32)
    per_warp = [qk[np.arange(LENGTH) // 16 % 4 == warp].max() for warp in range(4)]
    np.testing.assert_allclose(block.red.words[:4], per_warp, atol=1e-5)


def test_the_sum(given: Given) -> None:
    block, terms = given.block, np.exp(given.qk - given.qk.max())
    # Thread t sums tokens t, t + 128.
    assert block.lane_sum[0, 5] == pytest.approx(terms[5] + terms[133], abs=1e-5)
    assert block.lane_sum[3, 31] == pytest.approx(terms[127], abs=1e-5)
    np.testing.assert_allclose(block.exp_sum, terms.sum(), rtol=1e-5)


def test_lane_0_sums_rows_0_16_32_to_112(given: Given) -> None:
    rows = indices.v_rows(given.block.config)
    assert rows[0, 0].tolist() == [0, 16, 32, 48, 64, 80, 96, 112]
    assert rows[0, 31].tolist() == [15, 31, 47, 63, 79, 95, 111, 127]
    # Warp 0, lane 0: the first eight tokens of blocks 0, 4 and 8. Warp 1, lane 31: the last eight
    # of blocks 1, 5 and 9, as far as there are tokens.
    for warp, lane, blocks, skipped in ((0, 0, (0, 64, 128), 0), (1, 31, (16, 80, 144), 8)):
        mine = [i for b in blocks for i in range(b + skipped, min(b + skipped + 8, LENGTH))]
        expected = given.weights[mine] @ given.v[mine][:, rows[0, lane]]
        np.testing.assert_allclose(given.block.lane_accs[warp, lane], expected, atol=1e-5)


def test_then_its_warp_then_all(given: Given) -> None:
    block, v, weights = given.block, given.v, given.weights
    warp = np.arange(LENGTH) // 16 % 4
    sums = np.stack([weights[warp == w] @ v[warp == w] for w in range(4)])
    rows = indices.v_rows(block.config)
    for lane in (0, 1, 30):
        np.testing.assert_allclose(block.warp_accs[2, lane], sums[2, rows[2, lane]], atol=1e-5)
    first, second = block.tree
    assert (first.shape[0], second.shape[0]) == (2, 1)
    np.testing.assert_allclose(first[1, 0], (sums[1] + sums[3])[rows[0, 0]], atol=1e-5)
    np.testing.assert_allclose(second[0, 0], sums.sum(axis=0)[rows[0, 0]], atol=1e-5)
    np.testing.assert_allclose(block.output, weights @ v, atol=1e-5)


def test_partitions_keep_their_own_maximum_and_sum(given: Given) -> None:
    trace, qk = given.world.trace(partition_size=64), given.qk
    for partition, tokens in enumerate((qk[:64], qk[64:128], qk[128:])):
        part = trace[1, HEAD, partition]
        np.testing.assert_allclose(part.qk_max, tokens.max(), atol=1e-5)
        np.testing.assert_allclose(part.exp_sum, np.exp(tokens - tokens.max()).sum(), rtol=1e-5)


def test_without_a_trace_nothing_is_kept_and_the_answer_is_the_same(given: Given) -> None:
    trace = Trace()
    assert (given.world.run(trace=trace) == given.world.run()).all()
    assert set(trace.thread_blocks) == {(seq, head, 0) for seq in (0, 1) for head in range(4)}
