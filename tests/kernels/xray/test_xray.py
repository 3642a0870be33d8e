"""The x-ray: correct kernels pass, mutants are told what they did wrong, numbers are right."""

import importlib.util
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pagesim import kernels
from pagesim.kernels import backend
from pagesim.kernels.runtime import mode
from pagesim.kernels.xray import interpreter as memory
from pagesim.kernels.xray.accesses import Access, Region
from pagesim.kernels.xray.ownership import read_ownership
from pagesim.kernels.xray.trace import AccessTrace
from tests.kernels import pages
from tests.kernels.cases import Case, make_case
from tests.kernels.children import ROOT, block_import, nightly, python

Launcher = Callable[..., Any]


@pytest.fixture(autouse=True)
def need_interpreter(request: pytest.FixtureRequest) -> None:
    if "way_out" in request.node.name:
        return  # it is about just that
    if backend.decide().mode != "interpreted":
        pytest.skip(f"nothing is interpreted: {backend.decide().reason}")


def small(window: int = 0) -> Case:
    made = pages.fragmented([7, 0, 4, 10], block_size=4)
    return make_case(made, heads=4, kv_heads=2, head_dim=8, window=window)


def written() -> tuple[torch.Tensor, ...]:
    """Arguments for reshape_and_cache: five tokens, one of them skipped.

    Behind them there is room for the slots: a mutant that writes there harms nothing else.
    """
    key, value = torch.randn(2, 24, 2, 8)[:, :5]
    cache = torch.zeros(6, 4, 2, 8)
    return key, value, cache, cache.clone(), torch.tensor([3, -1, 17, 8, 9])


def reads_per_slot(trace: AccessTrace, cache: str = "k_cache") -> dict[int, Counter[int]]:
    """For each sequence: how many of its (slot, KV head) pairs its programs read how often.

    {0: Counter({4: 74})}: each of 74 pairs was read 4 times, once for each of 4 query heads. A
    kernel that holds a group's query heads in one program reads each pair once.
    """
    counts: dict[int, Counter[tuple[int, ...]]] = {}
    for program in trace.programs:
        for access in program.of("read", cache):
            places = np.unique(np.stack(access.coordinates()[:3], axis=1), axis=0).tolist()
            for seq in trace.sequences_of(program):
                counts.setdefault(seq, Counter()).update(tuple(place) for place in places)
    return {seq: Counter(found.values()) for seq, found in sorted(counts.items())}


def test_attention_reads_its_own_slots_once_a_query_head() -> None:
    case = small()
    trace = kernels.xray(kernels.paged_attention_v1, *case.arguments).check()
    torch.testing.assert_close(trace.result, case.run(), rtol=0, atol=0)
    heads_a_kv_head, kv_heads = 2, 2
    for seq, length in enumerate(case.pages.lengths):
        for cache in ("k_cache", "v_cache"):
            expected = Counter({heads_a_kv_head: kv_heads * length}) if length else None
            assert reads_per_slot(trace, cache).get(seq) == expected


def test_each_program_walks_its_table_in_order() -> None:
    case = small()
    trace = kernels.xray(kernels.paged_attention_v1, *case.arguments)
    assert len(trace.by_program()) == 4 * 4
    for program in trace.by_program():
        seq, head = program.index[:2]
        if seq != 1:
            assert (program.rows, program.heads) == ([seq], [head])
            assert trace.sequences_of(program) == [seq]
        keys = [slot for access in program.of("read", "k_cache") for slot in access.slots()]
        assert [block * 4 + row for block, row in keys] == case.pages.slots(seq)
        (out,) = program.of("write")
        assert out.tensor == "out"
        assert [set(axis.tolist()) for axis in out.coordinates()] == [{seq}, {head}, set(range(8))]


