"""The machine of a simulation: what `pagesim size` says, or a model and a GPU by name."""

import io
import json
from pathlib import Path

import pytest

from pagesim.simulation import Roofline
from pagesim.sizing import Pool
from tests.commands.runs import answer, run

pytestmark = pytest.mark.ch01


def test_size_pipes_into_simulate(
    capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = ("size", "--model", "qwen2-1.5b", "--memory", "64MiB", "--block-size", "8", "--json")
    assert run(*size) == 0
    text = capsys.readouterr().out
    tokens = json.loads(text)["tokens"][0]
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    value = answer(capsys, "simulate", trace, "--pool", "-")
    assert (value["pool"], value["block_size"]) == (tokens, 8)
    (tmp_path / "size.json").write_text(text)
    value = answer(capsys, "simulate", trace, "--pool", tmp_path / "size.json", "--policy", "max")
    assert (value["pool"], value["block_size"]) == (tokens, None)


def test_the_pool_and_the_clock_of_sizes_model(
    capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path
) -> None:
    size = ("size", "--model", "qwen2-1.5b", "--memory", "64MiB", "--json", "--engine", "v1")
    assert run(*size) == 0
    path = tmp_path / "size.json"
    path.write_text(capsys.readouterr().out)
    sizes = json.loads(path.read_text())
    value = answer(capsys, "simulate", trace, "--pool", path, "--policy", "v1")
    assert value["pool"] == sizes["num_gpu_blocks"][0] * 16  # the null block is among them
    assert "times of qwen2-1.5b on 1 ideal a100-40gb" in value["machine"]
    named = answer(
        capsys, "simulate", trace, "--pool", path, "--policy", "v1", "--model", "qwen2-1.5b"
    )
    assert value["latency"] == named["latency"]
    path.write_text(json.dumps(sizes | {"model": "mine"}))
    assert run("simulate", trace, "--pool", path) == 0
    out, err = capsys.readouterr()
    assert "times of opt-13b" in out
    assert err == (
        "pagesim: --pool: the weights of 'mine' are unknown, so times are those of the default "
        "model; choose one with --model\n"
    )


def test_a_model_and_a_card_are_a_pool_and_a_clock(
    capsys: pytest.CaptureFixture[str], trace: Path
) -> None:
    slow = answer(capsys, "simulate", trace, "--model", "llama-3.1-8b", "--gpu", "l4")
    fast = answer(
        capsys, "simulate", trace, "--model", "llama-3.1-8b", "--gpu", "h100", "--tp", "2"
    )
    assert slow["pool"] == int((0.9 * 24e9 - 16.06e9) // 131_072)
    assert (
        slow["latency"]["time_per_output_token"]["p50"]
        > 15 * (fast["latency"]["time_per_output_token"]["p50"])
    )
    value = answer(capsys, "simulate", trace, "--model", "opt-13b", "--kv-gib", "12")
    plain = answer(capsys, "simulate", trace)
    assert value["pool"] == plain["pool"] == 15_728
    assert value["latency"] == plain["latency"]
    assert run("simulate", trace) == 0
    assert "15,728 slots (opt-13b, 12 GiB); times of opt-13b on 1 ideal a100-40gb, assumed" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gpu", "tpu"], "unknown GPU 'tpu': there are a100-40gb"),
        (["--model", "gpt-5"], "unknown preset 'gpt-5'"),
        (["--model", "opt-175b"], "the weights of opt-175b take 350 GB"),
        (["--model", "llama-3.1-8b", "--tp", "3"], "tp is 3, which does not divide the 32 heads"),
        (["--pool", "7", "--kv-gib", "1"], "give one of pool and kv_gib"),
        (["--pool", "nowhere.json"], "--pool nowhere.json: must be a number of slots, or"),
        (["--pool", "TRACE"], "must be a number of slots, or"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "waste"])
def test_a_machine_that_cannot_be_is_one_line(
    capsys: pytest.CaptureFixture[str],
    trace: Path,
    command: str,
    arguments: list[str],
    message: str,
) -> None:
    assert run(command, trace, *(str(trace) if a == "TRACE" else a for a in arguments)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert message in err


def test_the_clock_of_the_papers_model_is_the_default() -> None:
    assert Roofline.for_model("opt-13b") == Roofline()
    assert Roofline.for_model("mixtral-8x7b", "h100", 2).flops_per_token == 25.8e9
    assert (
        Pool.for_model("llama-3.1-8b", 4, tp=2).slots == 2 * Pool.for_model("llama-3.1-8b", 4).slots
    )
    assert Pool.for_model("qwen2-1.5b", 4, tp=4).slots == Pool.for_model("qwen2-1.5b", 8).slots
