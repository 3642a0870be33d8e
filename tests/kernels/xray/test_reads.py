"""A film of an x-ray: what a program holds after each load ends as the kernel's own answer."""

from itertools import pairwise
from typing import Any

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


def new_tokens(given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same call for a fused kernel: one token of each sequence is not in the cache."""
    more = torch.randn(2, 2, 2, 16, generator=torch.Generator().manual_seed(1))
    fused = {**given, "k_new": more[0], "v_new": more[1], "context_lens": given["seq_lens"]}
    return {name: tensor for name, tensor in fused.items() if name != "seq_lens"}


def prompts(given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same call for prompts: the last 3 tokens of one sequence and the last 2 of the other."""
    q = torch.randn(5, 4, 16, generator=torch.Generator().manual_seed(2))
    return {**given, "q": q, "query_start_loc": torch.tensor([0, 3, 5]).int()}


CALLS: dict[str, tuple[Any, Any, dict[str, int]]] = {
    "v1": (kernels.paged_attention_v1, dict, {}),
    "a window": (kernels.paged_attention_v1, dict, {"sliding_window": 5}),
    "v2": (kernels.paged_attention_v2, dict, {"partition_size": 4}),
    "one partition": (kernels.paged_attention_v2, dict, {}),
    "prompts": (kernels.paged_prefill, prompts, {}),
    "prompts in a window": (kernels.paged_prefill, prompts, {"sliding_window": 4}),
    "a new token": (kernels.fused_decode, new_tokens, {}),
}


def read(name: str, **more: int) -> tuple[list[Any], Any]:
    """The reads of one of these calls, and its trace."""
    kernel, change, options = CALLS[name]
    trace = kernels.xray(kernel, **change(batch()[1]), **options, **more)
    return list(kernels.xray.reads(trace)), trace


@pytest.mark.parametrize("name", CALLS)
def test_every_output_is_what_the_programs_held(name: str) -> None:
    found, trace = read(name)
    out = trace.result
    ends = [it for it in found if it.error is not None]
    assert len({(it.seq, it.query, it.head) for it in ends}) == len(ends) == out[..., 0].numel()
    assert max(it.error for it in ends) < 5e-6
    ends.sort(key=lambda it: (it.seq, it.query, it.head))
    norms = out.norm(dim=-1).flatten().tolist()
    assert [it.acc / it.l for it in ends] == pytest.approx(norms, rel=1e-5)


def test_a_wrong_output_is_seen() -> None:
    kernel, change, options = CALLS["v2"]
    trace = kernels.xray(kernel, **change(batch()[1]), **options)
    trace.result[1, 2, 3] += 0.5
    wrong = [it for it in kernels.xray.reads(trace) if (it.error or 0) > 1e-5]
    assert [(it.seq, it.head, it.slots) for it in wrong] == [(1, 2, [])]
    assert wrong[0].error == pytest.approx(0.5, rel=1e-3)


def test_partitions_are_read_at_the_same_time_and_merged_after_that() -> None:
    found, _ = read("v2")
    parts = [it for it in found if it.slots and (it.seq, it.head) == (0, 1)]
    merge = next(it for it in found if not it.slots and (it.seq, it.head) == (0, 1))
    assert [it.load for it in parts] == [1, 1, 1] and merge.load == 2
    assert merge.weights == pytest.approx([np.exp(it.m - merge.m) for it in parts])
    assert merge.m == max(it.m for it in parts)


def test_a_query_sees_what_came_before_it() -> None:
    """Of a prompt each query one key more; in a window as many as it has room for."""
    keys = {name: [len(it.slots) for it in read(name)[0] if it.head == 0] for name in CALLS}
    assert keys["prompts"] == [7, 8, 9, 5, 6]
    windows: dict[tuple[int, int], int] = {}
    for it in read("prompts in a window")[0]:
        if it.head == 0:
            windows[it.seq, it.query] = windows.get((it.seq, it.query), 0) + len(it.slots)
    assert set(windows.values()) == {4}
    assert keys["a new token"] == [1, 9, 1, 6]


def test_every_key_is_read_once_and_in_order() -> None:
    story, given = batch()
    trace = kernels.xray(kernels.paged_attention_v1, **given)
    tables = [table.block_ids for table in story.run.at(-1).tables.values()]
    for row, length in ((0, 9), (1, 6)):
        first = next(r.program for r in kernels.xray.reads(trace) if r.seq == row)
        of = [r for r in kernels.xray.reads(trace) if r.program == first]
        slots = [slot for read in of for slot in read.slots]
        assert slots == [4 * tables[row][i // 4] + i % 4 for i in range(length)]
        assert all(a.m <= b.m for a, b in pairwise(of))
        assert all(0 <= weight <= 1 for read in of for weight in read.weights)


def test_a_film_of_it_ends_where_the_run_did() -> None:
    story, given = batch()
    film = story.run.film(kernels.xray.reads(kernels.xray(kernels.paged_attention_v1, **given)))
    assert film.at(0) == film.at(-1) == story.run.at(-1)
    assert [event.kind for event in film] == ["read"] * 3 + ["output"]
    assert "4 programs of s0 read 4 keys from block 0" in film[0].caption
    assert [len(event.reads) for event in film] == [8, 8, 4, 0]
    assert film[0].marks[0].numbers == ((0, 8.0),), "heads and sequences meet in a block"


def test_a_call_without_tables_has_no_film() -> None:
    trace = kernels.xray(kernels.online_softmax, torch.randn(2, 8))
    with pytest.raises(ValueError, match="an attention call"):
        next(kernels.xray.reads(trace))


def test_a_call_whose_scores_are_changed_has_no_film() -> None:
    trace = kernels.xray(kernels.paged_attention_v1, **batch()[1], softcap=2.0)
    with pytest.raises(ValueError, match="without softcap"):
        next(kernels.xray.reads(trace))
