"""What the threads hold after each stage, against NumPy on the gathered keys and values."""

import numpy as np
import pytest

from pagesim.kernels.simt import Trace, indices
from pagesim.kernels.simt.thread_block import ThreadBlock
from tests.kernels.simt.worlds import World, make_world

HEAD = 3
LENGTH = 150  # ten blocks of 16: the warps take 3, 3, 2 and 2, and the last is not full


@pytest.fixture(scope="module")
def world() -> World:
    slopes = [0.1, 0.05, 0.02, 0.01]
    return make_world([9, LENGTH], head_size=128, dtype=np.float16, alibi_slopes=slopes)


@pytest.fixture(scope="module")
def block(world: World) -> ThreadBlock:
    return world.trace()[1, HEAD]


@pytest.fixture(scope="module")
def gathered(world: World) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, keys and values of the sequence and head, in float64."""
    slots = world.tokens(1)
    k, v = (
        cache.reshape(-1, 2, 128)[slots, HEAD // 2].astype(float) for cache in (world.k, world.v)
    )
    return world.q[1, HEAD].astype(float), k, v


@pytest.fixture(scope="module")
def qk(gathered: tuple[np.ndarray, ...]) -> np.ndarray:
    q, k, _ = gathered
    return k @ q / np.sqrt(128) + 0.01 * (np.arange(LENGTH) - (LENGTH - 1))


@pytest.fixture(scope="module")
def weights(qk: np.ndarray) -> np.ndarray:
    return np.exp(qk - qk.max()) / np.exp(qk - qk.max()).sum()


def test_q_lies_in_shared_memory_by_lane_of_the_group(
    block: ThreadBlock, gathered: tuple[np.ndarray, ...]
) -> None:
    vecs = gathered[0].reshape(32, 4)
    held = block.q_vecs.words.reshape(2, 16, 4)
    assert (held[0] == vecs[0::2]).all()
    assert (held[1] == vecs[1::2]).all()


def test_a_lane_holds_its_vecs_share_of_the_dot(
    block: ThreadBlock, gathered: tuple[np.ndarray, ...]
) -> None:
    q, k, _ = gathered
    products = (k * q).reshape(LENGTH, 32, 4)
    step = block.key_steps[1]  # second round: warp 1 has block 5, tokens 80 to 95
    assert step.token[1].tolist() == [80 + lane // 2 for lane in range(32)]
    for lane in range(32):
        share = products[80 + lane // 2, lane % 2 :: 2].sum()
        assert step.partial[1, lane] == pytest.approx(share, abs=1e-4)
    # After the shuffle both lanes of a group hold the whole.
    whole = products[80:96].sum(axis=(1, 2)).repeat(2)
    np.testing.assert_allclose(step.dot[1], whole, atol=1e-4)


def test_warps_take_blocks_in_turn(block: ThreadBlock) -> None:
    assert len(block.key_steps) == 3
    taken = [[], [], [], []]
    for step in block.key_steps:
        for warp in range(4):
            if step.working[warp].all():
                taken[warp].append(int(step.token[warp, 0]) // 16)
    assert taken == [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]


def test_logits_before_the_softmax(block: ThreadBlock, qk: np.ndarray) -> None:
    np.testing.assert_allclose(block.raw_logits[:LENGTH], qk, atol=1e-5)
    assert block.raw_logits.size == 160
    assert (block.raw_logits[LENGTH:] == 0).all()


def test_only_the_first_lane_of_a_group_has_a_maximum(block: ThreadBlock, qk: np.ndarray) -> None:
    lowest = np.finfo(np.float32).min
    assert (block.lane_max[:, 1::2] == lowest).all()
    # Group 3 of warp 1 met row 3 of blocks 1, 5 and 9.
    assert block.lane_max[1, 6] == pytest.approx(max(qk[[19, 83, 147]]), abs=1e-5)
    # Group 10 of warp 1: row 10 of block 9 is past the end.
    assert block.lane_max[1, 20] == pytest.approx(max(qk[[26, 90]]), abs=1e-5)


def test_the_maximum_reaches_every_lane(block: ThreadBlock, qk: np.ndarray) -> None:
    np.testing.assert_allclose(block.qk_max, qk.max(), atol=1e-5)
    assert block.qk_max.shape == (4, 32)
    per_warp = [
        max(qk[w * 16 + b : w * 16 + b + 16].max(initial=-99) for b in (0, 64, 128))
        for w in range(4)
    ]
    np.testing.assert_allclose(block.red.words[:4], per_warp, atol=1e-5)


def test_the_sum(block: ThreadBlock, qk: np.ndarray) -> None:
    terms = np.exp(qk - qk.max())
    # Thread t sums tokens t, t + 128.
    assert block.lane_sum[0, 5] == pytest.approx(terms[5] + terms[133], abs=1e-5)
    assert block.lane_sum[3, 31] == pytest.approx(terms[127], abs=1e-5)
    np.testing.assert_allclose(block.exp_sum, terms.sum(), rtol=1e-5)


def test_logits_after_the_softmax(block: ThreadBlock, weights: np.ndarray) -> None:
    np.testing.assert_allclose(block.logits[:LENGTH], weights, atol=2e-6)
    assert (block.logits[LENGTH:] == 0).all()


def test_lane_0_sums_rows_0_16_32_to_112(
    block: ThreadBlock, weights: np.ndarray, gathered: tuple[np.ndarray, ...]
) -> None:
    rows = indices.v_rows(block.config)
    assert rows[0, 0].tolist() == [0, 16, 32, 48, 64, 80, 96, 112]
    assert rows[0, 31].tolist() == [15, 31, 47, 63, 79, 95, 111, 127]
    v = gathered[2]
    # Warp 0, lane 0: the first eight tokens of blocks 0, 4 and 8.
    mine = np.concatenate([np.arange(b, b + 8) for b in (0, 64, 128)])
    np.testing.assert_allclose(
        block.lane_accs[0, 0], weights[mine] @ v[mine][:, rows[0, 0]], atol=1e-5
    )
    # Warp 1, lane 31: the last eight of blocks 1, 5 and 9, as far as there are tokens.
    mine = np.concatenate([np.arange(b + 8, min(b + 16, LENGTH)) for b in (16, 80, 144)])
    np.testing.assert_allclose(
        block.lane_accs[1, 31], weights[mine] @ v[mine][:, rows[0, 31]], atol=1e-5
    )


def warp_sums(weights: np.ndarray, v: np.ndarray) -> np.ndarray:
    """[4, 128]: what the tokens of each warp's blocks contribute."""
    warp = np.arange(LENGTH) // 16 % 4
    return np.stack([weights[warp == w] @ v[warp == w] for w in range(4)])


