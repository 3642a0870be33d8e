"""The outputs of commands: checked before any work, and blamed by name."""

import os
from pathlib import Path

import pytest

from tests.commands.runs import Shell, requests, run
from tests.timeline.scenes import told

pytestmark = pytest.mark.ch00

TRACE = Path(__file__).parents[1] / "data" / "block_table-edge-106.jsonl.gz"


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """A file for each command to read."""
    told([1, 2, 3]).save(tmp_path / "run.jsonl.gz")
    (tmp_path / "recording.jsonl.gz").write_bytes(TRACE.read_bytes())
    trace = requests(tmp_path / "requests.svg", "0,5,5")
    return {
        "play": tmp_path / "run.jsonl.gz",
        "replay": tmp_path / "recording.jsonl.gz",
        "simulate": trace,
        "waste": trace,
    }


OPTION = {"play": "-o", "replay": "-o", "simulate": "--record", "waste": "--out"}


SIMULATION = ("pagesim.workload.load", "pagesim.simulation.simulate")
WORK = {
    "play": ("pagesim.timeline.load",),
    "replay": ("pagesim.replay.replay_file",),
    "simulate": SIMULATION,
    "waste": SIMULATION,
}


@pytest.mark.parametrize("command", OPTION)
def test_the_output_is_looked_at_before_any_work_and_blamed(
    command: str,
    inputs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shell: Shell,
) -> None:
    for name in WORK[command]:
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("work has begun"))
    out = tmp_path / "nowhere" / "x.svg"
    err = shell.refusal(command, inputs[command], OPTION[command], out)
    assert f"{out}: there is no folder {out.parent}: make it first" in err
    assert str(inputs[command]) not in err


@pytest.mark.parametrize("command", ["play", "replay", "simulate"])
def test_a_full_disk_is_the_outputs_fault(
    command: str, inputs: dict[str, Path], tmp_path: Path, shell: Shell
) -> None:
    """A limit on the size of files is as good as a full disk, and needs none."""
    resource = pytest.importorskip("resource", reason="limits as POSIX has them")
    before, out = sorted(tmp_path.iterdir()), tmp_path / "out"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        err = shell.refusal(command, inputs[command], OPTION[command], out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"File too large: '{out}'" in err
    assert str(inputs[command]) not in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("twice", [("--record", "--page"), ("--page", "--requests")])
def test_two_outputs_are_two_files(
    twice: tuple[str, str], inputs: dict[str, Path], tmp_path: Path, shell: Shell
) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(out)
    err = shell.refusal("simulate", inputs["simulate"], twice[0], out, twice[1], link)
    assert "is also" in err and all(option in err for option in twice)
    assert not out.exists()
    assert run("simulate", inputs["simulate"], twice[0], os.devnull, twice[1], os.devnull) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_device_is_named_alone(inputs: dict[str, Path], shell: Shell) -> None:
    err = shell.refusal("simulate", inputs["simulate"], "--record", "/dev/full")
    assert err.endswith("No space left on device: '/dev/full'\n")


@pytest.mark.parametrize("command", ["play", "compare"])
def test_a_title_is_mended_or_too_long(
    command: str, inputs: dict[str, Path], tmp_path: Path, shell: Shell
) -> None:
    """Arguments that are not UTF-8 arrive with lone surrogates, which no file can hold."""
    file, out = inputs["play"], tmp_path / "page.html"
    words = {"play": (file, "--title"), "compare": (file, file, "--titles", "b")}
    shell.refusal(command, *words[command], "a" * 10_001, "-o", out)
    assert not out.exists()
    shell(command, *words[command], "\udcff", "-o", out)
    assert "\ufffd" in out.read_text("utf-8")


@pytest.mark.parametrize("option", [("-o", "x.html"), ("--part", "1")])
def test_the_recorder_takes_no_option_of_a_replay(
    option: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    monkeypatch.chdir(tmp_path)
    err = shell.refusal("replay", "--recorder", *option)
    assert err == "pagesim: --recorder prints a script and takes no FILE, -o or --part\n"
