"""What sharing saves: the real tables against numbers from lengths alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.studies.sharing import beam_search, parallel_sampling
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import cdiv
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.workload import Request

LENGTHS = [(40, 20), (7, 33), (16, 1), (33, 50), (1, 2)]
REQUESTS = [Request(str(i), 0.0, *lengths) for i, lengths in enumerate(LENGTHS)]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("block_size", [1, 16])
def test_samples_share_the_full_blocks_of_their_prompt(n: int, block_size: int) -> None:
    saved = total = 0
    for request in REQUESTS:
        for step in range(request.output_tokens):
            full = request.prompt_tokens // block_size
            # Until somebody writes into it, the last block of the prompt is shared as well.
            shared = cdiv(request.prompt_tokens, block_size) if step == 0 else full
            saved += (n - 1) * shared
            total += n * cdiv(request.prompt_tokens + step, block_size)
    by_hand = pytest.approx(100 * saved / total, abs=1e-12)
    assert parallel_sampling(REQUESTS, n, block_size) == by_hand
    assert played(REQUESTS, n, block_size) == by_hand


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=3))
@settings(max_examples=40)
def test_lengths_say_what_the_real_tables_do(lengths: list[tuple[int, int]]) -> None:
    requests = [Request(str(i), 0.0, *row) for i, row in enumerate(lengths)]
    for n, block_size in ((2, 4), (4, 16), (3, 7)):
        assert parallel_sampling(requests, n, block_size) == pytest.approx(
            played(requests, n, block_size), abs=1e-12
        )


def played(requests: list[Request], n: int, block_size: int) -> float:
    """Percent of the blocks saved by ``n`` real tables a request that were forked at its prompt."""
    used = named = 0
    for request in requests:
        blocks = n * (cdiv(request.total_tokens, block_size) + 1)  # copy-on-write takes one more
        allocator = CpuGpuBlockAllocator.create("naive", blocks, 0, block_size)
        first = BlockTable(block_size, allocator)
        first.allocate([0] * request.prompt_tokens)
        tables = [first, *(first.fork() for _ in range(n - 1))]
        for _ in range(request.output_tokens):
            ids = [block_id for table in tables for block_id in table.physical_block_ids]
            used, named = used + len(set(ids)), named + len(ids)
            for table in tables:
                table.append_token_ids([0])
    return 100 * (named - used) / named


def test_one_beam_saves_nothing_and_more_beams_save_more() -> None:
    assert beam_search(REQUESTS, 1) == 0
    two, four = beam_search(REQUESTS, 2), beam_search(REQUESTS, 4)
    assert parallel_sampling(REQUESTS, 2) < two < 50
    assert two < four < 75


def test_beams_of_one_parent_share_all_but_their_last_block() -> None:
    """With 2 beams and blocks of one token, what is shared is the path up to the last branching."""
    request = Request("a", 0.0, 1, 3)
    by_seed = {round(beam_search([request], 2, 1, seed), 9) for seed in range(40)}
    # 2 + 4 + 6 blocks are named. The prompt saves 1 in each step, and the second token another one
    # in the third step, if both candidates then continue the same parent.
    assert by_seed == {round(100 * saved / 12, 9) for saved in (1 + 1 + 1, 1 + 1 + 2)}


def test_the_same_seed_searches_the_same_beams() -> None:
    assert beam_search(REQUESTS, 3, seed=4) == beam_search(REQUESTS, 3, seed=4)
    assert beam_search(REQUESTS, 3, seed=4) != beam_search(REQUESTS, 3, seed=5)


def test_there_is_at_least_one_output() -> None:
    for save in (parallel_sampling, beam_search):
        with pytest.raises(UsageError, match="must be at least 1, not 0"):
            save(REQUESTS, 0)
