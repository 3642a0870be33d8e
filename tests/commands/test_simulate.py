"""`pagesim simulate`: JSON, tables, and one line for bad input."""

import base64
import csv
import gzip
import json
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from pagesim.commands.simulate import simulate
from pagesim.commands.waste import waste
from pagesim.simulation import Limits, Paged, PagedV1
from pagesim.timeline import load
from tests.commands.runs import KEYS, SMALL, Shell, requests, run
from tests.documents import Document

pytestmark = pytest.mark.ch01


def test_simulate_says_where_memory_and_time_went(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--policy", "oracle", *SMALL)
    value = shell.answer(*arguments)
    assert (value["finished"], value["ignored"], value["policy"]) == (40, 0, "oracle")
    assert list(value["waste"]) == KEYS
    assert value["latency"]["normalized"]["mean"] > 0
    out = shell(*arguments)
    assert "40 of 40 requests served" in out
    assert "time to first token" in out
    first = shell.answer(*arguments, "--first", "7", "--saturated")
    assert first["finished"] == 7


def test_simulate_records_a_run_that_can_be_loaded(
    shell: Shell, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.jsonl.gz"
    arguments = ("simulate", trace, *SMALL, "--first", "5", "--block-size", "4", "--record", out)
    value = shell.answer(*arguments)
    assert (value["record"], value["block_size"], value["policy"]) == (str(out), 4, "paged")
    assert len(load(out)) > 50
    assert f"pagesim play {out}" in shell(*arguments)
    assert load(out).notes.model is None


@pytest.mark.parametrize(
    ("model", "heads", "more"),
    [("llama-3.1-8b", 4, ()), ("gemma-3-4b", None, ("model",))],
)
def test_a_named_model_is_recorded_if_it_keeps_keys_and_values(
    shell: Shell, trace: Path, tmp_path: Path, model: str, heads: int | None, more: tuple[str, ...]
) -> None:
    out = tmp_path / "run.jsonl.gz"
    given = ("--model", model, "--tp", "2", "--slots", "4096", "--first", "2", "--record", out)
    groups = ("--policy", "v1", "--groups", *more) if more else ()
    shell("simulate", trace, *given, *groups)
    shape = load(out).notes.model
    assert (shape and shape.kv_heads) == heads


def test_simulate_says_no_when_nothing_fits(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--policy", "max", "--slots", "10")
    assert shell.answer(*arguments, code=1)["ignored"] == 40
    assert "40 requests were ignored" in shell(*arguments, code=1)


def test_samples_share_and_need_room_on_the_cpu(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--saturated", "--samples", "3", *SMALL)
    value = shell.answer(*arguments, "--cpu-blocks", "10000")
    assert value["finished"] + value["ignored"] == 40
    assert value["preemptions"] > 0
    text = shell.refusal(*arguments)
    assert text.startswith("pagesim: --cpu-blocks 0: no CPU swap space")
    assert text.endswith("Raise num_cpu_blocks\n")  # samples cannot be recomputed
    assert text.count("\n") == 1


def test_samples_in_chunked_steps_keep_to_the_token_budget(shell: Shell, tmp_path: Path) -> None:
    trace = requests(tmp_path / "samples.csv", "0,1,20", *["0,3,5"] * 3)
    few = ("--slots", "800", "--block-size", "4", "--max-len", "64", "--max-num-seqs", "2")
    three = ("--enable-chunked-prefill", "--samples", "3", "--cpu-blocks", "400")
    simulate = ("simulate", trace, *few, *three, "--max-num-batched-tokens")
    # Three samples take three tokens a step: no request runs.
    assert "4 requests were ignored" in shell(*simulate, "2", code=1)
    for tokens in ("3", "4", "5"):
        assert shell.answer(*simulate, tokens)["finished"] == 4


def test_who_is_stuck_is_told(shell: Shell, tmp_path: Path) -> None:
    trace = requests(tmp_path / "stuck.csv", "0,4,30", "0.001,30,3")
    few = ("--slots", "40", "--block-size", "4", "--max-len", "64", "--max-num-seqs", "4")
    chunks = ("--max-num-batched-tokens", "8", "--enable-chunked-prefill")
    swap = ("--preemption-mode", "swap", "--cpu-blocks", "40")
    assert shell.answer("simulate", trace, *few, *chunks, *swap, code=1)["stuck"] == 1
    why = "paged: 1 requests wait forever, or behind one that does:\n  '1': it was swapped out"
    assert why in shell("simulate", trace, *few, *chunks, *swap, code=1)


@pytest.mark.parametrize("command", ["simulate", "waste"])
def test_a_trace_is_not_blamed_for_what_an_option_says(
    shell: Shell, trace: Path, command: str
) -> None:
    for option in (("--gpu", "b200"), ("--tp", "3"), ("--watermark", "2"), ("--policy", "x")):
        text = shell.refusal(command, trace, *option)
        assert trace.name not in text and text.count("\n") == 1


def test_v1_takes_the_steps_of_its_api_server(shell: Shell, tmp_path: Path) -> None:
    """A prompt of 30,000 tokens, and one answer token: every iteration is a chunk."""
    trace = requests(tmp_path / "long.csv", "0,30000,1")
    long = ("simulate", trace, "--model", "llama-3.1-8b", "--kv-gib", "9", "--max-len", "32768")
    for gpu, policy, more, chunks in (
        ("a100-80gb", "v1", (), 15),
        ("l4", "v1", (), 15),
        ("h100", "v1", (), 4),
        ("h200", "v1", ("--no-enable-chunked-prefill",), 1),
        ("h100", "v1", ("--max-num-batched-tokens", "3000"), 10),
        ("h100", "paged", (), 1),
        ("h100", "paged", ("--enable-chunked-prefill",), 59),
        ("h100", "max", (), 1),
    ):
        value = shell.answer(*long, "--gpu", gpu, "--policy", policy, *more)
        assert (value["finished"], value["iterations"]) == (1, chunks), (gpu, policy, more)
    value = shell.answer(*long, "--gpu", "h100", "--compare", "v1")
    assert (value["iterations"], value["compared"]["iterations"]) == (1, 4)


@pytest.mark.parametrize("command", [waste, simulate])
def test_the_options_are_the_fields_of_the_policy(command: click.Command) -> None:
    """Each is declared once, with its help; what the policy has, both commands take."""
    options = {one.name: one for one in command.params if isinstance(one, click.Option)}
    declared = [*fields(Paged), *fields(PagedV1), *fields(Limits)]
    without = {"fast_forward", "hash_block_size", "group_layers"}  # the same result, or of --groups
    names = {one: one.metadata.get("called", one.name) for one in declared}
    assert set(names.values()) - options.keys() == without
    for one, name in names.items():
        if name in options:
            text = (options[name].help or "").casefold()
            assert one.metadata["help"].casefold() in text
            assert f"--{one.name.replace('_', '-')}" in options[name].opts


def test_v1_is_a_policy_with_options_of_its_own(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--policy", "v1", *SMALL, "--saturated")
    value = shell.answer(*arguments)
    assert (value["policy"], value["block_size"], value["finished"]) == ("v1", 16, 40)
    assert list(value["waste"]) == [*KEYS[:4], "cached", *KEYS[4:]]
    assert value["waste"]["cached"] > 0
    off = shell.answer(*arguments, "--no-enable-prefix-caching", "--watermark", "0.5")
    assert off["waste"]["cached"] == 0
    assert off["waste"]["batch"] < 0.8 * value["waste"]["batch"]
    assert re.search(r"external +cached +free +batch\n", shell(*arguments))
    assert "samples=2 does not apply to PagedV1" in shell.refusal(*arguments, "--samples", "2")


def test_cached_blocks_have_a_colour_in_the_picture(trace: Path, tmp_path: Path) -> None:
    for policy, drawn in (("v1", True), ("paged", False)):
        out = tmp_path / f"{policy}.svg"
        assert run("waste", trace, "--policy", policy, "--out", out, *SMALL) == 0
        assert (">cached<" in out.read_text()) is drawn


def test_who_waits_forever_in_v1_is_named(shell: Shell, tmp_path: Path) -> None:
    trace = requests(tmp_path / "never.csv", "0,4,2", "0,90,2", "0,4,2")
    out = tmp_path / "requests.csv"
    arguments = ("simulate", trace, "--policy", "v1", "--slots", "64", "--requests", out)
    value = shell.answer(*arguments, code=1)
    why = value["waits_forever"]["1"]
    assert "needs 6 blocks for its 90 tokens, and the pool has 3" in why
    assert (value["stuck"], value["waits_forever"]) == (2, {"1": why})
    text = shell(*arguments, code=1)
    assert f"v1: 2 requests wait forever, or behind one that does:\n  '1': {why}\n" in text
    text = shell("simulate", trace, "--compare", "v1", "--slots", "64", code=1)
    assert text.endswith(f"\n  '1': {why}\n")
    with out.open(newline="") as opened:
        rows = [(row["state"], row["why"]) for row in csv.DictReader(opened)]
    behind = "it waits behind request '1', which waits forever"
    assert rows == [("finished", ""), ("stuck", why), ("stuck", behind)]


def test_both_engines_on_one_page(shell: Shell, trace: Path, tmp_path: Path) -> None:
    page, record = tmp_path / "both.html", tmp_path / "run.jsonl"
    outputs = ("--page", page, "--record", record)
    arguments = ("simulate", trace, *SMALL, "--first", "4", "--block-size", "8", *outputs)
    more = ("--compare", "v1", "--num-cpu-blocks", "9", "--long-prefill-token-threshold", "64")
    value = shell.answer(*arguments, *more)
    assert (value["policy"], value["compared"]["policy"]) == ("paged", "v1")
    assert value["compared"]["block_size"] == 8
    assert value["page"] == str(page)
    both = page.read_text()
    assert "vLLM V0" in both and "vLLM V1" in both
    for template in Document(both).texts["template"][:2]:
        header = json.loads(gzip.decompress(base64.b64decode(template)).split(b"\n")[0])
        assert header["clock"], "both can be kept in step by their clocks"
    assert '["CPU",9]' in record.read_text(), "the run of --policy"
    assert f"{page} plays the run." in shell(*arguments)
    assert len(page.read_text()) < len(both)
    assert "--page: " in shell.refusal("simulate", trace, "--page", trace)


def test_a_second_tier_has_lines_and_columns(shell: Shell, trace: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    tier = ("--policy", "v1", "--cpu-blocks", "500", "--link", "10GB", "--eviction", "arc")
    arguments = ("simulate", trace, *SMALL, "--saturated", *tier)
    value = shell.answer(*arguments, "--requests", rows)
    assert value["cpu_blocks"] == 500 and value["blocks_out"] > 0
    text = shell(*arguments)
    assert f"second tier: {value['blocks_out']} blocks to the CPU" in text
    with rows.open(newline="") as opened:
        loaded = [int(row["loaded_tokens"]) for row in csv.DictReader(opened)]
    assert sum(loaded) == value["loaded_tokens"]
    assert "loaded tokens" in shell("compare", rows, rows)
    both = shell.answer("simulate", trace, *SMALL, "--cpu-blocks", "500", "--compare", "v1")
    assert both["compared"]["cpu_blocks"] == 500 and "cpu_blocks" not in both


def test_an_option_reaches_the_policy(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--saturated", *SMALL)
    shares = [shell.answer(*arguments, "--watermark", part)["waste"] for part in ("0", "0.5")]
    assert shares[0]["batch"] > 1.3 * shares[1]["batch"]


def test_a_row_a_request_is_written(shell: Shell, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "requests.csv"
    value = shell.answer("simulate", trace, *SMALL, "--requests", out)
    with out.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert value["requests_csv"] == str(out)
    assert [row["request_id"] for row in rows] == [str(i) for i in range(40)]
    ttft = sorted(float(row["ttft_s"]) for row in rows)
    assert value["latency"]["time_to_first_token"]["mean"] == pytest.approx(sum(ttft) / 40)
    assert "--requests: " in shell.refusal("simulate", trace, "--requests", trace)


def test_two_policies_are_compared(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, *SMALL, "--saturated", "--block-size", "8")
    value = shell.answer(*arguments, "--compare", "max")
    assert (value["policy"], value["block_size"]) == ("paged", 8)
    assert value["compared"]["policy"] == "max"
    alone = shell.answer("simulate", trace, *SMALL, "--saturated", "--policy", "max")
    assert value["compared"] | {"machine": value["machine"]} == alone
    assert re.search(r"mean batch +\d.* +\d.* +0\.\d", shell(*arguments, "--compare", "max"))
