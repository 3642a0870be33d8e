"""The figures of the language model's benchmark as data and as text."""

from __future__ import annotations

import platform
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pagesim.kernels.bench.llm_meter import Meter
from pagesim.kernels.tiny_llm.model import Model

BOUNDS = {"total": 1.5, "decode": 2.5}
"""What --check asks of paged ÷ naive."""

BEFORE = {  # naive, copied, paged: tokens a second in total, and of decode alone
    "0.08M": ((2196, 2155), (1573, 1800), (6843, 10363)),
    "3M": ((356, 425), (649, 992), (1036, 2364)),
    "19M": ((88, 107), (180, 339), (234, 504)),
}
"""Measured before this engine was written, with throwaway code on a shared core."""

median = statistics.median


def row(name: str, meters: Sequence[Meter], equal: int, model: Model) -> dict[str, Any]:
    """A row's figures: medians over its rounds."""

    def middle(field: str) -> Any:
        values = [getattr(meter, field) for meter in meters]
        if isinstance(values[0], tuple):
            return [median(each) for each in zip(*values, strict=True)]
        return None if values[0] is None else median(values)

    found = {field: middle(field) for field in ("total", "decode", "step_ms", "ttft_ms", "tpot_ms")}
    seconds, tokens = meters[0].decoded
    config, size = model.config, model.head.element_size()
    token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * size
    kv_gb_s = token * tokens / seconds / 1e9 if seconds else None
    return {"name": name, "equal": equal, **found, "host": middle("host"), "kv_gb_s": kv_gb_s}


def ratios(one: Sequence[Meter], other: Sequence[Meter]) -> dict[str, list[float]]:
    """Median, smallest and largest ratio of the rounds' pairs, in total and of decode alone."""
    pairs = list(zip(one, other, strict=True))
    found = {
        "total": [a.total / b.total for a, b in pairs],
        "decode": [a.decode / b.decode for a, b in pairs],
    }
    return {name: [median(each), min(each), max(each)] for name, each in found.items()}


def machine(model: Model) -> dict[str, Any]:
    """What was measured on, and what."""
    device, c = model.head.device, model.config
    found: dict[str, Any] = {
        "device": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "dtype": str(model.head.dtype).removeprefix("torch."),
        "parameters": sum(weight.numel() for weight in model.weights.values()),
        "shape": f"{c.num_hidden_layers} layers, hidden {c.hidden_size}, "
        f"{c.num_attention_heads}/{c.num_key_value_heads} heads of {c.head_dim}",
    }
    if device.type == "cuda":
        found["device"] = torch.cuda.get_device_name()
        found["cuda"], found["driver"] = torch.version.cuda, _driver()
        found["triton"] = __import__("triton").__version__
        found["copy_gb_s"] = _copy_speed()
    return found


def _driver() -> str:
    if not (program := shutil.which("nvidia-smi")):
        return "unknown"
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _copy_speed() -> float:
    from pagesim.kernels.bench.__main__ import ceilings

    return 1e3 * ceilings(dry_run=False)[0]


def lines(report: dict[str, Any]) -> Iterator[str]:
    """The report as text."""
    if report["dry_run"]:
        yield "DRY RUN: tiny requests, no figure below is a measurement"
    number, prompt, answer = report["requests"]
    yield ", ".join(
        f"{name} {report[name]}" if name in ("torch", "triton", "cuda", "driver") else report[name]
        for name in ("device", "torch", "triton", "cuda", "driver", "dtype", "shape")
        if name in report
    )
    yield (
        f"{report['parameters'] / 1e6:.2f} M parameters; {number} requests, {prompt} tokens of "
        f"prompts, {answer} of answers; pages that follow their predecessor: "
        f"{report['adjacent']:.0%}"
    )
    yield (
        f"{'':36}{'tokens/s':>16}{'a step, ms':>16}{'first token, ms':>18}{'later ones, ms':>16}"
        f"{'outside':>9}{'equal':>8}"
    )
    yield (
        f"{'':36}{'total':>8}{'decode':>8}"
        + f"{'p50':>8}{'p95':>8}" * 1
        + f"{'p50':>10}{'p95':>8}{'p50':>8}{'p95':>8}{'model':>9}{'answers':>8}"
    )
    for each in report["rows"]:
        yield _line(each, number)
    if report["device"] and "copy_gb_s" not in report and not report["dry_run"]:
        yield f"{'pages, kernels':36}  not timed: without a GPU they run in Triton's interpreter"
    yield f"gathering the pages takes {report['gather']:.0%} of the model's time in decode steps"
    if copy := report.get("copy_gb_s"):
        yield f"this GPU copies {copy:.0f} GB/s (read + written); K and V read in decode steps:"
        for each in report["rows"]:
            if speed := each["kv_gb_s"]:
                yield f"  {each['name']:34}{speed:8.0f} GB/s, {speed / copy:.0%} of the copy"
    yield ""
    for name, of in report["ratios"].items():
        for what, (middle, low, high) in of.items():
            yield f"{name}, {what}: {middle:.2f}x ({low:.2f} to {high:.2f})"
    yield "(rosellm's 4.0x in total and 6.0x in decode alone are paged ÷ copied, on a GPU)"
    if (before := BEFORE.get(report["size"])) and "copy_gb_s" not in report:
        text = "; ".join(
            f"{name} {total:,} ({decode:,})"
            for name, (total, decode) in zip(("naive", "copied", "gathered"), before, strict=True)
        )
        yield f"measured before, with throwaway code, in total (and of decode alone): {text}"
    yield ""
    yield "one prompt for all, 16 tokens each, 8 at once (rosellm's workload), tokens/s:"
    yield "  " + "; ".join(f"{name} {speed:,.0f}" for name, speed in report["one_prompt"].items())
    yield "arrivals at random, in multiples of what the naive row serves, 16 at once:"
    for each in report["online"]:
        (first, first95), (later, later95) = each["ttft_ms"], each["tpot_ms"]
        yield (
            f"  {each['load']:.1f}x  first token {first:.1f} ms (p95 {first95:.1f}), "
            f"later ones {later:.1f} ms each (p95 {later95:.1f})"
        )


def _line(each: dict[str, Any], number: int) -> str:
    numbers = [f"{each['total']:>8,.0f}{each['decode']:>8,.0f}"]
    for field, width in (("step_ms", 8), ("ttft_ms", 10), ("tpot_ms", 8)):
        middle, high = each[field]
        numbers.append(f"{middle:>{width}.1f}{high:>8.1f}")
    outside = "" if each["host"] is None else f"{each['host']:.0%}"
    return f"{each['name']:36}{''.join(numbers)}{outside:>9}{each['equal']:>8}"


def missed(report: dict[str, Any]) -> list[str]:
    """The bounds that paged ÷ naive does not reach."""
    name, found = next(iter(report["ratios"].items()))
    return [
        f"check: {name}, {what}: {found[what][0]:.2f}x is less than {least}x"
        for what, least in BOUNDS.items()
        if found[what][0] < least
    ]