def test_a_window_narrows_what_is_read() -> None:
    case = small(window=3)
    trace = kernels.xray(kernels.paged_attention_v1, *case.arguments, sliding_window=3).check()
    assert reads_per_slot(trace)[3] == Counter({2: 2 * 3})
    # The same accesses, judged by other windows: too few of them, too many of them.
    for other, message in (
        (4, "was read 0 times"),
        (2, "a slot of sequence 0, which it must not see"),
    ):
        judged = {**trace.arguments, "sliding_window": other}
        wrong = replace(trace, ownership=read_ownership(judged)).problems()
        assert any(message in problem for problem in wrong)


def test_shared_pages_have_all_their_readers() -> None:
    case = make_case(pages.forked(prompt=8, grown=3, block_size=4), heads=2, kv_heads=2, head_dim=8)
    readers = kernels.xray(kernels.paged_attention_v1, *case.arguments).check().readers()
    parent, one, other = case.pages.tables
    assert parent[:2] == one[:2] == other[:2]
    expected = {block: [0, 1, 2] for block in parent[:2]}
    expected |= {table[2]: [seq] for seq, table in enumerate(case.pages.tables)}
    assert readers == dict(sorted(expected.items()))


def test_the_cache_write_writes_the_slots_it_is_told() -> None:
    arguments = written()
    trace = kernels.xray(kernels.reshape_and_cache, *arguments).check()
    faults = [
        slot for p in trace.by_program() for a in p.of("write", "k_cache") for slot in a.slots()
    ]
    assert faults == [(0, 3), (4, 1), (2, 0), (2, 1)]
    assert torch.equal(arguments[2][4, 1], arguments[0][2])


def prefill_arguments(case: Case) -> tuple[torch.Tensor, ...]:
    """Queries for the last 5, 0, 4 and 6 tokens of `small()`: two begin inside a cached prefix."""
    starts = torch.tensor([0, 5, 5, 9, 15], dtype=torch.int32)
    return torch.randn(15, 4, 8), *case.arguments[1:4], starts, case.arguments[4]


def fused_arguments(case: Case) -> tuple[torch.Tensor, ...]:
    """The cache holds all but the token that is decoded now."""
    q, k_cache, v_cache, tables, lens = case.arguments
    new = torch.randn(2, 4, 2, 8)
    return q, new[0], new[1], k_cache, v_cache, tables, (lens - 1).clamp(min=0)


@pytest.mark.parametrize("window", [0, 3])
def test_the_fast_kernels_read_each_slot_once_for_a_whole_group(window: int) -> None:
    case = small()
    seen = {seq: min(n, window or n) for seq, n in enumerate([7, 0, 4, 10]) if n}
    for options in ({"num_partitions": 1}, {"partition_size": 4, "return_lse": True}):
        trace = kernels.xray(
            kernels.paged_attention_v2, *case.arguments, sliding_window=window, **options
        ).check()
        assert reads_per_slot(trace) == {seq: Counter({1: 2 * n}) for seq, n in seen.items()}
    fused = kernels.xray(kernels.fused_decode, *fused_arguments(case), sliding_window=window)
    assert reads_per_slot(fused.check()) == {
        seq: Counter({1: 2 * (n - 1)}) for seq, n in seen.items()
    }


@pytest.mark.parametrize("window", [0, 3])
def test_prefill_reads_what_its_queries_see(window: int) -> None:
    case = small()
    arguments = prefill_arguments(case)
    trace = kernels.xray(kernels.paged_prefill, *arguments, sliding_window=window).check()
    tiles = [program.rows for program in trace.programs if program.heads == [0, 1]]
    assert sorted(row for rows in tiles for row in rows) == list(range(15))
    # With a window of 3, ten tokens and six queries: positions 2 to 9.
    reads = sum(reads_per_slot(trace)[3].values())
    assert reads == (2 * 8 if window else 2 * 10)


