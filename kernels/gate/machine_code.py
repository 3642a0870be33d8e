"""Facts about a compiled kernel: address widths, registers, spills, shared memory, loads.

They are read from what triton keeps of a compilation: its IR (TTIR), the assembly (PTX or AMDGCN),
and for NVIDIA the machine code, which the cuobjdump in triton's wheel can measure.
"""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

# 16 bytes: four 4-byte registers, two of 8, one of 16; a copy to shared memory names its size.
_PTX_LOAD = re.compile(r"\bld\.global\b\S*|\bcp\.async\.c[ag]\.shared\.global\b[^;]*")
_PTX_WIDE = re.compile(r"\.v4\.[bfsu]32|\.v2\.[bfsu]64|\.b128|\], (?:16|0x10)\b")
_GCN_LOAD = re.compile(r"\b(?:global|buffer)_load_\w+")


@dataclass(frozen=True, slots=True)
class Facts:
    """What was counted in a kernel's machine code.

    registers: per thread (vector registers on AMD); spilled: bytes that a thread keeps in memory
    instead (AMD: registers spilled); shared: bytes a program needs; loads: load instructions from
    global memory, wide_loads: those of 16 bytes; offset_bits: for each cache pointer, the widths of
    all steps taken from it; per_token: instructions in the main loop divided by the tokens of its
    tile (None: no such loop, or not counted, as for AMD).
    """

    registers: int
    spilled: int
    shared: int
    loads: int
    wide_loads: int
    offset_bits: dict[str, list[int]]
    per_token: float | None = None


def facts(kernel: Any, constants: Mapping[str, Any]) -> Facts:
    """Read the facts of a kernel that triton has compiled, with these constants."""
    per_token = None
    asm = kernel.asm
    offsets = {
        pointer: sorted(widths)
        for pointer, widths in step_widths(asm["ttir"]).items()
        if pointer.endswith("cache_ptr") or pointer == _FROM_TABLE
    }
    if "ptx" in asm:
        loads = _PTX_LOAD.findall(asm["ptx"])
        wide = sum(bool(_PTX_WIDE.search(load)) for load in loads)
        output = _nvidia("cuobjdump", "-res-usage", cubin=asm["cubin"])
        usage = re.search(r"REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", output)
        if usage is None:
            raise ValueError(f"cuobjdump says nothing about registers: {output[-300:]}")
        # The stack and local memory hold what did not fit the registers.
        registers, spilled = int(usage[1]), int(usage[2]) + int(usage[3])
        if "TILE" in constants and "BLOCK_SIZE" in constants:
            loop = longest_loop(_nvidia("nvdisasm", "-c", cubin=asm["cubin"]))
            per_token = loop / constants["TILE"]
    else:
        loads = _GCN_LOAD.findall(asm["amdgcn"])
        wide = sum(load.endswith("dwordx4") for load in loads)
        registers = _gcn(asm["amdgcn"], "vgpr_count")
        spilled = _gcn(asm["amdgcn"], "vgpr_spill_count")
    return Facts(registers, spilled, kernel.metadata.shared, len(loads), wide, offsets, per_token)


_FROM_TABLE = "loaded pointer"
_ALIAS = re.compile(r"\s*(%\S+) = tt\.(splat|broadcast|expand_dims|reshape|trans|addptr) (%[^ ,]+)")
_MADE = re.compile(r"\s*(%\S+) = tt\.int_to_ptr ")
_CARRIED = re.compile(r"(%[\w.#]+) = (%[\w.#]+)")


def step_widths(ttir: str) -> dict[str, set[int]]:
    """For each pointer argument of a kernel: how many bits wide the offsets added to it are.

    Follows a pointer through splats, broadcasts, earlier steps and loops. Pointers that a kernel
    loads from memory go by one name, "loaded pointer".
    """
    root: dict[str, str] = {}
    widths: dict[str, set[int]] = {}
    for line in ttir.splitlines():
        if "iter_args(" in line:
            carried = line.split("iter_args(")[1].split(") ->")[0]
            for inside, outside in _CARRIED.findall(carried):
                root[inside] = root.get(outside, outside)
        elif made := _MADE.match(line):
            root[made[1]] = _FROM_TABLE
        elif found := _ALIAS.match(line):
            result, operation, source = found.groups()
            root[result] = root.get(source, source)
            if operation == "addptr":
                offset_type = line.split(" : ")[1].split(" loc(")[0].split(", ")[-1].strip()
                width = re.search(r"i(\d+)>?$", offset_type)
                if width is None:
                    raise ValueError(f"no offset type in this line of TTIR: {line.strip()}")
                widths.setdefault(root[result].lstrip("%"), set()).add(int(width[1]))
    return widths


_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+\S")
_LABEL = re.compile(r"(\.L_x_\d+):")
_JUMP = re.compile(r"\bBRA\b.*`\((\.L_x_\d+)\)")


def longest_loop(assembly: str) -> int:
    """How many instructions lie between a label and the last jump back to it, at most."""
    count, longest = 0, 0
    labels: dict[str, int] = {}
    for line in assembly.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = count
        elif _INSTRUCTION.match(line):
            count += 1
            jump = _JUMP.search(line)
            if jump and jump[1] in labels:
                longest = max(longest, count - labels[jump[1]])
    return longest


def _nvidia(tool: str, option: str, cubin: bytes) -> str:
    """What one of the tools in triton's wheel says about machine code."""
    nvidia = Path(str(import_module("triton").__file__)).parent / "backends" / "nvidia" / "bin"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [str(nvidia / tool), option, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _gcn(text: str, name: str) -> int:
    found = re.search(rf"\.{name}:\s+(\d+)", text)
    if found is None:
        raise ValueError(f"the AMD assembly has no .{name}")
    return int(found[1])
