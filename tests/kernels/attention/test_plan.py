"""Plan once a step, run once a layer: how often the host waits, and which plans are refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from pagesim import kernels
from pagesim.kernels import backend, cache_write
from pagesim.kernels.attention import fused_decode, prefill, v1, v2
from pagesim.kernels.runtime.inputs import require
from tests.kernels import pages
from tests.kernels.cases import FP8, Case, make_case
from tests.kernels.test_cache_write import slot_tensor

LAYERS = 28
# What makes the host wait for a GPU. `.numpy()` is not among them: it takes tensors on the CPU.
WAITS = {"cpu", "item", "tolist", "nonzero", "__bool__", "__int__", "__float__", "__index__"}
PLANS = {
    "v1": (kernels.plan_decode, kernels.paged_attention_v1),
    "v2": (kernels.plan_decode, kernels.paged_attention_v2),
    "prefill": (kernels.plan_prefill, kernels.paged_prefill),
    "fused": (kernels.plan_fused_decode, kernels.fused_decode),
}


class Waits(TorchFunctionMode):
    """Counts the calls that copy from a device to the host."""

    count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        to_host = name == "to" and "cpu" in [str(a) for a in (*args[1:], *(kwargs or {}).values())]
        self.count += name in WAITS or to_host
        return func(*args, **(kwargs or {}))


@contextmanager
def no_waits() -> Iterator[None]:
    """Where there is a GPU, torch itself raises RuntimeError when something waits for it."""
    if backend.device() == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        if backend.device() == "cuda":
            torch.cuda.set_sync_debug_mode("default")


class NoKernel:
    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *arguments, **constants: None


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that do nothing: the interpreter's own copies are not ours to count."""
    if backend.decide().mode == "reference":
        pytest.skip("without triton there is nothing to launch")
    for module, name in [
        (v1, "paged_attention_v1_kernel"),
        (v2, "split_kernel"),
        (v2, "reduce_kernel"),
        (prefill, "prefill_kernel"),
        (fused_decode, "fused_decode_kernel"),
        (cache_write, "reshape_and_cache_kernel"),
    ]:
        monkeypatch.setattr(module, name, NoKernel())


def small(kernel: str, **keywords: Any) -> Case:
    return make_case(pages.fragmented([13, 6], 4), kernel=kernel, heads=4, head_dim=16, **keywords)


def step(kernel: str, named: dict[str, Any], slots: torch.Tensor, plan: Any, **scales: Any) -> None:
    """One step of a model: every layer writes its new tokens and attends."""
    rows = torch.ones(slots.shape[0], 2, 16, device=slots.device)
    for _ in range(LAYERS):
        caches = {name: named[name].clone() for name in ("k_cache", "v_cache")}
        kernels.reshape_and_cache(rows, rows, **caches, slot_mapping=slots, **scales, plan=plan)
        PLANS[kernel][1](**{**named, **caches}, **scales, plan=plan)


def test_the_counter_counts() -> None:
    tensor = torch.ones(1)
    for wait in (torch.Tensor.cpu, torch.Tensor.item, torch.Tensor.tolist, bool, int, float):
        with Waits() as counter:
            wait(tensor)
        assert counter.count == 1, wait
    with Waits() as counter:
        tensor.to("cpu")
        tensor.to(device=torch.device("cpu"))
    assert counter.count == 2


@pytest.mark.parametrize("kernel", PLANS)
@pytest.mark.parametrize("fp8", [False, True], ids=["", "fp8"])
def test_a_step_of_28_layers_waits_once(kernel: str, fp8: bool, no_kernels: None) -> None:
    named = small(kernel, cache_dtype=FP8 if fp8 else None).named
    slots = slot_tensor([3, 17])
    ones = torch.ones(2, device=slots.device)
    scales = {"k_scale": ones, "v_scale": 2 * ones} if fp8 else {}
    with Waits() as counter:
        plan = PLANS[kernel][0](**named, slot_mapping=slots)
        assert counter.count == 1
        with no_waits():
            step(kernel, named, slots, plan, **scales)
    assert counter.count == 1
    with Waits() as counter:
        step(kernel, named, slots, None, **scales)
    assert counter.count == LAYERS * (4 if fp8 else 2)  # tables, slots, and the values of scales


@pytest.mark.parametrize("kernel", PLANS)
@pytest.mark.parametrize("window", [0, 5])
def test_the_answer_is_the_same(kernel: str, window: int) -> None:
    case = small(kernel, window=window)
    make, launch = PLANS[kernel]
    named = case.named
    plan = make(**named, sliding_window=window)
    out = launch(**named, sliding_window=window, plan=plan)
    case.compare(out, sliding_window=window, plan=plan, return_lse=False)


def test_partitions_are_the_plans(no_kernels: None) -> None:
    named = small("v2").named
    plan = kernels.plan_decode(**named, partition_size=4)
    assert (plan.span, plan.num_partitions) == (4, 4)
    assert kernels.plan_decode(**named, num_partitions=2).num_partitions == 2
    for keywords in ({"partition_size": 8}, {"num_partitions": 2}):
        with pytest.raises(ValueError, match=f"{next(iter(keywords))} is given .* plan"):
            kernels.paged_attention_v2(**named, plan=plan, **keywords)
    with pytest.raises(ValueError, match="num_partitions = 0"):
        kernels.plan_decode(**named, num_partitions=0)


