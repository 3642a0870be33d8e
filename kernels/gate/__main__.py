"""The gate: every kernel compiles, and well, for all supported GPUs; no GPU needed.

    python -m pagesim.kernels.gate                      all kernels, all targets (make gate)
    python -m pagesim.kernels.gate --target sm_90 --kernel paged_attention_v1 --json

Each line of CASES is a call of a launcher; it is compiled once a target, in the configuration that
the launcher chooses for that chip. Then the machine code must satisfy the rules in `problems`:

* steps from a cache pointer are 64 bits wide: block · stride passes 2³¹ in a cache of a few GiB;
* nothing spills: a register that lives in memory costs more than it saves;
* kernels that touch a cache load 16 bytes at a time, the most that one instruction can;
* a program's shared memory fits the chip;
* the main loop of paged_attention_v2 takes at most 8 instructions for a token ("a token": the
  instructions of a thread for a tile ÷ the tile's tokens; counted for NVIDIA).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from pagesim.kernels.gate.rules import REFUSAL, TARGETS, problems
from pagesim.kernels.runtime import mode

if mode.has_torch():
    from pagesim.kernels.gate import compile_only, machine_code
    from pagesim.kernels.gate.cases import CASES, Case

Row = dict[str, Any]
"""What the table says of a kernel on a target."""


def check(case: Case, name: str) -> list[Row]:
    """Compile one case for one target: a row of the table for each kernel in it."""
    from triton.backends.compiler import GPUTarget

    target = TARGETS[name]
    row = {"target": name, "launcher": case.kernel, "case": case.label}
    refused = case.fp8 and not target.fp8
    try:
        built = compile_only.compiled(name, GPUTarget(*target.triton), case.call)
    except Exception as error:  # whatever stops a compilation is this row's result
        output = " ".join(str(error).split())
        refusal = REFUSAL.search(output)
        if refused and refusal:
            return [{**row, "kernel": "", "refused": refusal[0], "problems": []}]
        return [{**row, "kernel": "", "problems": [f"{type(error).__name__}: {output[-300:]}"]}]
    rows = []
    for kernel, machine, constants in built:
        facts = machine_code.facts(machine, constants)
        found = problems(facts, target, case.per_token)
        if refused:
            found.append(f"e4m3 compiles for {name}, which has none: correct TARGETS")
        pipeline = {"warps": machine.metadata.num_warps, "stages": machine.metadata.num_stages}
        full = {**row, "kernel": kernel, **pipeline, **dataclasses.asdict(facts), "problems": found}
        rows.append(full)
    return rows or [{**row, "kernel": "", "problems": ["the launcher started no kernel"]}]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate; 0 = all rules hold, 1 = one does not, 2 = it cannot run here."""
    if not mode.has_torch():
        print(
            f"pagesim.kernels.gate: nothing to compile with: {mode.decide().reason}",
            file=sys.stderr,
        )
        return 2
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parsed(given)
    targets = [options.only] if options.only else options.target or list(TARGETS)
    if os.environ.get(mode.COMPILE_ONLY) == "1":
        if mode.decide().mode == "reference":
            print(f"nothing to compile with: {mode.decide().reason}", file=sys.stderr)
            return 2
        chosen = [
            case
            for case in CASES
            if case.kernel in (options.kernel or [case.kernel])
            and case.label in (options.case or [case.label])
        ]
        rows = [row for name in targets for case in chosen for row in check(case, name)]
    else:
        try:
            rows = _in_processes_that_compile(given, targets)
        except RuntimeError as error:
            print(f"pagesim.kernels.gate: {error}", file=sys.stderr)
            return 2
    bad = sum(bool(row["problems"]) for row in rows)
    if options.json:
        from importlib.metadata import version

        print(json.dumps({"triton": version("triton"), "ok": bad == 0, "rows": rows}, indent=1))
    else:
        print(*table(rows), sep="\n")
        print(f"pagesim.kernels.gate: {len(rows)} kernels, {bad} with problems")
    return int(bad > 0 or not rows)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pagesim.kernels.gate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = sorted({case.kernel for case in CASES})
    parser.add_argument("--target", action="append", choices=TARGETS, help="this chip only")
    parser.add_argument("--only", choices=TARGETS, help=argparse.SUPPRESS)  # a child's own target
    parser.add_argument("--kernel", action="append", choices=names, help="this launcher only")
    parser.add_argument("--case", action="append", help="cases with this label only")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    return parser.parse_args(arguments)


def _in_processes_that_compile(arguments: list[str], targets: list[str]) -> list[Row]:
    """Triton interprets or compiles for the whole life of a process: start one a target.

    Raises RuntimeError, with what it said, if one ends without an answer.
    """
    environment = {**os.environ, mode.COMPILE_ONLY: "1"}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-m", "pagesim.kernels.gate", *arguments, "--json", "--only"]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen([*command, name], env=environment, stdout=pipe, stderr=pipe, text=True)
        for name in targets
    ]
    rows = []
    for name, child in zip(targets, children, strict=True):
        answer, output = child.communicate()
        if not answer.startswith("{"):
            raise RuntimeError(f"{name}: {output.strip() or f'exit code {child.returncode}'}")
        rows += json.loads(answer)["rows"]
    return rows


def table(rows: list[Row]) -> list[str]:
    """The rows as lines of text, each with its problems under it."""
    titles = f"{'target':<8}{'kernel':<28}{'case':<18}{'regs':>5}{'spills':>7}{'shared':>8}"
    lines = [f"{titles}{'loads':>7}{'16 B':>6}{'steps':>7}{'a token':>9}  warps, stages"]
    for row in rows:
        start = f"{row['target']:<8}{row['kernel'] or row['launcher']:<28}{row['case']:<18}"
        if "refused" in row:
            lines.append(f"{start}refused, as it must be: {row['refused']}")
        elif "registers" in row:
            bits = sorted({bit for found in row["offset_bits"].values() for bit in found})
            count = f"{row['per_token']:.1f}" if row["per_token"] else "-"
            lines.append(
                f"{start}{row['registers']:>5}{row['spilled']:>7}{row['shared']:>8}{row['loads']:>7}"
                f"{row['wide_loads']:>6}{','.join(map(str, bits)) or '-':>7}{count:>9}  "
                f"{row['warps']}, {row['stages']}"
            )
        else:
            lines.append(start)
        lines += [f"    PROBLEM: {problem}" for problem in row["problems"]]
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
