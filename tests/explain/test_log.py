"""`explain_log`: what is wrong according to the lines of a log, and what to change."""

import re

import pytest

from pagesim.explain.log_meaning import meanings
from pagesim.explain.log_story import story_of
from tests.explain.logs import found, only, tokens, v0, v1

pytestmark = pytest.mark.ch10

REFUSED = (
    "(EngineCore_DP0 pid=1094) ValueError: To serve at least one request with the models's max seq "
    "len (262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache "
    "memory (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736."
)
REFUSED_BY_V0 = (
    "ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that "
    "can be stored in KV cache (23648)."
)
IGNORED = (
    "WARNING 11-20 10:00:01 scheduler.py:935] Input prompt (512 tokens) + lookahead slots (0) is "
    "too long and exceeds the capacity of block_manager"
)
PREEMPTED = (
    "WARNING 11-20 10:00:01 scheduler.py:1481] Sequence group 221 is preempted by "
    "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the "
    "end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide "
    "more KV cache memory. total_num_cumulative_preemption={}"
)


def test_a_refused_start() -> None:
    one = only(REFUSED)
    assert "14,213" in one.detail and "34,736" in one.detail
    assert "--max-model-len 34736" in one.change and "--tensor-parallel-size 8" in one.change
    one = only("", REFUSED_BY_V0)
    assert one.steps == (2,) and "335" in one.detail and "null" not in one.detail
    assert found(REFUSED, *tokens(34_000, 30_000)) == []  # the next start succeeded


