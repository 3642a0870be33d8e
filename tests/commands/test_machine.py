"""The machine of a simulation: what `pagesim size` says, or a model and a GPU by name."""

import io
import json
from pathlib import Path

import pytest

from pagesim.simulation import Roofline
from pagesim.sizing import Pool
from tests.commands.runs import Shell

pytestmark = pytest.mark.ch01


def test_size_pipes_into_simulate(
    shell: Shell, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = ("size", "--model", "qwen2-1.5b", "--memory", "64MiB", "--block-size", "8", "--json")
    text = shell(*size)
    tokens = json.loads(text)["tokens"][0]
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    value = shell.answer("simulate", trace, "--pool", "-")
    assert (value["pool"], value["block_size"]) == (tokens, 8)
    (tmp_path / "size.json").write_text(text)
    value = shell.answer("simulate", trace, "--pool", tmp_path / "size.json", "--policy", "max")
    assert (value["pool"], value["block_size"]) == (tokens, None)


def test_the_pool_and_the_clock_of_sizes_model(shell: Shell, trace: Path, tmp_path: Path) -> None:
    sizes = shell.answer("size", "--model", "qwen2-1.5b", "--memory", "64MiB", "--engine", "v1")
    path = tmp_path / "size.json"
    path.write_text(json.dumps(sizes))
    value = shell.answer("simulate", trace, "--pool", path, "--policy", "v1")
    assert value["pool"] == sizes["num_gpu_blocks"][0] * 16  # the null block is among them
    assert "times of qwen2-1.5b on 1 ideal a100-40gb" in value["machine"]
    own = "--policy", "v1", "--model", "qwen2-1.5b"
    named = shell.answer("simulate", trace, "--pool", path, *own)
    assert value["latency"] == named["latency"]
    path.write_text(json.dumps(sizes | {"model": "mine"}))
    out, err = shell.printed("simulate", trace, "--pool", path)
    assert "times of opt-13b" in out
    assert err == (
        "pagesim: --pool: the weights of 'mine' are unknown, so times are those of the default "
        "model; choose one with --model\n"
    )


def test_the_pool_of_a_hybrid_model(shell: Shell, trace: Path, tmp_path: Path) -> None:
    """A token takes a slot in every group, so each group has its share of the blocks."""
    sizes = shell.answer("size", "--model", "gpt-oss-20b", "--memory", "64MiB")
    path = tmp_path / "size.json"
    path.write_text(json.dumps(sizes))
    value = shell.answer("simulate", trace, "--pool", path, "--model", "opt-13b")
    assert value["pool"] == sizes["num_gpu_blocks"][0] // 2 * 16 == 170 // 2 * 16
    path.write_text(json.dumps(sizes | {"num_groups": 0}))
    assert "pagesim size --json" in shell.refusal("simulate", trace, "--pool", path)


def test_a_model_and_a_card_are_a_pool_and_a_clock(shell: Shell, trace: Path) -> None:
    slow = shell.answer("simulate", trace, "--model", "llama-3.1-8b", "--gpu", "l4")
    fast = shell.answer("simulate", trace, "--model", "llama-3.1-8b", "--gpu", "h100", "--tp", "2")
    assert slow["pool"] == int((0.9 * 24e9 - 16.06e9) // 131_072)
    slow_s, fast_s = (run["latency"]["time_per_output_token"]["p50"] for run in (slow, fast))
    assert slow_s > 15 * fast_s
    value = shell.answer("simulate", trace, "--model", "opt-13b", "--kv-gib", "12")
    plain = shell.answer("simulate", trace)
    assert value["pool"] == plain["pool"] == 15_728
    assert value["latency"] == plain["latency"]
    words = "15,728 slots (opt-13b, 12 GiB); times of opt-13b on 1 ideal a100-40gb, assumed"
    assert words in shell("simulate", trace)


def test_the_clock_of_the_papers_model_is_the_default() -> None:
    assert Roofline.for_model("opt-13b") == Roofline()
    assert Roofline.for_model("mixtral-8x7b", "h100", 2).flops_per_token == 25.8e9
    one, two = (Pool.for_model("llama-3.1-8b", 4, tp=number).slots for number in (1, 2))
    assert two == 2 * one
    assert Pool.for_model("qwen2-1.5b", 4, tp=4).slots == Pool.for_model("qwen2-1.5b", 8).slots
