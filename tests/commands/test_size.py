"""`pagesim size`: the keys of its JSON, its text, and one line for every nonsense."""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.commands.runs import Shell
from tests.rows import rows

pytestmark = pytest.mark.ch08

NUMBER = r"\d(?:[\d.,]*\d)?"
CONFIGS = Path(__file__).parents[1] / "data" / "configs"


@pytest.fixture
def size(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "size")


def test_json_of_a_preset(size: Shell, snapshot: SnapshotAssertion) -> None:
    arguments = ["--model", "Qwen2-1.5B", "--memory", "41318436454", "--max-model-len", "4096"]
    value = size.answer(*arguments, "--swap-space", "4")
    assert [re.findall(NUMBER, line) for line in value.pop("log")] == [
        ["1,441,072", "4,096", "351.82"]
    ]
    assert rows(value) == snapshot


def test_a_printed_amount_gives_ranges(size: Shell) -> None:
    value = size.answer("--model", "qwen2-1.5b", "--memory", "38.48GiB")
    assert value["num_gpu_blocks"] == [90_053, 90_076]
    assert value["tokens"] == [1_440_848, 1_441_216]
    assert value["max_model_len"] == 131_072
    assert value["max_concurrency"] == 90_076 / 8_192
    assert value["num_cpu_blocks"] is None


