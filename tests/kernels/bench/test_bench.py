"""The benchmark without a GPU: its inputs, its rules, and a dry run through all of its code."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pagesim.kernels import backend
from pagesim.kernels.bench import __main__ as bench
from pagesim.kernels.bench import peers
from pagesim.kernels.bench.cases import CASES, TINY, BenchCase, make_inputs

OURS = ("paged_attention_v1", "paged_attention_v2")


def test_without_a_gpu_one_line_says_that_there_is_nothing_to_measure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if backend.decide().mode == "compiled":
        pytest.skip(f"there is something to measure: {backend.decide().reason}")
    assert bench.main([]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("pagesim.kernels.bench: nothing to measure, ")
    assert bench.main(["--if-gpu"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_a_dry_run_goes_through_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A GPU compiles FlexAttention, which refuses shapes as small as these; its import takes long.
    nightly = "PAGESIM_KERNELS" in os.environ
    flex = ["FlexAttention"] if nightly and backend.device() == "cpu" else []
    if not flex:
        monkeypatch.delitem(peers.CANDIDATES, "FlexAttention")
    out = tmp_path / "new" / "report.json"
    assert bench.main(["--dry-run", "--case", TINY[1].name, "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("DRY RUN")
    report = json.loads(out.read_text())
    assert report["dry_run"] is True
    # A CUDA build calls itself 2.13.0+cu130, and is 2.13.0 in the registry.
    assert torch.__version__.startswith(report["versions"]["torch"])
    rows = {row["name"]: row for row in report["rows"]}
    for name in (*OURS, "SDPA (gather)", "SDPA", *flex):
        assert rows[name]["error"] is None, rows[name]
        assert rows[name]["us"] > 0
    if report["versions"]["flashinfer-python"] == "not installed":
        assert rows["FlashInfer"]["error"].startswith("ModuleNotFoundError")


def test_a_wrong_answer_is_not_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = OURS
    right = peers.CANDIDATES[second]

    def wrong(inputs: Any) -> peers.Peer:
        peer = right(inputs)
        return peers.Peer(lambda: peer.run() * 1.1)

    monkeypatch.setattr(peers, "CANDIDATES", {first: peers.CANDIDATES[first], second: wrong})
    assert bench.main(["--dry-run", "--case", TINY[0].name]) == 1
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "attention_v2" in line]
    assert "answered wrongly: sequence" in row


def test_an_unknown_case_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no case is called \['5k'\]: there are \['4k, batch 64'"):
        bench.measure(["5k"])


def test_unused_slots_are_nan_and_pages_are_shuffled() -> None:
    case = BenchCase("t", 3, 10, heads=2, kv_heads=1, head_dim=8, block_size=4, cache="float32")
    inputs = make_inputs(case)
    tables = inputs.block_tables.cpu().numpy()
    owned = np.zeros((inputs.k_cache.shape[0], 4), dtype=bool)
    for table in tables:
        for position in range(10):
            assert not owned[table[position // 4], position % 4]
            owned[table[position // 4], position % 4] = True
    for cache in (inputs.k_cache, inputs.v_cache):
        assert np.array_equal(cache.isfinite().all(dim=(2, 3)).cpu().numpy(), owned)
        assert np.array_equal(cache.isnan().all(dim=(2, 3)).cpu().numpy(), ~owned)
    assert (np.diff(tables.ravel()) != 1).any()
    in_order = make_inputs(BenchCase("t", 3, 10, pages="identity", heads=2, kv_heads=1, head_dim=8))
    assert in_order.block_tables.ravel().tolist() == [0, 1, 2]


def test_useful_bytes_by_hand() -> None:
    case = BenchCase("t", 2, 5, heads=4, kv_heads=2, head_dim=8, block_size=4)
    inputs = make_inputs(case)
    keys_and_values = 2 * (2 * 5) * 2 * 8 * 2
    q_and_out = 2 * (2 * 4 * 8) * 2
    table = 2 * 2 * 4
    assert inputs.useful_bytes == keys_and_values + q_and_out + table
    assert inputs.gather_bytes == 2 * keys_and_values


def test_ragged_lengths_are_ragged_and_in_range() -> None:
    lengths = make_inputs(TINY[1]).lengths
    assert len(set(lengths.tolist())) > 1
    assert lengths.min() >= TINY[1].tokens // 8
    assert lengths.max() <= TINY[1].tokens


def test_every_case_is_many_times_the_largest_l2() -> None:
    """An H200's is 50 MB: of less, a part could come from the cache."""
    for case in CASES:
        size = 1 if "float8" in case.cache else 2
        tokens = case.tokens * case.batch * (0.5 if case.ragged else 1)
        assert 2 * tokens * case.kv_heads * case.head_dim * size > 8 * 50e6, case.name
