"""Addresses beyond 2³¹: a cache of a few GiB has them, a small test cache does not.

Twice: in the compiled kernel's IR, where every step into a cache must be 64 bits wide (and a mutant
that steps in 32 bits must be caught), and by using a cache of that size.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from pagesim.kernels.runtime import mode
from tests.kernels.children import copy_package, python

pytestmark = [pytest.mark.ch02, pytest.mark.ch03]

# Compiles kernels for sm_90 and prints, for each cache pointer, the widths of all steps from it.
COMPILE = """
import importlib, json, re, sys
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile as build

pointers = {"block_tables_ptr": "*i32", "seq_lens_ptr": "*i32", "context_lens_ptr": "*i32",
            "query_start_loc_ptr": "*i32", "slot_mapping_ptr": "*i64", "caches_ptr": "*i64",
            "pairs_ptr": "*i64", "alibi_slopes_ptr": "*fp32", "k_scale_ptr": "*fp32",
            "v_scale_ptr": "*fp32", "lse_ptr": "*fp32", "partial_ptr": "*fp32",
            "partial_m_ptr": "*fp32", "partial_ell_ptr": "*fp32"}

def step_widths(kernel, constants):
    signature, values = {}, {}
    for index, parameter in enumerate(kernel.params):
        name = parameter.name
        if name in constants:
            value = constants[name]
            signature[name] = "constexpr"
            values[(index,)] = getattr(tl, value) if isinstance(value, str) else value
        elif name.endswith("_ptr"):
            signature[name] = pointers.get(name, "*bf16")
        else:
            signature[name] = "fp32" if name == "scale" else "i32"
    built = build(ASTSource(kernel, signature, values), target=GPUTarget("cuda", 90, 32))
    assert built.asm["cubin"], "no machine code"
    # Follow each pointer through splats and broadcasts; a step is `tt.addptr pointer, offset`.
    root, widths = {}, {}
    for line in built.asm["ttir"].splitlines():
        found = re.match(r"\\s*(%\\S+) = tt\\.(\\w+) (%[^ ,]+)", line)
        if found and found[2] in ("splat", "broadcast", "expand_dims", "addptr"):
            result, operation, source = found.groups()
            root[result] = root.get(source, source)
            if operation == "addptr":
                offset_type = line.split(" : ")[1].split(" loc(")[0].split(", ")[-1]
                width = int(re.search(r"i(\\d+)>?$", offset_type.strip())[1])
                name = re.sub(r"_\\d+$", "", root[result].lstrip("%"))
                widths.setdefault(name, set()).add(width)
    return {name: sorted(found) for name, found in widths.items()}

answer = {}
for module, (kernel, constants) in json.loads(sys.argv[1]).items():
    found = importlib.import_module(f"pagesim.kernels.{module}")
    answer[module] = step_widths(getattr(found, kernel), constants)
print(json.dumps(answer))
"""

SIZES = {"BLOCK_SIZE": 16, "HEAD_DIM": 80, "DIMS": 128}
GROUPED = {**SIZES, "GROUP": 4, "ROWS": 16, "SOFTCAP": 30.0}
HEADS = {"NUM_HEADS": 2}
KERNELS = {
    "attention.v1": ("paged_attention_v1_kernel", GROUPED),
    "attention.v2": ("split_kernel", {**GROUPED, "TILE": 32}),
    "attention.prefill": ("prefill_kernel", {**GROUPED, "TILE": 32}),
    "attention.fused_decode": ("fused_decode_kernel", {**GROUPED, "TILE": 32}),
    "cache_write": ("reshape_and_cache_kernel", {**SIZES, **HEADS, "LINES": 8, "FP8": False}),
    "block_copy": (
        "copy_blocks_kernel",
        {**SIZES, **HEADS, "LINES": 8, "ALIGNED": False, "NUMBER": "int16"},
    ),
}


def step_widths(path: Path | None = None) -> dict[str, dict[str, list[int]]]:
    """For each module and pointer; `path` holds another package `kernels` to take them from."""
    child = python(
        "-P",  # the checkout lies in the working directory, and must not come first
        "-c",
        COMPILE,
        json.dumps(KERNELS),
        path=path,
        PAGESIM_COMPILE_ONLY="1",
        TRITON_CACHE_DIR=os.environ.get("TRITON_CACHE_DIR"),
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


def need_triton() -> None:
    if mode.decide().mode == "reference":
        pytest.skip(f"nothing to compile with: {mode.decide().reason}")


def caches(module: str) -> list[str]:
    """The pointers into caches: `copy_blocks` has but one, made from an address."""
    return ["cache_ptr"] if module == "block_copy" else ["k_cache_ptr", "v_cache_ptr"]


def test_steps_into_the_caches_are_64_bits_wide() -> None:
    need_triton()
    for module, widths in step_widths().items():
        for cache in caches(module):
            assert widths[cache] == [64], f"{module}, {cache}"


def test_a_mutant_with_32_bits_is_caught(tmp_path: Path) -> None:
    need_triton()
    copy_package(tmp_path)
    for source in (tmp_path / "kernels").rglob("*.py"):
        text = source.read_text()
        mutant = text.replace("tl.int64", "tl.int32")
        if source.name == "block_copy.py":
            # Numbers from its tables are 64 bits wide by themselves; a mutant must cut them down.
            mutant = re.sub(r"((?:_step|source|target) = tl\.load\(.*\))", r"\1.to(tl.int32)", text)
        source.write_text(mutant)
    for module, widths in step_widths(tmp_path).items():
        for cache in caches(module):
            assert 32 in widths[cache], f"{module}, {cache}"


# Only touched pages of an untouched allocation exist on a CPU, so this costs little there.
LARGE = """
import torch
from pagesim import kernels
where = kernels.backend.device()
blocks = 2**31 // (16 * 64) + 8
try:
    cache, values = torch.empty(2, blocks, 16, 1, 64, dtype=torch.float16, device=where)
except RuntimeError as error:
    print("skip:", str(error).splitlines()[0])
    raise SystemExit
assert (blocks - 8) * cache.stride(0) == 2**31
table = torch.tensor([[blocks - 1, 3, blocks - 7]], dtype=torch.int32, device=where)
tokens = torch.randn(37, 1, 64, device=where).half()
slots = torch.tensor([int(table[0, p // 16]) * 16 + p % 16 for p in range(37)], device=where)
kernels.reshape_and_cache(tokens, tokens, cache, values, slots)
assert torch.equal(cache[table[0].long()].reshape(48, 1, 64)[:37], tokens)
q = torch.randn(1, 2, 64, device=where).half()
lens = torch.tensor([37], dtype=torch.int32, device=where)
out = kernels.paged_attention_v1(q, cache, cache, table, lens)
kernels.assert_matches_reference(out, q, cache, cache, table, lens)
out = kernels.paged_attention_v2(q, cache, cache, table, lens, num_partitions=2)
kernels.assert_matches_reference(out, q, cache, cache, table, lens)
kernels.copy_blocks([cache], [cache], torch.tensor([[blocks - 1, blocks - 2]]))
assert torch.equal(cache[blocks - 1], cache[blocks - 2])
print("right")
"""


def test_a_cache_of_more_than_two_to_the_31_elements() -> None:
    """In a child process: a kernel that gets this wrong dies of it."""
    child = python("-c", LARGE)
    if child.stdout.startswith("skip:"):
        pytest.skip(f"8 GiB of address space are not to be had: {child.stdout[6:].strip()}")
    assert (child.returncode, child.stdout) == (0, "right\n"), child.stderr