def test_too_little_memory() -> None:
    one = only("ValueError: No available memory for the cache blocks. Try increasing")
    assert "--tensor-parallel-size" in one.change
    one = only(
        "ValueError: Free memory on device cuda:0 (20.1/23.58 GiB) on startup is less than desired "
        "GPU memory utilization (0.9, 21.22 GiB). Decrease GPU memory utilization"
    )
    assert "0.85" in one.change
    one = only("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert one.steps == (1,) and "--gpu-memory-utilization" in one.change


def test_a_head_that_never_fits() -> None:
    """Running 0 and Waiting 1 until the end: named first, with the length that fits."""
    lines = [
        "non-default args: {'model': 'google/gemma-4-31B-it', 'max_model_len': 262144}",
        *tokens(76_640),
        v1(0, 1, 0, 3.3, prompt=12, generation=30),
        v1(10, 0, 1, 0.0),
        v1(20, 0, 3, 0.0),
        v1(30, 0, 3, 0.0),
    ]
    one = only(*lines)
    assert (one.quirk, one.steps, one.cost) == ("w08", (4,), {"requests starving": 3})
    assert "76,624" in one.detail and "20 s" in one.detail
    assert "--max-model-len 76624" in one.change
    again = found(*lines, v1(40, 2, 0, 9.0, generation=30))
    assert [each.quirk for each in again] == ["w08"]
    assert found(*lines[:2], v1(0, 0, 1, 0.0), v1(10, 1, 0, 9.0, generation=30))[0].cost == {}


def test_other_reasons_for_a_stall() -> None:
    preempting = [v1(0, 2, 0, 99.0, generation=9), v1(10, 1, 1, 99.5, preemptions=1, generation=9)]
    stuck = [v1(20, 0, 2, 0.0), v1(30, 0, 2, 0.0)]
    length = "Using max model len {}"
    pool = [*tokens(16_000), length.format(20_000)]
    assert [one.quirk for one in found(*pool, *preempting, *stuck)] == ["w09", None]
    small = found(*tokens(16_000), length.format(2_000), *stuck)
    assert [one.quirk for one in small] == [None] and "size alone" in small[0].detail
    unknown = only(*stuck)
    assert unknown.quirk == "w08" and unknown.change
    loading = only(*pool[:1], v1(0, 0, 2, 61.0, fetching=2), v1(10, 0, 2, 61.0, fetching=2))
    assert loading.quirk == "o21"
    assert "2 loads" in loading.detail and "61 %" in loading.detail
    connector = "kv_transfer_config: KVTransferConfig(kv_connector='OffloadingConnector')"
    assert only(connector, *[v1(at, 0, 2, 61.0) for at in (0, 10)]).quirk == "o21"
    assert "Only the last line" in only(*pool[:1], v1(0, 0, 2, 0.0)).detail


def test_what_is_no_loop() -> None:
    """One long prompt, and many prompts with an output of one token each."""
    times = range(0, 50, 10)
    long = [v1(at, 1, 0, 99.0, prompt=300) for at in times]
    assert found(*tokens(16_000), *long) == []
    many = [v1(at, 1, 0, 9.0, prompt=9_000) for at in times]
    assert found(*tokens(16_000), *many) == []
    again = [v1(at, 1, 0, 99.0, prompt=9_000) for at in times]
    assert [one.quirk for one in found(*tokens(16_000), *again)] == ["w10"]


def test_silence() -> None:
    """V1 logs one line of a stall: what follows it, or nothing, says how long it was."""
    before = v1(0, 1, 0, 3.0, generation=9)
    assert found(before, v1(10, 0, 1, 0.0), v1(20, 1, 0, 3.0, generation=9)) == []
    one = only(before, v1(10, 0, 1, 0.0), v1(610, 1, 0, 3.0, generation=9))
    assert one.steps == (2,) and "600 s" in one.detail
    access = "INFO:     10.0.0.7:59146 - GET /metrics 200 OK 2026-04-28 22:05:10"
    one = only(before, v1(10, 0, 1, 0.0), access)
    assert "300 s without" in one.detail


def test_v0_waits_for_a_swapped_request() -> None:
    one = only(v0(0, 3, 0.0, swapped=1, cpu=50.0), v0(0, 3, 0.0, swapped=1, cpu=50.0))
    assert one.quirk == "q16" and one.cost == {"requests starving": 4}
    assert only(v0(0, 3, 0.0), v0(0, 3, 0.0)).quirk is None


def test_requests_that_never_fit_are_accepted() -> None:
    """Said of a server that runs, unless the two figures count different things."""
    one = only(*tokens(76_640, 262_144))
    assert one.quirk == "w08" and "--max-model-len 76624" in one.change
    assert found(*tokens(76_640, 32_768)) == []
    hybrid = [*tokens(76_640)[:1], "Maximum concurrency for 262,144 tokens per request: 1.29x"]
    assert "do not belong together" in only(*hybrid).title


def test_an_ignored_prompt() -> None:
    """512 tokens are those of a step: the prompt had more than the 75,008 that fit."""
    pool = "INFO 11-20 10:00:00 gpu_executor.py:122] # GPU blocks: 4735, # CPU blocks: 2048"
    one = only(pool, IGNORED, IGNORED)
    assert one.steps == (2, 3)
    assert "75,008" in one.detail and "512 are the tokens of one step" in one.detail
    assert "--max-model-len 75008" in one.change
    length = "Maximum concurrency for 80000 tokens per request: 0.95x"
    assert "gnored" in only(pool, length, IGNORED).title
    assert "never fit" in only(pool, length).title
    assert "one step" not in only(pool, IGNORED.replace("512", "80000")).detail
    assert only(IGNORED).change
    limit = "Input prompt (5000 tokens) is too long and exceeds limit of 4096"
    assert "4,096" in only(limit).title


def test_preemptions() -> None:
    one = only(v0(5, 2, 99.9), PREEMPTED.format(1), PREEMPTED.format(51))
    assert "51" in one.title and one.steps == (2, 3)
    one = only(
        v1(0, 9, 0, 98.0, generation=9),
        v1(10, 8, 1, 99.0, preemptions=4, generation=9),
        v1(20, 7, 2, 99.0, preemptions=3, generation=9),
    )
    assert "7" in one.title and one.steps == (2, 3) and "--max-num-seqs 7 " in one.change
    older = [v1(at, 9 - at // 10, at // 10, 99.0, generation=9) for at in range(0, 40, 10)]
    assert "probably" in only(*older).title
    assert found(*older[:2]) == []


def test_requests_wait_beside_room() -> None:
    lines = [v1(at, 16, 5, 40.0, prompt=50, generation=300) for at in range(0, 40, 10)]
    one = only("non-default args: {'max_num_seqs': 16}", *lines)
    assert "max_num_seqs is 16" in one.detail and "--max-num-seqs above 16" in one.change
    assert "does not say" in only(*lines).detail
    assert found("non-default args: {'max_num_seqs': 64}", *lines) == []
    lost = [v1(at, 16, 5, 90.0, prompt=9, generation=99, preemptions=1) for at in range(0, 40, 10)]
    assert "preempted" in only(*lost).title
    blocked = [v1(0, 4, 0, 90.0, generation=9)]
    blocked += [v1(at, 1, 14, 76.5, generation=5) for at in range(10, 50, 10)]
    one = only(*tokens(76_640), *blocked)
    assert "1,125 blocks, 18,000 tokens" in one.detail
    full = [v1(at, 16, 5, 99.0, prompt=50, generation=300) for at in range(0, 40, 10)]
    assert found(*full) == []
    large = only(*[v1(at, 1, 14, 76.5, generation=5) for at in range(0, 40, 10)])
    assert "head of the queue" in large.title and "21" not in large.change
    counts = range(0, 40, 10)
    growing = [v1(at, 4 + at, 90 - at, 20.0 + at, prompt=9_000, generation=99) for at in counts]
    one = only(*growing)
    assert one.quirk == "w14" and "90" in one.title and "with about 65" in one.detail
    starved = [v1(at, 4, 0, 20.0, prompt=9_000, generation=3) for at in counts]
    assert "outputs" in only(*starved).title


def test_nothing_is_found() -> None:
    lines = [v1(at, 1, 0, 5.0, prompt=100, generation=9, hits=0) for at in range(0, 40, 10)]
    one = only(*lines)
    assert one.steps == (1, 2, 3, 4) and "4,000 tokens" in one.detail
    states = "Setting attention block size to 528 tokens to ensure that attention page size is >= "
    one = only(f"{states}mamba page size.", *lines)
    assert one.quirk == "g27" and "528" in one.title
    off = only("config: model='m', enable_prefix_caching=False, seed=0", *lines)
    assert "off" in off.title
    assert found(*lines, v1(50, 1, 0, 5.0, prompt=100, hits=0.1)) == []
    assert found(*[v1(at, 1, 0, 5.0, generation=9, hits=0) for at in range(0, 40, 10)]) == []
    rates = "INFO metrics.py:465] Prefix cache hit rate: GPU: {}%, CPU: 0.00%"
    old = v0(1, 0, 5.0).replace("prompt throughput: 0.0", "prompt throughput: 80.0")
    assert "prefix cache" in only(*[old, rates.format("0.00")] * 3).title
    assert found(*[old, rates.format("21.43")] * 3) == []
    cpu = rates.format("0.00").replace("CPU: 0.00", "CPU: 90.00")
    assert found(*[old, cpu] * 3) == []


def test_blocks_without_requests() -> None:
    lines = [v1(at, 0, 0, 12.5) for at in range(0, 30, 10)]
    one = only(*lines)
    assert "12.5 %" in one.title
    assert found(*[v1(at, 0, 0, 0.0) for at in range(0, 30, 10)]) == []
    assert found(lines[0], v1(10, 1, 0, 12.5, generation=9), lines[2]) == []


def test_the_second_tier() -> None:
    failed = "Failing 3 request(s) due to KV load failure (failure_policy=fail, 512 tokens)"
    assert only(failed).quirk == "o12"
    slow = "cudaHostRegister failed (code=1): transfers may be slower (unpinned DMA)"
    assert "not pinned" in only(slow).title
    lines = [v1(at, 1, 0, 5.0, prompt=100, generation=9, external=0) for at in range(0, 40, 10)]
    assert only(*lines).quirk == "o06"
    hit = [v1(at, 1, 0, 5.0, prompt=100, generation=9, external=3.0) for at in range(0, 40, 10)]
    assert found(*hit) == []


def test_figures_that_cannot_be_true() -> None:
    override = "Overriding num_gpu_blocks=333325 with num_gpu_blocks_override=100"
    one = only(override, *tokens(5_333_200))
    assert "1,600 tokens" in one.detail
    assert "different sizes" in only(*tokens(160), *tokens(320)).title


def test_replicas() -> None:
    """Each engine by itself; and one with a queue beside one that is idle."""
    lines = [
        v1(0, 3, 9, 40.0, engine=0, generation=9),
        v1(0, 0, 0, 0.0, engine=1),
        v1(10, 4, 9, 50.0, engine=0, generation=9),
        v1(10, 0, 0, 0.0, engine=1),
    ]
    one = only(*lines)
    assert "idle" in one.title and "engine 000" in one.detail and one.steps == (3, 4)
    stuck = [v1(at, 0, 2, 0.0, engine=at % 2) for at in range(6)]
    assert [each.steps for each in found(*stuck)] == [(1,), (2,)]
    assert re.match("Engine 001, ", found(*stuck)[1].detail)
    aggregated = v1(0, 0, 2, 0.0).replace("Engine 000", "4 Engines Aggregated")
    assert only(aggregated, aggregated).cost == {"requests starving": 2}


def test_refusals_of_the_server() -> None:
    one = only("This model's maximum context length is 8192 tokens. However, your prompt contains")
    assert "8,192" in one.detail
    one = only("Failed to reset prefix cache because some blocks (17) are not freed yet")
    assert one.quirk == "w22" and "17" in one.detail
    one = only("RuntimeError: Aborted due to the lack of CPU swap space. Please increase")
    assert one.quirk == "q43"


def test_a_healthy_server() -> None:
    lines = [v1(at, 5, 0, 30.0, prompt=90, generation=80, hits=40) for at in range(0, 90, 10)]
    assert found(*tokens(76_640, 8_192), *lines, v1(100, 0, 0, 0.0, hits=40)) == []


def test_meanings() -> None:
    """The kinds of lines that are there, in their order, with what follows from them."""
    lines = [
        "Chunked prefill is enabled with max_num_batched_tokens=8192.",
        "Available KV cache memory: 10.0 GiB",
        *tokens(163_840, 131_072),
        "Created mmap file /dev/shm/vllm_offload_7.mmap (13.11 GB)",
        v1(0, 4, 1, 66.7, generation=9, hits=36.5, preemptions=2),
        "KV Transfer metrics: vllm:kv_offload_load_bytes=536870912, vllm:kv_offload_load_time=0.02",
    ]
    rows = meanings(story_of(lines))
    assert [line for line, _, _ in rows] == sorted(line for line, _, _ in rows)
    found_rows = {name: text for _, name, text in rows}
    assert "16 steps" in found_rows["chunked prefill"]
    assert "10,239 are usable" in found_rows["size of the cache"]
    assert "64.0 KiB a token" in found_rows["size of the cache"]
    assert "1.25 requests of exactly 131,072" in found_rows["maximum concurrency"]
    assert "200,0" in found_rows["second tier"]
    assert "6,829 blocks" in found_rows["KV cache usage"]
    assert "36.5 %" in found_rows["Prefix cache hit rate"]
    assert "2 in all" in found_rows["Preemptions"]
    assert "26.8 GB/s" in found_rows["KV transfers"]
    old = {name for _, name, _ in meanings(story_of([v0(1, 2, 50.0)]))}
    assert "no line" not in old and "KV cache usage" in old