def test_then_its_warp_then_all(
    block: ThreadBlock, weights: np.ndarray, gathered: tuple[np.ndarray, ...]
) -> None:
    sums = warp_sums(weights, gathered[2])
    rows = indices.v_rows(block.config)
    for lane in (0, 1, 30):
        np.testing.assert_allclose(block.warp_accs[2, lane], sums[2, rows[2, lane]], atol=1e-5)
    first, second = block.tree
    assert (first.shape[0], second.shape[0]) == (2, 1)
    np.testing.assert_allclose(first[1, 0], (sums[1] + sums[3])[rows[0, 0]], atol=1e-5)
    np.testing.assert_allclose(second[0, 0], sums.sum(axis=0)[rows[0, 0]], atol=1e-5)
    np.testing.assert_allclose(block.output, weights @ gathered[2], atol=1e-5)


def test_partitions_keep_their_own_maximum_and_sum(world: World, qk: np.ndarray) -> None:
    trace = world.trace(partition_size=64)
    for partition, tokens in enumerate((qk[:64], qk[64:128], qk[128:])):
        part = trace[1, HEAD, partition]
        np.testing.assert_allclose(part.qk_max, tokens.max(), atol=1e-5)
        np.testing.assert_allclose(part.exp_sum, np.exp(tokens - tokens.max()).sum(), rtol=1e-5)


def test_without_a_trace_nothing_is_kept_and_the_answer_is_the_same(world: World) -> None:
    trace = Trace()
    assert (world.run(trace=trace) == world.run()).all()
    assert set(trace.thread_blocks) == {(seq, head, 0) for seq in (0, 1) for head in range(4)}
