"""`pagesim size`: the keys of its JSON, its text, and one line for every nonsense."""

from pathlib import Path

import pytest

from tests.commands.runs import Shell

pytestmark = pytest.mark.ch08

CONFIGS = Path(__file__).parents[1] / "data" / "configs"


@pytest.fixture
def size(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "size")


def test_json_of_a_preset(size: Shell) -> None:
    arguments = ["--model", "Qwen2-1.5B", "--memory", "41318436454", "--max-model-len", "4096"]
    assert size.answer(*arguments, "--swap-space", "4") == {
        "model": "qwen2-1.5b",
        "engine": "v1",
        "cache_dtype": "bfloat16",
        "block_size": 16,
        "num_layers": 28,
        "num_groups": 1,
        "bytes_per_token": 28_672,
        "page_bytes": 16_384,
        "block_bytes": 458_752,
        "num_gpu_blocks": [90_067, 90_067],
        "usable_blocks": [90_066, 90_066],
        "tensor_bytes": [1_475_657_728, 1_475_657_728],
        "tokens": [1_441_072, 1_441_072],
        "max_model_len": 4_096,
        "max_concurrency": 90_067 / 256,
        "num_cpu_blocks": 9_362,
    }


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


def test_text(size: Shell) -> None:
    flags = ["--memory", "40.00GiB", "-tp", "2", "-pp", "2", "--swap-space", "4"]
    assert size("--model", "gemma-3-27b", *flags).splitlines() == [
        "gemma-3-27b  31 layers of 62, 8 KV heads of 128, bfloat16 "
        "(huggingface.co/google/gemma-3-27b-it, config.json)",
        "a token      126,976 bytes in all layers",
        "per layer    65,536 bytes for a block of 16 slots",
        "a block      327,680 bytes in 5 tensors",
        "groups       7: a sequence has blocks in each",
        "GPU blocks   131,055 to 131,088",
        "usable       131,054 to 131,087: block 0 is the null block",
        "tensors      5 of 8,588,820,480 to 8,590,983,168 bytes",
        "tokens       1,697,730 to 1,698,158",
        "at once      12.96 sequences of 131,072 tokens",
        "CPU blocks   13,107",
    ]
    assert "a latent vector of 576" in size("--model", "deepseek-v3", "--memory", "40GiB")
