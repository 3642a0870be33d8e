"""The gate: every kernel compiles for every GPU we name, and well; no GPU needed.

    python -m kernels.compile_check                      all kernels, all targets (make gate)
    python -m kernels.compile_check --target sm_90 --kernel paged_attention_v1 --json

Each line of CASES is a call of a launcher; it is compiled once a target, in the configuration that
the launcher chooses for that chip. Then the machine code must satisfy the rules in `problems`:

* steps from a cache pointer are 64 bits wide: block · stride passes 2³¹ in a cache of a few GiB;
* nothing spills: a register that lives in memory costs more than it saves;
* kernels that touch a cache load 16 bytes at a time, the most that one instruction can;
* a program's shared memory fits the chip.

fp8 here is e4m3, torch.float8_e4m3fn. sm_90 converts it by an instruction of its own. sm_80 has
none, and Triton must refuse it. gfx942's own e4m3 is another one (fnuz: other bias, no -0): Triton
takes ours there and converts it by ordinary arithmetic, without one fp8 instruction.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import kernels
from kernels import decision

if decision.decide().mode != "reference":
    import torch

    from kernels import bench_cases, compile_only, machine_code


@dataclass(frozen=True, slots=True)
class Target:
    """A chip: triton's (backend, architecture, warp size), bytes of shared memory a program may
    use, and whether Triton takes e4m3 for it."""

    triton: tuple[str, int | str, int]
    shared: int
    fp8: bool


TARGETS = {
    "sm_80": Target(("cuda", 80, 32), 163 * 1024, fp8=False),
    "sm_90": Target(("cuda", 90, 32), 227 * 1024, fp8=True),
    "gfx942": Target(("hip", "gfx942", 64), 64 * 1024, fp8=True),
}
REFUSAL = re.compile(r"type fp8e4nv not supported in this architecture[^\"]*?\)")


@dataclass(frozen=True, slots=True)
class Case:
    """One call of a launcher: a line of the gate.

    fp8: it has an e4m3 cache. narrow: targets where a program has fewer than 16 bytes a thread to
    move, so that no load can be that wide.
    """

    kernel: str
    label: str
    call: Callable[[], object]
    fp8: bool = False
    narrow: tuple[str, ...] = ()


def _attention(kernel: str, label: str, dtype: str = "bfloat16", **options: Any) -> Case:
    """An attention call; every option that names no tensor's shape goes to the launcher.

    heads, kv_heads, head_dim, block_size: the shapes; cache: the cache's dtype; scaled, alibi: with
    k_scale and v_scale, with alibi_slopes.
    """
    shape = {"heads": 32, "kv_heads": 8, "head_dim": 128, "block_size": 16}
    heads, kv_heads, head_dim, block_size = (options.pop(n, shape[n]) for n in shape)
    cache_dtype = options.pop("cache", dtype)
    scaled, alibi = options.pop("scaled", False), options.pop("alibi", False)

    def call() -> object:
        q = torch.zeros(4, heads, head_dim, dtype=getattr(torch, dtype))
        size = (16, block_size, kv_heads, head_dim)
        cache = torch.zeros(size, dtype=getattr(torch, cache_dtype))
        tables = torch.zeros(4, 16, dtype=torch.int32)
        lens = torch.full((4,), 8 * block_size, dtype=torch.int32)
        new, more = [], []
        if kernel == "fused_decode":
            new = [torch.zeros(4, kv_heads, head_dim, dtype=q.dtype) for _ in ("k", "v")]
        if kernel == "paged_prefill":
            more = [torch.arange(5, dtype=torch.int32)]
        tensors: dict[str, Any] = {}
        if scaled:
            tensors = {name: torch.ones(kv_heads) for name in ("k_scale", "v_scale")}
        if alibi:
            tensors["alibi_slopes"] = torch.ones(heads)
        launch = getattr(kernels, kernel)
        return launch(q, *new, cache, cache.clone(), tables, *more, lens, **tensors, **options)

    return Case(kernel, label, call, fp8="float8" in cache_dtype)


def _cache_write(label: str, dtype: str, head_dim: int, cache: str = "", **options: Any) -> Case:
    def call() -> object:
        key = torch.zeros(4, 8, head_dim, dtype=getattr(torch, dtype))
        pages = torch.zeros(4, 16, 8, head_dim, dtype=getattr(torch, cache or dtype))
        scales = {name: torch.ones(8) for name in ("k_scale", "v_scale")} if cache else {}
        slots = torch.arange(4)
        return kernels.reshape_and_cache(
            key, key.clone(), pages, pages.clone(), slots, **scales, **options
        )

    # A token's 8 heads are 2 KiB at most, and gfx942's warps make 256 threads of 4 warps.
    return Case("reshape_and_cache", label, call, fp8=bool(cache), narrow=("gfx942",))


def _copy(label: str, dtype: str) -> Case:
    def call() -> object:
        caches = [torch.zeros(4, 16, 8, 128, dtype=getattr(torch, dtype)) for _ in range(4)]
        return kernels.copy_blocks(caches[:2], caches[2:], torch.tensor([[0, 1]]))

    return Case("copy_blocks", label, call)


FP8 = "float8_e4m3fn"
EXTRAS: dict[str, Any] = {"alibi": True, "sliding_window": 64, "softcap": 30.0, "scaled": True}
CASES = (
    _cache_write("D128", "bfloat16", 128),
    _cache_write("D80", "float16", 80),
    _cache_write("D128 fp8", "bfloat16", 128, FP8),
    _attention("paged_attention_v1", "D128"),
    _attention("paged_attention_v1", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32),
    _attention("paged_attention_v1", "D128 fp8", cache=FP8, scaled=True),
    _attention("paged_attention_v1", "D128 all options", **EXTRAS),
    _attention("paged_attention_v2", "D128", num_partitions=4),
    _attention(
        "paged_attention_v2", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32, num_partitions=1
    ),
    _attention("paged_attention_v2", "D256", head_dim=256, num_partitions=4),
    _attention("paged_attention_v2", "D128 fp8", cache=FP8, scaled=True, num_partitions=4),
    _attention(
        "paged_attention_v2", "D128 all options", num_partitions=4, return_lse=True, **EXTRAS
    ),
    _attention("paged_prefill", "D128"),
    _attention("paged_prefill", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32),
    _attention("paged_prefill", "D256", head_dim=256),
    _attention("paged_prefill", "D128 fp8", cache=FP8, scaled=True),
    _attention("paged_prefill", "D128 all options", **EXTRAS),
    _attention("fused_decode", "D128"),
    _attention("fused_decode", "D128 fp8", cache=FP8, scaled=True),
    _attention("fused_decode", "D128 all options", **EXTRAS),
    _copy("D128", "bfloat16"),
    Case("online_softmax", "1024", lambda: kernels.online_softmax(torch.zeros(4, 1024))),
    Case("read_stream", "1 MiB", lambda: bench_cases.read_stream(torch.zeros(2**18))),
)


def problems(facts: machine_code.Facts, target: Target, narrow: bool = False) -> list[str]:
    """Which of the rules in the module's docstring this machine code breaks; `narrow`: see Case."""
    found = [
        f"steps of {' and '.join(map(str, bits))} bits from {pointer}: make them 64"
        for pointer, bits in facts.offset_bits.items()
        if bits != [64]
    ]
    if facts.spilled:
        found.append(f"spills {facts.spilled}: take smaller tiles or more warps")
    if facts.offset_bits and not facts.wide_loads and not narrow:
        found.append("no 16-byte load: are the inner strides constant and divisible by 16?")
    if facts.shared > target.shared:
        found.append(f"{facts.shared} bytes of shared memory, the chip has {target.shared}")
    return found