@nightly
def test_the_room_is_called_like_the_function(tmp_path: Path) -> None:
    """Whichever is imported first; and without torch the missing extra is named."""
    code = "from pagesim import kernels; import pagesim.kernels.xray.accesses; "
    code += "print(callable(kernels.xray), kernels.xray.trace)"
    child = python("-c", code)
    assert child.stdout.startswith("True <module 'pagesim.kernels.xray.trace'"), child.stderr
    child = python(
        "-c", "from pagesim import kernels; kernels.xray", path=block_import(tmp_path, "torch")
    )
    assert 'pip install "pagesim[kernels]"' in child.stderr.splitlines()[-1]


def test_block_copies_are_followed_through_their_table_of_addresses() -> None:
    caches = [torch.randn(6, 4, 2, 8) for _ in range(4)]
    pairs = torch.tensor([[0, 1], [1, 2], [3, 2], [3, 4], [5, 3]])
    trace = kernels.xray(kernels.copy_blocks, caches[:2], caches[2:], pairs).check()
    targets = {a.tensor for p in trace.programs for a in p.of("write")}
    assert targets == {"k_caches[0]", "k_caches[1]", "v_caches[0]", "v_caches[1]"}
    assert kernels.xray(kernels.online_softmax, torch.randn(3, 20)).check().ownership is None


def mutant(folder: Path, file: str, name: str, old: str, new: str) -> Launcher:
    source = (ROOT / "kernels" / file).read_text()
    assert source.count(old) >= 1, f"the mutation no longer fits {file}"
    path = folder / f"mutant_{Path(file).name}"
    path.write_text(source.replace(old, new))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up while they are made
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return getattr(module, name)


EVERY = 1 if "PAGESIM_KERNELS" in os.environ else 2
# By kernel: what is replaced, by what, and what the x-ray says of it; `make nightly` tries all.
MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "attention/v1.py paged_attention_v1": [
        ("(position < seq_len)", "(position <= seq_len)", "row 3, head 0, a slot of no sequence"),
        ("(position < seq_len)", "(position < seq_len - 1)", r"\d+, row 2 was read 0 times"),
        ("tables_ptr + seq *", "tables_ptr + 3 *", "row 0, head 0, a slot of sequence 3"),
        ("kv_head = head // GROUP", "kv_head = head % 2", "row 0, head 1, a slot of sequence 0"),
        ("range(first, last)", "range(first + 1, last)", "was read 0 times"),
        ("page = step // SLICES", "page = step // SLICES - (step == 1)", "row 0, head 0 2 times"),
        ("in_head = dim < HEAD_DIM", "in_head = dim < 4", "reads 4 of 8 dimensions of"),
        ("block * k_block", "(block + 2**36) * k_block", "read of 32 elements outside every"),
        ("seq * out_seq", "(seq + 2**36) * out_seq", "write of 8 elements outside every"),
        ("tl.store(out_ptr", "tl.store(q_ptr", "q, which is not an output"),
        ("head * out_head", "0 * out_head", r"\(0, 1, 0\) writes out.*\(0, 0, 0\) writes"),
    ],
    "attention/v2.py paged_attention_v2": [
        ("(start + span, seq_len)", "(start + span + 1, seq_len)", "was read 2 times"),
    ],
    "attention/prefill.py paged_prefill": [
        ("stop = highest + 1", "stop = highest + 2", "a slot of no sequence"),
    ],
    "attention/fused_decode.py fused_decode": [
        ("(context_lens_ptr + seq)", "(context_lens_ptr + seq) + 1", "which it must not see"),
    ],
    "cache_write.py reshape_and_cache": [
        ("row * k_row", "(row + 1) % 4 * k_row", "block 0, row 0, .* not among the slots"),
        ("(slot >= 0)", "(slot > 3)", "k_cache block 0, row 3, head 0 was never written"),
        ("slot_mapping_ptr + token,", "slot_mapping_ptr + 0 * token,", "was written 5 times"),
        ("tl.store(v_cache_ptr", "tl.store(value_ptr", "value, which is not an output"),
    ],
    "block_copy.py copy_blocks": [
        ("source * block_step", "(source + 1) * block_step", "block 2, .* is not a source"),
        ("target * block_step", "(target + 1) * block_step", "block 4, .* not among the blocks"),
    ],
}