def test_a_plan_serves_writes(no_kernels: None) -> None:
    named, slots = small("v1").named, slot_tensor([3, 17])
    rows = torch.ones(2, 2, 16, device=slots.device)
    arguments = (rows, rows, named["k_cache"], named["v_cache"], slots)
    of_writes, of_both, of_reads = (
        kernels.plan_write(*arguments),
        kernels.plan_decode(**named, slot_mapping=slots),
        kernels.plan_decode(**named),
    )
    for plan in (of_writes, of_both):
        with Waits() as counter:
            kernels.reshape_and_cache(*arguments, plan=plan)
        assert counter.count == 0
    with pytest.raises(ValueError, match=r"for slot_mapping = None, but this call has int64 \[2\]"):
        kernels.reshape_and_cache(*arguments, plan=of_reads)
    with pytest.raises(ValueError, match="made for the call = None, but this call has decode"):
        kernels.paged_attention_v1(**named, plan=of_writes)


def test_a_scale_that_is_a_plain_number_is_checked_with_a_plan_too(no_kernels: None) -> None:
    slots = slot_tensor([3, 17])
    rows = torch.ones(2, 2, 16, device=slots.device)
    caches = [torch.zeros(6, 4, 2, 16, device=slots.device).to(FP8) for _ in "kv"]
    plan = kernels.plan_write(rows, rows, *caches, slots)
    with pytest.raises(ValueError, match=r"v_scale is -1.0 for KV head 0: .*positive"):
        kernels.reshape_and_cache(rows, rows, *caches, slots, v_scale=-1.0, plan=plan)


def test_bad_slots_are_refused_when_planning() -> None:
    named = small("v1").named
    with pytest.raises(ValueError, match=r"slot_mapping\[1\] = 999"):
        kernels.plan_decode(**named, slot_mapping=slot_tensor([3, 999]))
    with pytest.raises(ValueError, match="tokens 0 and 1 share a slot"):
        kernels.plan_decode(**named, slot_mapping=slot_tensor([3, 3]))
    with pytest.raises(ValueError, match="slot_mapping has dtype int32"):
        kernels.plan_decode(**named, slot_mapping=slot_tensor([3, 4]).int())


def only(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> Callable[..., None]:
    """The call with some of its tensors changed."""
    return lambda a: a.update({name: change(a[name]) for name in names})


OTHERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "another batch": (
        only(lambda t: t[:1], "q", "block_tables", "seq_lens"),
        r"q = float32 \[2, 4, 16\] on \w+, but this call has float32 \[1, 4, 16\]",
    ),
    "another dtype": (
        only(torch.Tensor.half, "q", "k_cache", "v_cache"),
        r"q = float32 \[2, 4, 16\] on \w+, but this call has float16 \[2, 4, 16\]",
    ),
    "other heads": (only(lambda t: torch.cat([t, t], 1), "q"), r"q = .* float32 \[2, 8, 16\]"),
    "a smaller cache": (only(lambda t: t[:-1], "k_cache", "v_cache"), "k_cache = float32"),
    "another window": (lambda a: a.update(sliding_window=4), "sliding_window = 0, .* has 4"),
    "another table": (only(torch.Tensor.clone, "block_tables"), r"block_tables = int32 .* at 0x"),
    "a table that was changed": (
        lambda a: a["block_tables"].fill_(0),
        "block_tables = .* after 0 changes in place, .* after 1",
    ),
    "lengths that have grown": (
        lambda a: a["seq_lens"].add_(1),
        "seq_lens = .* after 0 changes in place, .* after 1",
    ),
}


@pytest.mark.parametrize("which", OTHERS)
@pytest.mark.parametrize("launch", [kernels.paged_attention_v1, kernels.paged_attention_v2])
def test_a_plan_for_something_else_is_refused(which: str, launch: Any) -> None:
    arguments = small("v1").named
    plan = kernels.plan_decode(**arguments)
    change, message = OTHERS[which]
    change(arguments)
    with pytest.raises(ValueError, match=message):
        launch(**arguments, plan=plan)


def test_another_device_is_named() -> None:
    plan = kernels.plan_decode(**small("v1").named)
    with pytest.raises(ValueError, match=r"on (cpu|cuda:0), but this call has .* on cuda:7"):
        require(plan, {"q": ("float32", [2, 4, 16], "on", "cuda:7")})


def test_a_plan_for_another_kernel_is_refused() -> None:
    decode, prompt, fused = (small(kernel).named for kernel in ("v1", "prefill", "fused"))
    plan, of_prompt = kernels.plan_decode(**decode), kernels.plan_prefill(**prompt)
    with pytest.raises(ValueError, match="made for the call = decode, but this call has prefill"):
        kernels.paged_prefill(**prompt, plan=plan)
    with pytest.raises(
        ValueError, match="made for the call = prefill, but this call has fused decode"
    ):
        kernels.fused_decode(**fused, plan=of_prompt)
    with pytest.raises(TypeError, match=r"plan must come from one of kernels\.plan_…, got 3"):
        kernels.paged_attention_v1(**decode, plan=3)


def test_a_plan_says_what_it_was_made_for() -> None:
    plan = kernels.plan_decode(**small("v1").named)
    assert repr(plan).startswith("Plan(the call = decode, q = float32 [2, 4, 16] on ")


def test_tensors_whose_changes_are_not_counted() -> None:
    with torch.inference_mode():
        case = small("v1")
        arguments = case.named
        assert arguments["seq_lens"].is_inference()
        plan = kernels.plan_decode(**arguments)
        out = kernels.paged_attention_v1(**arguments, plan=plan)
        case.compare(out)