def check(case: Case, name: str) -> list[dict[str, Any]]:
    """Compile one case for one target: a row of the table for each kernel in it."""
    from triton.backends.compiler import GPUTarget

    target = TARGETS[name]
    row = {"target": name, "launcher": case.kernel, "case": case.label}
    refused = case.fp8 and not target.fp8
    try:
        built = compile_only.compiled(name, GPUTarget(*target.triton), case.call)
    except Exception as error:  # whatever stops a compilation is this row's result
        said = " ".join(str(error).split())
        refusal = REFUSAL.search(said)
        if refused and refusal:
            return [{**row, "kernel": "", "refused": refusal[0], "problems": []}]
        return [{**row, "kernel": "", "problems": [f"{type(error).__name__}: {said[-300:]}"]}]
    rows = []
    for kernel, machine in built:
        facts = machine_code.facts(machine)
        found = problems(facts, target, name in case.narrow)
        if refused:
            found.append(f"e4m3 compiles for {name}, which has none: correct TARGETS")
        rows.append(
            {
                **row,
                "kernel": kernel,
                "warps": machine.metadata.num_warps,
                "stages": machine.metadata.num_stages,
                **dataclasses.asdict(facts),
                "problems": found,
            }
        )
    return rows or [{**row, "kernel": "", "problems": ["the launcher started no kernel"]}]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate; 0 = all rules hold, 1 = one does not, 2 = it cannot run here."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="python -m kernels.compile_check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = sorted({case.kernel for case in CASES})
    parser.add_argument("--target", action="append", choices=TARGETS, help="this chip only")
    parser.add_argument("--only", choices=TARGETS, help=argparse.SUPPRESS)  # a child's own target
    parser.add_argument("--kernel", action="append", choices=names, help="this launcher only")
    parser.add_argument("--case", action="append", help="cases with this label only")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    options = parser.parse_args(given)
    targets = [options.only] if options.only else options.target or list(TARGETS)
    if os.environ.get(decision.COMPILE_ONLY) == "1":
        if decision.decide().mode == "reference":
            print(f"nothing to compile with: {decision.decide().reason}", file=sys.stderr)
            return 2
        chosen = [
            case
            for case in CASES
            if case.kernel in (options.kernel or names)
            and case.label in (options.case or [case.label])
        ]
        rows = [row for name in targets for case in chosen for row in check(case, name)]
    else:
        try:
            rows = _in_processes_that_compile(given, targets)
        except RuntimeError as error:
            print(f"compile_check: {error}", file=sys.stderr)
            return 2
    bad = sum(bool(row["problems"]) for row in rows)
    if options.json:
        from importlib.metadata import version

        print(json.dumps({"triton": version("triton"), "ok": bad == 0, "rows": rows}, indent=1))
    else:
        print(*table(rows), sep="\n")
        print(f"compile_check: {len(rows)} kernels, {bad} with problems")
    return int(bad > 0 or not rows)


