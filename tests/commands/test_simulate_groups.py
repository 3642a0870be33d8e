"""`pagesim simulate --groups`: what each group holds, beside the same layers as one group."""

import csv
import json
from pathlib import Path

import pytest

from pagesim.simulation import PagedV1
from pagesim.simulation.groups import blocks_of
from tests.commands.runs import Shell

WIDE = ("--slots", "20000", "--saturated")


def test_each_group_has_a_line_and_is_in_the_answer(shell: Shell, trace: Path) -> None:
    arguments = ("simulate", trace, "--policy", "v1", "--groups", "full,window:64*2", *WIDE)
    value = shell.answer(*arguments)
    names = [group["group"] for group in value["groups"]]
    assert names == ["full", "window:64 (1)", "window:64 (2)"]
    assert value["lost_tokens"] == 0
    lines = shell(*arguments).splitlines()
    assert sum(line.startswith("window:64") for line in lines) == 2


def test_the_same_layers_as_one_group_stand_beside_it(
    shell: Shell, trace: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    groups = ("--policy", "v1", "--groups", "full,window:64*5", "--slots", "1000", "--saturated")
    beside = ("--compare", "uniform", "--requests", rows)
    value = shell.answer("simulate", trace, *groups, *beside)
    alone = shell.answer("simulate", trace, "--policy", "v1", *groups[4:])
    other = value["compared"]
    assert other.pop("policy") == "uniform"
    assert other == {name: alone[name] for name in other}
    assert value["iterations"] < other["iterations"]
    with rows.open(newline="") as opened:
        lost = [int(row["lost_tokens"]) for row in csv.DictReader(opened)]
    assert sum(lost) == value["lost_tokens"] > 0
    saved = tmp_path / "saved.json"
    saved.write_text(shell("simulate", trace, *groups, "--json"))
    assert "lost tokens" in shell("compare", saved, saved)
    assert "lost tokens" in shell("compare", rows, rows)


def test_the_groups_of_a_model(shell: Shell, trace: Path) -> None:
    named = ("--model", "gemma-3-27b", "--gpu", "h100", "--kv-gib", "4", "--groups", "model")
    value = shell.answer("simulate", trace, "--policy", "v1", *named)
    assert len(value["groups"]) == 7
    padded = {group["group"]: group["padding"] for group in value["groups"]}
    assert padded["full"] == 0 < max(padded.values())


def test_the_blocks_that_size_counts_are_the_pool(
    shell: Shell, trace: Path, tmp_path: Path
) -> None:
    """The padding of small groups is part of them."""
    path = tmp_path / "size.json"
    path.write_text(shell("size", "--model", "gemma-3-27b", "--memory", "20GiB", "--json"))
    pool = ("--pool", path, "--groups", "model", "--policy", "v1")
    value = shell.answer("simulate", trace, *pool)
    policy = PagedV1.for_model("gemma-3-27b")
    blocks = blocks_of(value["pool"], policy.groups, policy.group_layers)  # type: ignore[arg-type]
    assert blocks == json.loads(path.read_text())["num_gpu_blocks"][0] == 16_384


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--policy", "v1", "--compare", "uniform"), "--compare uniform: needs"),
        (("--compare", "uniform", "--groups", "full"), "--compare uniform: needs"),
        (("--policy", "v1", "--groups", "full,half"), "'half' in groups is no group"),
        (("--policy", "v1", "--groups", "full,mamba", "--compare", "uniform"), "states"),
        (("--groups", "full"), "does not apply"),
    ],
)
def test_what_cannot_be_used_is_named(
    shell: Shell, trace: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in shell.refusal("simulate", trace, *options, *WIDE)
