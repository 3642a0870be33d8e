"""`pagesim size --line`: what the lines of a log say of a pool, and of the requests in it."""

import pytest

from tests.commands.runs import Shell

pytestmark = pytest.mark.ch08

MEMORY = "Available KV cache memory: 18.78 GiB"
TOKENS = "(EngineCore_DP0 pid=7) INFO 04-15 07:22:41 [kv_cache_utils.py:1229] GPU KV cache size: "
REFUSED = (
    "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (3.18 GiB). Based on "
    "the available memory, the estimated maximum model length is 34736. Try increasing"
)
REFUSED_BY_V0 = (
    "ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that "
    "can be stored in KV cache (23648). Try increasing `gpu_memory_utilization`"
)
PROFILE = (
    "Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB "
    "peak_torch_memory={}GiB memory_usage_post_profile=15.48GiB non_torch_memory=0.35GiB "
    "kv_cache_size={}GiB gpu_memory_utilization=0.90"
)
STATES = "Setting attention block size to 528 tokens to ensure that attention page size is >= "


@pytest.fixture
def size(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "size")


def flags_of(value: dict[str, object]) -> dict[str, bool | None]:
    fixes = value["fixes"]
    assert isinstance(fixes, list)
    return {one["flag"]: one["enough"] for one in fixes}


def test_a_request_that_never_fits(size: Shell) -> None:
    """100,000 tokens in a cache of 76,640: V1 waits forever, V0 ignores."""
    line = ["--line", f"{TOKENS}76,640 tokens"]
    value = size.answer(*line, "--length", "100000,2000", code=1)
    assert (value["num_gpu_blocks"], value["usable_blocks"]) == ([4_790] * 2, [4_789] * 2)
    assert value["fits"] is False
    assert [one["at_start"] for one in value["requests"]] == [6_250, 125]
    assert [one["at_once"] for one in value["requests"]] == [0, 38]
    assert flags_of(value)["--max-model-len 76624"] is True
    first = size(*line, "--length", "100000", code=1).splitlines()[0]
    assert "forever" in first and "6,250" in first and "1,461" in first
    first = size(*line, "--engine", "v0", "--length", "100000", code=1).splitlines()[0]
    assert "ignored" in first and "null" not in first
    started = size(*line, "--max-model-len", "262144", code=1).splitlines()[0]
    assert "76,624" in started and "forever" in started


def test_v0_keeps_a_watermark_free(size: Shell) -> None:
    """Of 4,735 blocks 1 % stay free: a prompt of 4,688 fits, and none that is longer."""
    line = ["--engine", "v0", "--line", "# GPU blocks: 4735, # CPU blocks: 2048"]
    assert size.answer(*line, "--length", str(4_688 * 16))["fits"] is True
    assert size.answer(*line, "--length", str(4_689 * 16), code=1)["fits"] is False


def test_a_refused_start(size: Shell) -> None:
    """What is missing, in blocks and bytes, and which changes are enough."""
    value = size.answer("--line", REFUSED, code=1)
    assert (value["max_model_len"], value["missing_blocks"]) == (262_144, 16_384 - 2_171)
    low, high = value["block_bytes"]
    assert low <= 16 * 98_304 <= high
    assert value["missing_bytes"] == pytest.approx((24.0 - 3.18) * 2**30, rel=0.002)
    found = flags_of(value)
    assert found["--max-model-len 34736"] and found["--tensor-parallel-size 8"]
    assert found["--kv-cache-dtype fp8"] is False
    named = size.answer("--line", REFUSED, "--model", "qwen3-30b-a3b", code=1)
    assert named["block_bytes"] == 16 * 98_304
    assert named["longest_sequence"] in range(34_720, 34_784)
    value = size.answer("--line", REFUSED_BY_V0, code=1)
    assert (value["num_gpu_blocks"], value["missing_blocks"]) == ([1_478] * 2, 1_813 - 1_478)
    assert flags_of(value)["--enable-chunked-prefill"] is None


def test_why_less_is_too_much(size: Shell) -> None:
    """V0: 20,000 and 35,000 fit beside their peaks, 29,000 does not."""
    model = ["--model", "llama-3.1-8b"]
    found = {}
    logged = {20_000: ("17.06", "3.81"), 29_000: ("17.98", "2.89"), 35_000: ("15.05", "5.82")}
    for length, figures in logged.items():
        line = ["--line", PROFILE.format(*figures), "--max-model-len", length]
        value = size.answer(*model, *line, code=int(length == 29_000))
        assert value["engine"] == "v0"
        found[length] = value
    assert found[20_000]["num_gpu_blocks"] == [1_948, 1_953]
    assert found[29_000]["num_gpu_blocks"] == [1_477, 1_482]
    assert found[35_000]["tokens"][0] > 35_000
    flags = flags_of(found[29_000])
    assert flags["--enable-chunked-prefill"] is None
    assert flags["--gpu-memory-utilization 0.928"] is True
    line = ["--line", PROFILE.format(*logged[29_000]), "--max-model-len", "29000"]
    assert "336 are missing, 672.0 MiB" in size(*model, *line, code=1).splitlines()[0]
    rest = ["--line", PROFILE.format(*logged[29_000]).replace("kv_cache_size=2.89GiB", "")]
    low, high = size.answer(*model, *rest)["num_gpu_blocks"]
    assert low < 1_478 < high


