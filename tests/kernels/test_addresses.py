"""Addresses beyond 2³¹: a cache of a few GiB has them, a small test cache does not.

Twice: in the compiled kernel's IR, where every step into a cache must be 64 bits wide (and a mutant
that steps in 32 bits must be caught), and by using a cache of that size.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernels import decision
from tests.kernels.children import ROOT, python

pytestmark = [pytest.mark.ch02, pytest.mark.ch03]

# Compiles a kernel for sm_90 and prints, for each cache pointer, the widths of all steps from it.
COMPILE = """
import importlib.util, json, re, sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile as build

path, kernel_name, constants = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = importlib.util.spec_from_file_location("under_test", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = getattr(module, kernel_name)
pointers = {"block_tables_ptr": "*i32", "seq_lens_ptr": "*i32", "slot_mapping_ptr": "*i64",
            "alibi_slopes_ptr": "*fp32", "k_scale_ptr": "*fp32", "v_scale_ptr": "*fp32"}
signature, values = {}, {}
for index, parameter in enumerate(kernel.params):
    name = parameter.name
    if name in constants:
        signature[name], values[(index,)] = "constexpr", constants[name]
    elif name.endswith("_ptr"):
        signature[name] = pointers.get(name, "*bf16")
    else:
        signature[name] = "fp32" if name == "scale" else "i32"
built = build(ASTSource(kernel, signature, values), target=GPUTarget("cuda", 90, 32))
assert built.asm["cubin"], "no machine code"

# Follow each pointer through splats and broadcasts; a step is `tt.addptr pointer, offset : types`.
root, widths = {}, {}
for line in built.asm["ttir"].splitlines():
    found = re.match(r"\\s*(%\\S+) = tt\\.(\\w+) (%[^ ,]+)", line)
    if found and found[2] in ("splat", "broadcast", "expand_dims", "addptr"):
        result, operation, source = found.groups()
        root[result] = root.get(source, source)
        if operation == "addptr":
            offset_type = line.split(" : ")[1].split(" loc(")[0].split(", ")[-1]
            width = int(re.search(r"i(\\d+)>?$", offset_type.strip())[1])
            widths.setdefault(root[result].lstrip("%"), set()).add(width)
print(json.dumps({name: sorted(found) for name, found in widths.items()}))
"""

KERNELS = {
    "attention_v1.py": (
        "paged_attention_v1_kernel",
        {
            "GROUP": 4,
            "BLOCK_SIZE": 16,
            "ROWS": 16,
            "HEAD_DIM": 80,
            "DIMS": 128,
            "SOFTCAP": 30.0,
        },
    ),
    "cache_write.py": (
        "reshape_and_cache_kernel",
        {"BLOCK_SIZE": 16, "NUM_HEADS": 2, "HEADS": 2, "HEAD_DIM": 80, "DIMS": 128},
    ),
}


def step_widths(path: Path, kernel: str, constants: dict[str, object]) -> dict[str, list[int]]:
    child = python(
        "-c",
        COMPILE,
        str(path),
        kernel,
        json.dumps(constants),
        PAGESIM_COMPILE_ONLY="1",
        TRITON_CACHE_DIR=os.environ.get("TRITON_CACHE_DIR"),
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


def need_triton() -> None:
    if decision.decide().mode == "reference":
        pytest.skip(f"nothing to compile with: {decision.decide().reason}")


@pytest.mark.parametrize("file", KERNELS)
def test_steps_into_the_caches_are_64_bits_wide(file: str) -> None:
    need_triton()
    widths = step_widths(ROOT / "kernels" / file, *KERNELS[file])
    assert widths["k_cache_ptr"] == widths["v_cache_ptr"] == [64]


@pytest.mark.parametrize("file", KERNELS)
def test_a_mutant_with_32_bits_is_caught(file: str, tmp_path: Path) -> None:
    need_triton()
    source = (ROOT / "kernels" / file).read_text()
    assert "tl.int64" in source
    mutant = tmp_path / file
    mutant.write_text(source.replace("tl.int64", "tl.int32"))
    widths = step_widths(mutant, *KERNELS[file])
    assert 32 in widths["k_cache_ptr"]
    assert 32 in widths["v_cache_ptr"]


# Only touched pages of an untouched allocation exist on a CPU, so this costs little there.
LARGE = """
import torch, kernels
where = kernels.backend.device()
blocks = 2**31 // (16 * 64) + 8
try:
    cache = torch.empty(blocks, 16, 1, 64, dtype=torch.float16, device=where)
except RuntimeError as error:
    print("skip:", str(error).splitlines()[0])
    raise SystemExit
assert (blocks - 8) * cache.stride(0) == 2**31
table = torch.tensor([[blocks - 1, 3, blocks - 7]], dtype=torch.int32, device=where)
tokens = torch.randn(37, 1, 64, device=where).half()
slots = torch.tensor([int(table[0, p // 16]) * 16 + p % 16 for p in range(37)], device=where)
kernels.reshape_and_cache(tokens, tokens, cache, cache, slots)
assert torch.equal(cache[table[0].long()].reshape(48, 1, 64)[:37], tokens)
q = torch.randn(1, 2, 64, device=where).half()
lens = torch.tensor([37], dtype=torch.int32, device=where)
out = kernels.paged_attention_v1(q, cache, cache, table, lens)
kernels.assert_matches_reference(out, q, cache, cache, table, lens)
print("right")
"""


def test_a_cache_of_more_than_two_to_the_31_elements() -> None:
    """In a child process: a kernel that gets this wrong dies of it."""
    child = python("-c", LARGE)
    if child.stdout.startswith("skip:"):
        pytest.skip(f"4 GiB of address space are not to be had: {child.stdout[6:].strip()}")
    assert (child.returncode, child.stdout) == (0, "right\n"), child.stderr