def _in_processes_that_compile(arguments: list[str], targets: list[str]) -> list[dict[str, Any]]:
    """Triton interprets or compiles for the whole life of a process: start one a target.

    Raises RuntimeError, with what it said, if one ends without an answer.
    """
    environment = {**os.environ, decision.COMPILE_ONLY: "1"}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-m", "kernels.compile_check", *arguments, "--json", "--only"]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen([*command, name], env=environment, stdout=pipe, stderr=pipe, text=True)
        for name in targets
    ]
    rows = []
    for name, child in zip(targets, children, strict=True):
        answer, said = child.communicate()
        if not answer.startswith("{"):
            raise RuntimeError(f"{name}: {said.strip() or f'exit code {child.returncode}'}")
        rows += json.loads(answer)["rows"]
    return rows


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as lines of text, each with its problems under it."""
    titles = f"{'target':<8}{'kernel':<28}{'case':<18}{'regs':>5}{'spills':>7}{'shared':>8}"
    lines = [f"{titles}{'loads':>7}{'16 B':>6}{'steps':>7}  warps, stages"]
    for row in rows:
        start = f"{row['target']:<8}{row['kernel'] or row['launcher']:<28}{row['case']:<18}"
        if "refused" in row:
            lines.append(f"{start}refused, as it must be: {row['refused']}")
        elif "registers" in row:
            bits = sorted({bit for found in row["offset_bits"].values() for bit in found})
            lines.append(
                f"{start}{row['registers']:>5}{row['spilled']:>7}{row['shared']:>8}{row['loads']:>7}"
                f"{row['wide_loads']:>6}{','.join(map(str, bits)) or '-':>7}  "
                f"{row['warps']}, {row['stages']}"
            )
        else:
            lines.append(start)
        lines += [f"    PROBLEM: {problem}" for problem in row["problems"]]
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
