"""The limits of a step where nobody says, against a table of what 0.6.4.post1 and 0.33.0 take."""

from dataclasses import replace
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.simulation import Limits, Paged, PagedV1
from pagesim.simulation.machine import Machine
from pagesim.sizing import Pool
from pagesim.sizing.amount import GIB
from pagesim.sizing.hardware import CARDS


@pytest.mark.parametrize(
    ("gpu", "given", "tokens", "seqs"),
    [
        ("a100-40gb", {}, 2048, 256),
        ("A100-80GB", {"max_model_len": 32_768}, 2048, 256),
        ("l4", {}, 2048, 256),
        ("rtx-4090", {}, 2048, 256),
        ("h100", {}, 8192, 1024),
        ("h200", {"max_model_len": 131_072}, 8192, 1024),
        ("h100", {"max_model_len": 4}, 4096, 1024),  # never more than all sequences have
        ("h100", {"max_model_len": 4, "max_num_seqs": 3}, 12, 3),
        ("h100", {"max_num_batched_tokens": 700}, 700, 700),
        ("l4", {"max_num_batched_tokens": 700}, 700, 256),
        ("h100", {"max_num_batched_tokens": 700, "max_num_seqs": 9}, 700, 9),
        ("l4", {"chunked": False, "max_model_len": 32_768}, 32_768, 256),
        ("h100", {"chunked": False, "max_model_len": 4096}, 8192, 1024),
    ],
)
def test_v1_has_those_of_its_api_server(
    gpu: str, given: dict[str, Any], tokens: int, seqs: int
) -> None:
    limits = Limits.of_server(gpu, **given)
    assert (limits.budget, limits.max_num_seqs) == (tokens, seqs)
    assert limits.max_model_len == given.get("max_model_len", 2048)


@pytest.mark.parametrize(
    ("memory", "name", "tokens", "seqs"),
    [
        (160 * GIB, "b200", 16_384, 1024),
        (160 * GIB - 1, "b200", 8192, 1024),
        (70 * GIB, "b200", 8192, 1024),
        (70 * GIB - 1, "b200", 2048, 256),
        (70 * GIB, "a100-70gib", 2048, 256),
        (160 * GIB, "a100-160gib", 16_384, 1024),
    ],
)
def test_memory_and_name_of_the_gpu_decide(
    monkeypatch: pytest.MonkeyPatch, memory: int, name: str, tokens: int, seqs: int
) -> None:
    monkeypatch.setitem(CARDS, name, replace(CARDS["h200"], memory_bytes=memory))
    limits = Limits.of_server(name)
    assert (limits.budget, limits.max_num_seqs) == (tokens, seqs)


def test_each_policy_has_its_own() -> None:
    long = Limits(32_768)
    made = [
        (Paged(), long, 32_768),
        (Paged(), Limits(100), 2048),
        (Paged(enable_chunked_prefill=True), long, 512),
        (Paged(enable_chunked_prefill=True), replace(long, max_num_batched_tokens=900), 900),
        (PagedV1(), long, 2048),
        (PagedV1(), replace(long, max_num_batched_tokens=900), 900),
        (PagedV1(enable_chunked_prefill=False), long, 32_768),
    ]
    for policy, limits, tokens in made:
        server: Any = policy.server(1600, limits)
        config = getattr(server, "scheduler", server).scheduler_config
        assert config.max_num_batched_tokens == tokens, (policy, limits)


@pytest.mark.parametrize("name", ["max_model_len", "max_num_seqs", "max_num_batched_tokens"])
def test_none_of_them_is_zero(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at least 1, not 0"):
        Limits.of_server("h100", **{name: 0})
    with pytest.raises(UsageError, match=f"{name} must be at least 1, not 0"):
        Limits(**{name: 0})


def test_a_machine_is_the_papers_or_what_is_named() -> None:
    paper = Machine.of()
    assert paper.pool.slots == 15_728
    assert (paper.model, paper.gpu, paper.tp) == ("opt-13b", "a100-40gb", 1)
    assert Machine.of(kv_gib=6).pool == Pool.for_model("opt-13b", 6)
    for named in ({"model": "opt-13b"}, {"gpu": "a100-40gb"}, {"tp": 1}):
        assert Machine.of(**named).pool == Pool.for_card("opt-13b", "a100-40gb")  # type: ignore[arg-type]
    assert Machine.of("llama-3.1-8b", "h100", 2, pool=Pool(99)).pool == Pool(99)
    assert Machine.of(tp=2, kv_gib=6).pool == Pool.for_model("opt-13b", 6, 2)
    with pytest.raises(UsageError, match="both set the size of the pool"):
        Machine.of(kv_gib=6, pool=Pool(99))
    assert set(paper.keywords("max", {})) == {"pool", "cost_model"}
    assert paper.keywords("v1", {"block_size": 8})["block_size"] == 8
