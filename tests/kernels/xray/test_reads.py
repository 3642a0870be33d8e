"""A film of an x-ray: what a program holds after each load ends as the kernel's own answer."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import pagesim
from pagesim import kernels


def batch() -> tuple[pagesim.Story, dict[str, torch.Tensor]]:
    """Two sequences of 9 and 5 tokens that share a first block; random keys and values."""
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    one = story.arrive("one two three four five")
    two = one.fork()
    one.write("six seven eight nine")
    two.write("zero")
    generator = torch.Generator().manual_seed(0)
    pool = torch.randn(2, 8, 4, 2, 16, generator=generator)
    tables = [table.block_ids for table in story.run.at(-1).tables.values()]
    longest = max(map(len, tables))
    return story, {
        "q": torch.randn(2, 4, 16, generator=generator),
        "k_cache": pool[0],
        "v_cache": pool[1],
        "block_tables": torch.tensor([[*t, *[0] * (longest - len(t))] for t in tables]).int(),
        "seq_lens": torch.tensor([9, 6]).int(),
    }


@pytest.mark.parametrize("kernel", [kernels.paged_attention_v1, kernels.paged_attention_v2])
def test_the_last_state_is_the_kernels_answer(kernel: object) -> None:
    _, given = batch()
    trace = kernels.xray(kernel, **given)
    parts: dict[tuple[int, int, tuple[int, ...]], object] = {}
    for read in kernels.xray.reads(trace):
        parts[read.row, read.head, read.program] = read
    answers = {(row, head) for row, head, _ in parts}
    assert {row for row, _ in answers} == {0, 1}
    for row, head in answers:
        of = [read for (r, h, _), read in parts.items() if (r, h) == (row, head)]
        if len(of) > 1:  # partitions of v2: merged by its reduce kernel
            continue
        (last,) = of
        wanted = float(trace.result[row, head].norm())
        assert last.acc / last.l == pytest.approx(wanted, rel=1e-5)


def test_every_key_is_read_once_and_in_order() -> None:
    story, given = batch()
    trace = kernels.xray(kernels.paged_attention_v1, **given)
    tables = [table.block_ids for table in story.run.at(-1).tables.values()]
    for row, length in ((0, 9), (1, 6)):
        first = next(r.program for r in kernels.xray.reads(trace) if r.row == row)
        of = [r for r in kernels.xray.reads(trace) if r.program == first]
        slots = [slot for read in of for slot in read.slots]
        assert slots == [4 * tables[row][i // 4] + i % 4 for i in range(length)]
        assert all(a.m <= b.m for a, b in pairwise(of))
        assert all(0 <= weight <= 1 for read in of for weight in read.weights)


def test_a_film_of_it_ends_where_the_run_did() -> None:
    story, given = batch()
    film = story.run.film(kernels.xray.reads(kernels.xray(kernels.paged_attention_v1, **given)))
    assert film.at(0) == film.at(-1) == story.run.at(-1)
    assert {event.kind for event in film} == {"read"}
    assert "reads 4 keys from block 0; now m " in film[0].caption
    weights = film[0].marks[0]
    assert weights.on == "slots"
    assert np.isclose(max(number for _, number in weights.numbers), 1.0)


def test_a_call_without_tables_has_no_film() -> None:
    trace = kernels.xray(kernels.online_softmax, torch.randn(2, 8))
    with pytest.raises(ValueError, match="a decoding call"):
        next(kernels.xray.reads(trace))
