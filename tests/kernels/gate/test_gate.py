"""The compile gate: a small part of it (`make gate` runs all), and what it must refuse."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagesim.kernels.gate.__main__ import main, table
from pagesim.kernels.gate.cases import CASES
from pagesim.kernels.gate.machine_code import Facts, longest_loop, step_widths
from pagesim.kernels.gate.rules import TARGETS, problems
from pagesim.kernels.runtime import mode
from tests.kernels.children import ROOT, block_import, copy_package, nightly, python

# `-m` would take the checkout's kernels; a mutant's folder goes before it.
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from pagesim.kernels.gate.__main__ import main
raise SystemExit(main(sys.argv[2:]))
"""


def need_triton() -> None:
    if mode.decide().mode == "reference":
        pytest.skip(f"nothing to compile with: {mode.decide().reason}")


def found_by(child: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert child.stdout.startswith("{"), child.stderr
    return json.loads(child.stdout)


def test_what_passes_and_what_is_refused() -> None:
    need_triton()
    child = python(
        *("-m", "pagesim.kernels.gate", "--json", "--kernel", "paged_attention_v1"),
        *("--case", "D128", "--case", "D128 fp8", "--target", "sm_80"),
        PAGESIM_COMPILE_ONLY="1",  # in this process; make gate starts one for each target
    )
    found = found_by(child)
    assert (child.returncode, found["ok"]) == (0, True)
    rows = {(row["target"], row["case"]): row for row in found["rows"]}
    assert list(rows) == [("sm_80", "D128"), ("sm_80", "D128 fp8")]
    refused = rows.pop(("sm_80", "D128 fp8"))["refused"]
    assert refused.startswith("type fp8e4nv not supported in this architecture. The supported fp8")
    for (_, case), row in rows.items():
        assert "refused" not in row
        assert row["kernel"] == "paged_attention_v1_kernel"
        assert row["offset_bits"] == {"k_cache_ptr": [64], "v_cache_ptr": [64]}
        assert row["wide_loads"] >= (1 if "fp8" in case else 2)
        assert 16 <= row["registers"] <= 255

    titles, first, second, *_ = table(found["rows"])
    assert titles.split()[:4] == ["target", "kernel", "case", "regs"]
    facts = found["rows"][0]
    assert first.split()[:4] == ["sm_80", facts["kernel"], "D128", str(facts["registers"])]
    assert second.split("fp8 ", 1)[1].strip().startswith("refused, as it must be: type fp8e4nv")


# The table's numbers are 64 bits wide by themselves; a mutant must cut them down.
NARROW = "; ".join(
    f"{name} = {name}.to(tl.int32)"
    for name in ("source", "target", "block_step", "row_step", "head_step")
)
# What is changed: the file, what is there, and what comes in its place.
CHANGES = [
    ("attention/v1.py", "tl.int64", "tl.int32"),
    ("cache_write.py", "tl.int64", "tl.int32"),
    ("attention/tile.py", "tl.int64", "tl.int32"),
    ("attention/fused_decode.py", "**configs.constants(", "maxnreg=64, **configs.constants("),
    ("block_copy.py", "    inside = (line", f"    {NARROW}\n    inside = (line"),
    ("softmax.py", "tl.store(out_ptr", "tl.no_such_thing(out_ptr"),
]
# The launchers that then fail, and what is said of them.
MUTANTS = {
    "paged_attention_v1": "steps of 32 bits from k_cache_ptr: make them 64",
    "reshape_and_cache": "steps of 32 bits from k_cache_ptr: make them 64",
    "paged_attention_v2": "steps of 32 and 64 bits from k_cache_ptr: make them 64",
    "fused_decode": "spills ",
    "copy_blocks": "bits from loaded pointer: make them 64",
    "online_softmax": "'no_such_thing'",
}


@nightly
def test_mutants_fail(tmp_path: Path) -> None:
    """32-bit addresses in three kernels, spilled registers, and what does not compile at all."""
    need_triton()
    copy_package(tmp_path)
    for file, old, new in CHANGES:
        path = tmp_path / "kernels" / file
        source = path.read_text()
        assert old in source, f"the mutation no longer fits {file}"
        path.write_text(source.replace(old, new))
    chosen = [part for kernel in MUTANTS for part in ("--kernel", kernel)]
    cases = ("--case", "D128", "--case", "1024", "--target", "sm_90")
    arguments = (str(tmp_path), *chosen, *cases, "--json")
    child = python("-c", RUN, *arguments, PAGESIM_COMPILE_ONLY="1")
    found = found_by(child)
    assert (child.returncode, found["ok"]) == (1, False)
    for kernel, message in MUTANTS.items():
        first = next(row for row in found["rows"] if row["launcher"] == kernel)
        assert message in " ".join(first["problems"])


def test_each_rule() -> None:
    good = Facts(64, 0, 1024, 8, 4, {"k_cache_ptr": [64]})
    small, large = TARGETS["gfx942"], TARGETS["sm_90"]

    def broken(target: Any = large, most: float | None = None, **changes: Any) -> list[str]:
        return problems(replace(good, **changes), target, most)

    assert broken() == []
    assert "32 and 64 bits from k_cache_ptr" in broken(offset_bits={"k_cache_ptr": [32, 64]})[0]
    assert "spills 8" in broken(spilled=8)[0]
    assert "no 16-byte load" in broken(wide_loads=0)[0]
    assert broken(most=8.0, per_token=8.0) == []
    assert "8.1 instructions a token, at most 8.0" in broken(most=8.0, per_token=8.1)[0]
    assert broken(wide_loads=0, offset_bits={}) == []  # touches no cache
    assert broken(shared=98 * 1024) == []
    assert "100352 bytes of shared memory, the chip has 65536" in broken(small, shared=98 * 1024)[0]


def test_pointers_are_followed_through_loops_tables_and_broadcasts() -> None:
    ttir = """
    %0 = tt.addptr %k_cache_ptr, %a : !tt.ptr<bf16>, i64 loc(#loc1)
    %1 = tt.splat %0 : !tt.ptr<bf16> -> tensor<16x1x!tt.ptr<bf16>> loc(#loc2)
    %2 = tt.addptr %1, %b : tensor<16x1x!tt.ptr<bf16>>, tensor<16x1xi64> loc(#loc3)
    %9:2 = scf.for %i = %c0 to %n step %c1 iter_args(%at = %2, %m = %x) -> (f32) : i32 {
      %3 = tt.broadcast %at : tensor<16x1x!tt.ptr<bf16>> -> tensor<16x64x!tt.ptr<bf16>> loc(#loc)
      %4 = tt.addptr %3, %c : tensor<16x64x!tt.ptr<bf16>>, tensor<16x64xi32> loc(#loc)
    %5 = tt.int_to_ptr %address : i64 -> !tt.ptr<bf16> loc(#loc)
    %6 = tt.addptr %5, %d : !tt.ptr<bf16>, i32 loc(#loc)
    %7 = tt.addptr %q_ptr, %d : !tt.ptr<bf16>, i32 loc(#loc)
    """
    assert step_widths(ttir) == {"k_cache_ptr": {32, 64}, "loaded pointer": {32}, "q_ptr": {32}}


@nightly
def test_without_triton_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process that would compile has no triton, and says so through this one."""
    folders = [str(block_import(tmp_path, "triton")), str(ROOT)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    assert main(["--target", "sm_80"]) == 2
    message = "pagesim.kernels.gate: sm_80: nothing to compile with: triton cannot be imported"
    assert capsys.readouterr().err.startswith(message)


def test_nothing_chosen_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--target", "sm_10"])
    assert stopped.value.code == 2
    assert "invalid choice: 'sm_10'" in capsys.readouterr().err
    assert len({(case.kernel, case.label) for case in CASES}) == len(CASES)


def test_the_longest_loop_is_counted() -> None:
    assembly = """
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
.L_x_2:
        /*0020*/                   FMUL R3, R3, R2 ;
        /*0030*/              @P0 BRA `(.L_x_2) ;
        /*0040*/                   FADD R3, R3, R2 ;
        /*0050*/              @P1 BRA `(.L_x_3) ;
        /*0060*/              @P2 BRA `(.L_x_1) ;
.L_x_3:
        /*0070*/                   EXIT ;
.L_x_4:
        /*0080*/                   BRA `(.L_x_4);
    """
    assert longest_loop(assembly) == 6


@nightly
def test_v2_takes_few_instructions_for_a_token() -> None:
    """8.3 with signed positions, 16.9 in the Triton kernel of vLLM 0.33; the gate allows 8."""
    need_triton()
    child = python(
        *("-m", "pagesim.kernels.gate", "--json", "--kernel", "paged_attention_v2"),
        *("--case", "D128", "--target", "sm_90"),
        PAGESIM_COMPILE_ONLY="1",  # in this process, and in none of its own
    )
    rows = {row["kernel"]: row for row in found_by(child)["rows"]}
    assert 3 < rows["split_kernel"]["per_token"] <= 8
    assert rows["reduce_kernel"]["per_token"] is None
