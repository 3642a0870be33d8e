"""No command writes over what it reads: every input beside every output, by every name."""

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pagesim.commands import cli, common
from tests.commands.runs import Shell

pytestmark = pytest.mark.ch00

NAMES = {
    "compare": {"file": "a b", "output": "out", "words": "titles"},
    "doctor": {},
    "exercises list": {},
    "exercises release": {"made": "folder"},
    "exercises solutions": {"made": "folder"},
    "explain": {"file": "file", "output": "out", "words": "request"},
    "fit": {"file": "file", "output": "out", "words": "name source licence"},
    "generate": {
        "folder": "model",
        "file": "prompt_file",
        "output": "record",
        "words": "prompts device",
    },
    "grade": {"folder": "folder", "output": "table"},
    "lab": {"made": "folder", "words": "flags"},
    "offload": {"output": "out", "words": "model gpu link"},
    "play": {"file": "file", "output": "out", "words": "title steps"},
    "quirks": {"output": "out", "words": "quirk_id subject"},
    "replay": {"file": "files", "output": "out"},
    "simulate": {
        "file": "file slots",
        "output": "record page requests steps kv_events",
        "words": "model gpu groups link",
    },
    "size": {
        "file": "config",
        "output": "out",
        "words": "model memory engine gpu_memory peak dtype kv_cache_dtype mamba_cache_mode "
        "mamba_ssm_cache_dtype line length",
    },
    "sweep": {"file": "grid", "output": "out"},
    "waste": {"file": "file slots", "output": "out", "words": "model gpu groups link"},
    "whatif": {"output": "out", "words": "running waiting swapped cached request groups"},
}
"""What parameters name that are no number, flag or choice. ``made`` is a folder of notebooks,
whose files the command itself looks at before it writes."""

ROLES = {
    command: {name: role for role, names in roles.items() for name in names.split()}
    for command, roles in NAMES.items()
}
"""By command: what each parameter names."""


def commands(group: click.Group = cli.cli, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(commands())


def is_text(one: click.Parameter) -> bool:
    """Whether a parameter may name a file: neither a number, a flag nor a choice can."""
    others = (click.Choice, click.types.IntParamType, click.types.FloatParamType)
    is_flag = isinstance(one, click.Option) and one.is_flag
    return not is_flag and not isinstance(one.type, others)


def test_every_parameter_of_every_command_has_its_role() -> None:
    assert COMMANDS.keys() == ROLES.keys()
    for name, command in COMMANDS.items():
        assert {one.name for one in command.params if is_text(one)} == ROLES[name].keys(), name
    typed = {"output": common.OUTPUT_FILE, "made": None, "words": click.STRING}
    for name, roles in ROLES.items():
        for one in COMMANDS[name].params:
            role = roles.get(one.name or "")
            if role in ("file", "folder"):
                inputs = (common.INPUT_FILE, common.INPUT_FOLDER)
                assert one.type in inputs or isinstance(one.type, common.NamedInput), (name, one)
            elif typed.get(role or "") and not isinstance(one.type, click.Tuple):
                assert one.type is typed[role or ""], (name, one)


FILE_NAMES = ("same", "dotted", "soft", "hard", "by a linked folder")
FOLDER_NAMES = (*FILE_NAMES, "beside it", "below", "what its link leads to")


def output(way: str, target: Path, folder: Path) -> Path:
    """A name for an output that is ``target``, a file in ``folder``, or lies beside it."""
    away = folder.with_name("away")
    away.mkdir()
    if way == "dotted":
        return away / ".." / folder.name / target.name
    if way == "soft":
        (away / "soft").symlink_to(target)
    elif way == "hard":
        (away / "hard").hardlink_to(target)
    elif way == "by a linked folder":
        (away / "linked").symlink_to(folder)
        return away / "linked" / target.name
    elif way == "below":
        (folder / "below").mkdir()
        return folder / "below" / "new"
    elif way == "what its link leads to":
        target.replace(away / "elsewhere")
        target.symlink_to(away / "elsewhere")
        return away / "elsewhere"
    return {"same": target, "beside it": folder / "new"}.get(way, away / way)


PAIRS = [
    (name, read, written, way)
    for name, roles in ROLES.items()
    for read, written in itertools.product(roles, roles)
    if roles[read] in ("file", "folder") and roles[written] == "output"
    for way in (FILE_NAMES if roles[read] == "file" else FOLDER_NAMES)
]


def seen(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
@pytest.mark.parametrize(("name", "read", "written", "way"), PAIRS)
def test_no_output_is_an_input(
    name: str, read: str, written: str, way: str, tmp_path: Path, shell: Shell
) -> None:
    folder, other = tmp_path / "inputs", tmp_path / "other"
    for each in (folder, other):
        each.mkdir()
        (each / "one").write_text("what would be lost")
    words: list[Path | str] = []
    for one in COMMANDS[name].params:
        role, place = ROLES[name].get(one.name or ""), folder if one.name == read else other
        value: Path | str = {"file": place / "one", "folder": place}.get(role or "", "a")
        if one.name == written:
            value = output(way, folder / "one", folder)
        elif one.name != read and not one.required:
            continue
        words += [value] if isinstance(one, click.Argument) else [one.opts[0], value]
    before = seen(tmp_path)
    assert "the input" in shell.refusal(*name.split(), *words)
    assert seen(tmp_path) == before


@pytest.mark.parametrize("name", ["config.json", "new.jsonl.gz"])
def test_the_package_s_own_model_is_an_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    from pagesim import kernels

    own = Path(kernels.__path__[0])
    out = tmp_path / "tiny_llm" / "walk" / name
    shutil.copytree(own / "tiny_llm" / "walk", out.parent)
    monkeypatch.setattr(kernels, "__path__", [str(tmp_path)])
    before = seen(out.parent)
    error = shell.refusal("generate", "walk", "--prompt", "k>c;?k", "--record", out)
    assert "is in the input" in error
    assert seen(out.parent) == before
