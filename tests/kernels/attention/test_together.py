"""What the attention kernels owe to each other: one answer, whichever way it was computed."""

from dataclasses import replace

import pytest
import torch

from pagesim.kernels import (
    backend,
    fused_decode,
    paged_attention_v1,
    paged_attention_v2,
    paged_prefill,
    reshape_and_cache,
)
from tests.kernels import pages
from tests.kernels.cases import FP8, make_case


def int32(numbers: list[int]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32, device=backend.device())


def test_a_prompt_in_chunks_is_the_prompt_at_once() -> None:
    """The cached prefix is never computed again, and nothing changes."""
    made = pages.fragmented([50], block_size=8)
    whole = make_case(made, kernel="prefill", queries=[50], heads=4)
    expected = whole.run()
    for start, stop in ((0, 7), (7, 8), (8, 40), (40, 50)):
        out = paged_prefill(
            whole.q[start:stop],
            whole.k_cache,
            whole.v_cache,
            made.block_tables(),
            int32([0, stop - start]),
            int32([stop]),
        )
        torch.testing.assert_close(out, expected[start:stop], rtol=0, atol=5e-6)


def test_a_batch_of_chunks_prompts_and_decodes() -> None:
    """Sequence by sequence: no query at all, the last token only, a chunk, a whole prompt."""
    made = pages.fragmented([12, 30, 80, 21], block_size=8)
    case = make_case(made, kernel="prefill", queries=[0, 1, 66, 21], heads=2, kv_heads=1)
    case.check()
    decode = paged_attention_v1(
        case.q[:1], *case.arguments[1:3], *(t[1:2] for t in case.arguments[3:])
    )
    torch.testing.assert_close(case.run()[:1], decode, rtol=0, atol=5e-6)


def test_more_heads_in_a_group_than_rows_in_a_tile() -> None:
    made = pages.fragmented([20], block_size=8)
    for kernel in ("prefill", "v2", "fused"):
        make_case(made, kernel=kernel, queries=[3], heads=71, kv_heads=1, head_dim=16).check()


@pytest.mark.parametrize("window", [0, 1, 6])
def test_fused_is_writing_first(window: int) -> None:
    """A free slot in the last page, a new page, and nothing cached."""
    made = pages.fragmented([9, 8, 0], block_size=4)
    case = make_case(made, kernel="fused", heads=4, head_dim=16)
    fused = case.run(sliding_window=window)
    # One page more for everyone, behind all others.
    spare = [made.num_blocks + seq for seq in range(3)]
    grown = replace(
        made,
        tables=[[*table, block] for table, block in zip(made.tables, spare, strict=True)],
        lengths=[10, 9, 1],
        num_blocks=made.num_blocks + 3,
    )
    k_cache, v_cache = (torch.cat([c, c[:3]]) for c in (case.k_cache, case.v_cache))
    slots = torch.tensor([grown.slots(seq)[-1] for seq in range(3)], device=backend.device())
    reshape_and_cache(case.others["k_new"], case.others["v_new"], k_cache, v_cache, slots)
    arguments = (case.q, k_cache, v_cache, grown.block_tables(), grown.seq_lens())
    written = paged_attention_v2(*arguments, sliding_window=window)
    torch.testing.assert_close(fused, written, rtol=0, atol=5e-6)


def test_fused_takes_the_new_token_unscaled() -> None:
    """The cache's numbers were divided by their scale; the new token's never were."""
    made = pages.fragmented([5], block_size=4)
    case = make_case(made, kernel="fused", heads=2, kv_heads=1, cache_dtype=FP8)
    plain = replace(case, k_cache=case.k_cache.float() * 4.0, v_cache=case.v_cache.float() * 0.5)
    torch.testing.assert_close(case.run(k_scale=4.0, v_scale=0.5), plain.run(), rtol=0, atol=5e-6)


def test_lse_merges_two_halves() -> None:
    """What LSE is for: attention over two tables, weighted by 2^lse, is attention over both."""
    made = pages.fragmented([48], block_size=8)
    case = make_case(made, kernel="v2", heads=4, head_dim=32)
    halves = [replace(made, tables=[made.tables[0][i : i + 3]], lengths=[24]) for i in (0, 3)]
    (first, lse_a), (second, lse_b) = (replace(case, pages=half).answer() for half in halves)
    out, lse = case.answer()
    share = torch.exp2(lse_a - lse)[..., None]
    torch.testing.assert_close(out, first * share + second * (1 - share), rtol=0, atol=5e-6)
    torch.testing.assert_close(torch.logaddexp2(lse_a, lse_b), lse)


def test_without_lse_there_is_one_tensor() -> None:
    made = pages.fragmented([5], block_size=4)
    calls = {"v2": paged_attention_v2, "fused": fused_decode, "prefill": paged_prefill}
    for kernel, call in calls.items():
        case = make_case(made, kernel=kernel, heads=2)
        torch.testing.assert_close(call(**case.named), case.run(), rtol=0, atol=0)