def arguments_of(kernel: str) -> tuple[Any, ...]:
    case, caches = small(), [torch.randn(6, 4, 2, 8) for _ in range(2)]
    return {
        "paged_prefill": lambda: prefill_arguments(case),
        "fused_decode": lambda: fused_arguments(case),
        "reshape_and_cache": written,
        "copy_blocks": lambda: (caches[:1], caches[1:], torch.tensor([[1, 3]])),
    }.get(kernel, lambda: case.arguments)()


@pytest.mark.parametrize(
    ("kernel", "old", "new", "message"),
    [(kernel, *mutant) for kernel, mutants in MUTANTS.items() for mutant in mutants[::EVERY]],
)
def test_a_mutant_is_told_what_it_did(
    kernel: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    file, name = kernel.split()
    launch = mutant(tmp_path, file, name, old, new)
    options = {"partition_size": 4} if name == "paged_attention_v2" else {}
    with pytest.raises(AssertionError, match=message):
        kernels.xray(launch, *arguments_of(name), **options).check()


def test_interleaved_and_strided_tensors_are_told_apart() -> None:
    """Keys and values of a block side by side in one storage, q with room between its heads."""
    case = small()
    both = torch.stack([case.k_cache, case.v_cache], dim=1)
    wide = torch.zeros(4, 4, 24)
    wide[:, :, 5:13] = case.q
    arguments = (wide[:, :, 5:13], both[:, 0], both[:, 1], *case.arguments[3:])
    trace = kernels.xray(kernels.paged_attention_v1, *arguments).check()
    plain = kernels.xray(kernels.paged_attention_v1, *case.arguments)
    for strided, dense in zip(trace.programs, plain.programs, strict=True):
        ours = [(a.tensor, a.elements.tolist()) for a in strided.accesses]
        assert ours == [(a.tensor, a.elements.tolist()) for a in dense.accesses]


def test_one_tensor_for_keys_and_values_is_read_twice_rightly() -> None:
    q, cache, _, tables, lens = small().arguments
    trace = kernels.xray(kernels.paged_attention_v1, q, cache, cache, tables, lens).check()
    assert trace.regions["k_cache"].uses == 2


def test_sectors_lines_and_efficiency_by_hand() -> None:
    # Rows of 20 bytes, 80 apart: bytes 0-19, 80-99, 160-179, 240-259 of the storage.
    case = make_case(pages.fragmented([4], 4), heads=1, kv_heads=1, head_dim=20)
    room = torch.zeros(case.k_cache.shape[0], 4, 1, 80, dtype=torch.uint8)
    region = Region("k_cache", (1, 4, 1, 20), (320, 80, 80, 1), 1, room.data_ptr(), 0, True)
    addresses = [room.data_ptr() + 80 * row + byte for row in range(4) for byte in range(20)]
    elements = region.locate(torch.tensor(addresses).numpy().astype("uint64"), 1)
    assert elements.ravel().tolist() == list(range(80))
    offsets = torch.tensor(addresses).numpy() - room.data_ptr()
    access = Access("read", region, elements.ravel(), offsets, 1)
    assert (access.num_bytes, access.sectors, access.lines) == (80, 6, 3)
    assert access.efficiency == 80 / (6 * 32)
    assert access.slots() == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_an_access_across_a_boundary_touches_both_sides() -> None:
    offsets = np.array([28, 124])
    access = Access("read", None, offsets, offsets, itemsize=8)
    assert (access.sectors, access.lines) == (4, 2)
    assert access.efficiency == 16 / (4 * 32)


def test_wide_and_narrow_accesses_find_their_elements() -> None:
    """A kernel may move a 2-byte tensor 8 bytes at a time, or look at one byte of an element."""
    region = Region("x", (4, 6), (16, 2), 2, 1000, 1000, True)
    located = region.locate(torch.tensor([1000, 1016, 1020]).numpy().astype("uint64"), 8)
    assert located.tolist() == [[0, 1, 2, 3], [6, 7, 8, 9], [8, 9, 10, 11]]
    located = region.locate(torch.tensor([1003, 1012, 999]).numpy().astype("uint64"), 1)
    assert located.tolist() == [[1], [-1], [-1]]


def test_summary_and_plain_data() -> None:
    case = small()
    trace = kernels.xray(kernels.paged_attention_v1, *case.arguments)
    lines = trace.summary().splitlines()
    assert lines[0] == "paged_attention_v1: 16 programs"
    # 21 tokens, 4 query heads, 8 numbers of 4 bytes: rows of one sector each, two to a line or one.
    (keys,) = [line.split() for line in lines if line.startswith("k_cache")]
    assert keys[:5] == ["k_cache", "read", "24", str(21 * 4 * 32), str(21 * 4)]
    assert keys[-1] == "100%"
    plain = json.loads(json.dumps(trace.as_dict()))
    assert plain["sequences"][2] == {"table": case.pages.tables[2], "length": 4}
    assert [p["sequences"] for p in plain["programs"][::4]] == [[0], [1], [2], [3]]
    reads = [a for a in plain["programs"][0]["accesses"] if a["tensor"] == "v_cache"]
    assert [len(a["slots"]) for a in reads] == [4, 3]
    assert reads[0]["slots"][0] == [case.pages.tables[0][0], 0]


def test_the_interpreter_is_left_as_it_was() -> None:
    interpreter = pytest.importorskip("triton.runtime.interpreter")

    def state() -> tuple[object, ...]:
        builder = interpreter.interpreter_builder
        return (
            interpreter._interpreter,
            interpreter.GridExecutor._init_args_hst,
            builder.set_grid_idx.__func__,
        )

    before = state()
    kernels.xray(kernels.reshape_and_cache, *written())
    with pytest.raises(ValueError, match="slot_mapping"):
        kernels.xray(kernels.reshape_and_cache, *written()[:4], torch.arange(5) + 99)
    assert state() == before


def test_a_changed_interpreter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    builder = interpreter.InterpreterBuilder
    load = builder.create_masked_load

    def twice(self: Any, *arguments: Any) -> Any:
        load(self, *arguments)
        return load(self, *arguments)

    monkeypatch.setattr(memory, "_misunderstanding", memory._misunderstanding.__wrapped__)
    kernels.xray(kernels.reshape_and_cache, *written())
    monkeypatch.setattr(builder, "create_masked_load", twice)
    with pytest.raises(RuntimeError, match=r"does not understand .* triton \d.*use triton 3\.7\.1"):
        kernels.xray(kernels.reshape_and_cache, *written())
    monkeypatch.undo()
    monkeypatch.setattr(memory, "_misunderstanding", memory._misunderstanding.__wrapped__)
    monkeypatch.delattr(interpreter.GridExecutor, "_init_args_hst")
    with pytest.raises(RuntimeError, match="_init_args_hst"):
        kernels.xray(kernels.reshape_and_cache, *written())


@pytest.mark.parametrize(
    ("kind", "reason", "sentence"),
    [
        ("compiled", "torch sees a H200", "restart Python with TRITON_INTERPRET=1"),
        ("reference", "no triton", "there is none here (no triton): use Linux and pip install"),
    ],
)
def test_where_nothing_is_interpreted_the_way_out_is_named(
    kind: Any, reason: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mode, "decide", lambda: mode.Backend(kind, reason, "cpu"))
    with pytest.raises(RuntimeError, match=re.escape(sentence)):
        kernels.xray(print, 1)