def test_what_one_request_needs(size: Shell) -> None:
    """One request of 1,024 tokens needs 64 blocks and the null block; the others keep prefixes."""
    lines = ["--line", MEMORY, "--line", f"{TOKENS}175,856 tokens", "--max-model-len", "1024"]
    value = size.answer(*lines)
    assert value["num_gpu_blocks"] == [10_991] * 2
    low, high = value["block_bytes"]
    assert low <= 16 * 114_688 <= high
    text = size(*lines, "--max-num-seqs", "1")
    assert "--num-gpu-blocks-override 65" in text and "the other 10,926" in text


def test_a_request_begins_small(size: Shell) -> None:
    """1,000 tokens are admitted with 63 blocks and end with 313."""
    line = ["--line", f"{TOKENS}299,584 tokens"]
    (one,) = size.answer(*line, "--length", "1000+4000")["requests"]
    assert (one["at_start"], one["at_end"]) == (63, 313)
    assert (one["admitted"], one["at_once"]) == (18_723 // 63, 18_723 // 313)
    tiny = size("--line", f"{TOKENS}1,600 tokens", "--length", "1000+4000", code=1).splitlines()[0]
    assert "outgrows" in tiny


def test_hits_are_whole_blocks(size: Shell) -> None:
    lines = ["--line", f"{STATES}mamba page size.", "--line", f"{TOKENS}528,000 tokens"]
    found = size.answer(*lines, "--length", "480,552,979,1056,1057")["requests"]
    assert [one["found"] for one in found] == [0, 528, 528, 528, 1_056]
    off = ["--line", "enable_prefix_caching=False"]
    assert size.answer(*lines, *off, "--length", "552")["requests"][0]["found"] is None


def test_an_override(size: Shell) -> None:
    """The pool is what was given, whatever was profiled."""
    line = "Overriding num_gpu_blocks=333325 with num_gpu_blocks_override={}"
    value = size.answer("--line", line.format(1), "--max-model-len", "2048", code=1)
    assert (value["num_gpu_blocks"], value["missing_blocks"]) == ([1, 1], 128)
    assert [*flags_of(value)] == ["--num-gpu-blocks-override 129, or none"]
    assert size.answer("--line", line.format(129), "--max-model-len", "2048")["fits"]
    assert not size.answer("--line", line.format(128), "--max-model-len", "2048", code=1)["fits"]


def test_before_latent_attention(size: Shell) -> None:
    flags = ["--engine", "v0", "--model", "deepseek-v2-lite", "--dtype", "float16"]
    flags += ["--memory", "35.42GiB", "--max-model-len", "8192"]
    value = size.answer(*flags, "--no-mla")
    assert value["bytes_per_token"] == 442_368
    low, high = value["num_gpu_blocks"]
    assert low <= 5_373 <= high
    assert "31,104 bytes a token, 14.2 times less: 76,431 blocks" in size(*flags, "--no-mla")
    assert size.answer(*flags)["bytes_per_token"] == 31_104
    assert "--no-mla is for" in size.refusal(
        "--model", "deepseek-v3", "--memory", "1GiB", "--no-mla"
    )


def test_lines_beside_a_model(size: Shell) -> None:
    """The blocks of several groups come from the tokens; another flag has the same memory."""
    lines = ["--line", f"{TOKENS}21,219 tokens"]
    lines += ["--line", "Maximum concurrency for 131,072 tokens per request: 0.16x"]
    value = size.answer("--model", "gemma-3-27b", *lines, code=1)
    assert value["num_gpu_blocks"] == [1_638, 1_638]
    assert flags_of(value)["--tensor-parallel-size 8"] is True
    twice = size.answer("--model", "gemma-3-27b", *lines, "--length", "900", "-dp", "2", code=1)
    assert twice["gpus"] == {"tensor": 1, "pipeline": 1, "data": 2}
    text = size("--model", "qwen2-1.5b", "--line", MEMORY, "-tp", "2", "-dp", "2")
    assert "4 GPUs" in text and "2 pools" in text
    blocks = size.answer("--model", "qwen2-1.5b", "--line", "# GPU blocks: 90067")
    assert blocks["num_gpu_blocks"] == [90_067, 90_067]


def test_lines_that_do_not_agree(size: Shell) -> None:
    concurrency = "Maximum concurrency for 262,144 tokens per request: {}x"
    line = ["--line", f"{TOKENS}776,404 tokens", "--line"]
    assert "careful" in size(*line, concurrency.format("5.92"))
    assert "careful" not in size(*line, concurrency.format("2.96"))
    only = size.answer("--line", concurrency.format("5.92"))
    low, high = only["tokens"]
    assert low <= 5.92 * 262_144 <= high < low * 1.01


def test_nonsense(size: Shell) -> None:
    assert "states nothing" in size.refusal("--line", "hello")
    assert "--model" in size.refusal("--line", MEMORY)
    assert "give --memory" in size.refusal("--model", "qwen3-8b", "--line", "V1 LLM engine")
    assert "no line states" in size.refusal("--line", f"KV cache size: {'9' * 25} tokens")
    for length in ("x", "0", "1+2+3", "-1", "9" * 20, ""):
        assert "--length" in size.refusal("--line", f"{TOKENS}160 tokens", "--length", length)
    draw = ["--line", f"{TOKENS}160 tokens", "-o", "groups.svg"]
    assert "groups of a model" in size.refusal(*draw)