def test_a_config_and_all_flags(size: Shell) -> None:
    flags = ["--block-size", "32", "--dtype", "float", "--kv-cache-dtype", "fp8_e5m2"]
    flags += ["--tensor-parallel-size", "2", "--pipeline-parallel-size", "4"]
    value = size.answer("--config", CONFIGS / "qwen3.json", "--memory", "1GiB", *flags)
    assert (value["model"], value["cache_dtype"]) == ("qwen3", "fp8_e5m2")
    assert value["page_bytes"] == 2 * 32 * 4 * 128
    assert value["bytes_per_token"] == 7 * 2 * 4 * 128
    assert value["num_gpu_blocks"] == [2**30 // (7 * 32_768)] * 2
    step = ["--max-num-batched-tokens", "100", "--max-model-len", "2000"]
    hybrid = ["--config", CONFIGS / "layer_types.json", "--num-gpu-blocks-override", "500"]
    value = size.answer(*hybrid, *step)
    assert (value["num_groups"], value["num_gpu_blocks"]) == (2, [500, 500])
    assert value["max_concurrency"] == 500 / (125 + 21 + 1)


def test_v0_from_the_whole_card(size: Shell) -> None:
    card = ["--engine", "v0", "--model", "llama-3.1-8b", "--gpu-memory", "24GiB"]
    exact = size.answer(*card, "--peak", "17GiB", "--gpu-memory-utilization", "0.9")
    assert exact["num_gpu_blocks"] == [2_355, 2_355]
    assert size.answer(*card, "--peak", "17GiB") == exact
    rounded = size.answer(*card, "--peak", "17.0GiB")
    assert rounded["num_gpu_blocks"] == [2_329, 2_380]
    logged = ["--engine", "v0", "--model", "llama-3.1-8b", "--memory", "3.81GiB"]
    value = size.answer(*logged, "--swap-space", "4", "--max-model-len", "20000")
    assert value["num_gpu_blocks"] == value["usable_blocks"] == [1_948, 1_953]
    assert value["num_cpu_blocks"] == 2_048
    assert value["max_concurrency"] == 1_953 * 16 / 20_000


def test_text(size: Shell, snapshot: SnapshotAssertion) -> None:
    flags = ["--memory", "40.00GiB", "-tp", "2", "-pp", "2", "--swap-space", "4"]
    lines = size("--model", "gemma-3-27b", *flags).splitlines()
    assert [" ".join(re.findall(NUMBER, line)) for line in lines] == snapshot
    assert "a latent vector of 576" in size("--model", "deepseek-v3", "--memory", "40GiB")


def test_a_model_with_states(size: Shell) -> None:
    """The block's 528 tokens and their reason, the padding, where hits end, and the log."""
    flags = ["--model", "qwen3.5-9b", "--memory", "20GiB", "--max-model-len", "32768"]
    text = size(*flags)
    for words in (
        "a state       2,146,304 bytes in each of 24 layers",
        "as much as 524 tokens of 4,096 bytes; the next multiple of 16 is 528",
        "per layer     2,162,688 bytes for a block of 528 slots",
        "  3 groups    24 layers with states, blocks of 528 tokens",
        "padded pages  16,384 of 2,162,688 bytes in 24 layers with states: 0.57 %",
        "hits end      at multiples of 528 tokens",
        "each needs    69 blocks",
        "fp8 holds     1.82 times as many sequences of 32,768 tokens, 1.00 times of 528",
    ):
        assert words in text
    value = size.answer(*flags)
    assert [line.split(" to ensure")[0] for line in value["log"][:2]] == [
        "Setting attention block size to 528 tokens",
        "Padding mamba page size by 0.76%",
    ]
    assert value["waste"] == {"padded pages": 24 * 16_384 / (32 * 2_162_688)}
    assert [group["kind"] for group in value["groups"]] == ["states"] * 3 + ["full"]
    assert (value["scheduler_block_size"], value["hash_block_size"]) == (528, 528)
    once = size.answer(*flags, "--no-enable-prefix-caching")
    assert (once["blocks_per_sequence"], once["scheduler_block_size"]) == (66, 1_081_344)
    text = size(*flags, "--no-enable-prefix-caching")
    assert "one block for a sequence" in text and "hits end" not in text
    small = size.answer(*flags, "--mamba-ssm-cache-dtype", "bfloat16", "--kv-cache-dtype", "fp8")
    assert (small["block_size"], small["fp8_gain"]) == (544, None)
    keeping = size("--model", "nemotron-h-8b", "--memory", "20GiB")
    assert "28 layers of 52, 8 KV heads" in keeping


def test_flags_of_v1(size: Shell) -> None:
    flags = ["--model", "gpt-oss-20b", "--memory", "20GiB", "--max-num-batched-tokens", "8192"]
    both = [
        size.answer(*flags, *more)["max_concurrency"]
        for more in ([], ["--disable-hybrid-kv-cache-manager"], ["--no-async-scheduling"])
    ]
    assert [f"{one:.2f}" for one in both] == ["5.92", "3.33", "6.27"]
    assert "1: full attention, though some have a window of 128 tokens" in size(
        *flags, "--disable-hybrid-kv-cache-manager"
    )
    for more, words in (
        (["--mamba-cache-mode", "align"], "--mamba-cache-mode is for --engine v1"),
        (["--no-async-scheduling"], "--async-scheduling is for --engine v1"),
        (["--max-model-len", "-1"], "--max-model-len -1 is for --engine v1"),
    ):
        assert words in size.refusal("--engine", "v0", *flags, *more)


def test_a_sequence_that_does_not_fit(size: Shell) -> None:
    """It is said first, with what is missing and what helps; if a length is given, it is a no."""
    flags = ["--model", "gemma-3-27b", "--memory", "2GiB", "--max-num-batched-tokens", "8192"]
    text = size(*flags)
    assert "too long" in text and "the longest that fits has 3,728" in text
    assert "GPU KV cache size" not in text
    assert size.answer(*flags)["longest_sequence"] == 3_728
    asked = [*flags, "--max-model-len", "131072"]
    assert size(*asked, code=1).splitlines()[:3] == text.splitlines()[:3]
    value = size.answer(*asked, code=1)
    assert (value["missing_blocks"], value["missing_bytes"]) == (13_089, 13_089 * 1_310_720)
    assert {one["flag"]: one["enough"] for one in value["fixes"]} == {
        "--max-model-len 3728": True,
        "--tensor-parallel-size 8": None,
        "--pipeline-parallel-size 8": None,
        "--kv-cache-dtype fp8": False,
        "--max-num-batched-tokens 512": False,
        "--gpu-memory-utilization": None,
        f"--kv-cache-memory-bytes {14_727 * 1_310_720}": None,
        "--max-num-batched-tokens, smaller": None,
    }
    assert size.answer(*flags, "--max-model-len", "-1")["max_model_len"] == 3_728
    assert "--max-model-len must be -1 or at least 1" in size.refusal(
        *flags, "--max-model-len", "0"
    )
    one = ["--model", "qwen2-1.5b", "--num-gpu-blocks-override", "1"]
    assert "no sequence fits" in size(*one)
    fixes = size.answer(*one, "--max-model-len", "2048", code=1)["fixes"]
    assert [fix["flag"] for fix in fixes] == ["--num-gpu-blocks-override 129, or none"]


def test_a_picture_of_the_groups(size: Shell, tmp_path: Path) -> None:
    out = tmp_path / "groups.svg"
    flags = ["--model", "gpt-oss-20b", "--memory", "20GiB"]
    assert f"{out} shows the groups." in size(*flags, "-o", out)
    assert "12 layers with a window of 128 tokens" in out.read_text("utf-8")
    assert size.answer(*flags, "--out", out)["out"] == str(out)
    assert "must end in .svg, .png or .pdf" in size.refusal(*flags, "-o", tmp_path / "groups.txt")
