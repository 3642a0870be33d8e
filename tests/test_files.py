"""What is written is there whole or not at all, beside it nothing stays, and no input is lost."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pagesim import UsageError
from pagesim.files import check_output, replacing

pytestmark = pytest.mark.ch00

posix = pytest.mark.skipif(os.name != "posix", reason="signals and links as POSIX has them")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, data: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(data)


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "x"
    out.write_bytes(b"old")
    with replacing(out) as file:
        file.write(b"new")
        file.flush()
        assert out.read_bytes() == b"old"
    assert out.read_bytes() == b"new"
    assert names(tmp_path) == ["x"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "x"):
        raise ZeroDivisionError
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


def test_a_part_of_the_users_own_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "x.part").write_text("mine")
    write(tmp_path / "x")
    assert (tmp_path / "x.part").read_text() == "mine"
    assert names(tmp_path) == ["x", "x.part"]


@posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "x")
    for data in (b"one", b"two"):
        write(tmp_path / "link", data)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "x").read_bytes() == data
    assert names(tmp_path / "far") == ["x"]


@posix
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write(tmp_path / "pipe")
    reader.join(10)
    assert read == [b"new"]
    assert (tmp_path / "pipe").is_fifo()


@posix
def test_modes_are_those_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write(tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "x").chmod(0o640)
    write(tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_an_error_names_the_file_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "x"
    with pytest.raises(FileNotFoundError) as raised:
        write(out)
    assert raised.value.filename == str(out)


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_old_file_and_nothing_else(tmp_path: Path, number: int) -> None:
    (tmp_path / "x").write_bytes(b"old")
    program = (
        "import sys, time\nfrom pagesim.files import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'new')\n    print(flush=True)\n    time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "x")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    child.stdout.readline()
    assert len(names(tmp_path)) == 2
    child.send_signal(number)
    assert child.wait(30) == -number
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


@posix
def test_the_signal_handlers_are_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with replacing(tmp_path / "x"), replacing(tmp_path / "y"):
        pass
    assert signal.getsignal(signal.SIGTERM) == before


@posix
def test_an_input_is_no_output_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "run.jsonl"
    there.write_text("{}")
    (tmp_path / "soft").symlink_to(there)
    (tmp_path / "hard").hardlink_to(there)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("run.jsonl", "soft", "hard", "folder/../run.jsonl", str(there)):
        with pytest.raises(UsageError, match=r"is the input .*run\.jsonl, which would be lost"):
            check_output(name, "folder", there)
    check_output("other", there)
    check_output("run.jsonl")
    check_output("/dev/null", "/dev/null")


@posix
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/x", r"nowhere/x: there is no folder .*nowhere: make it first"),
        ("file/x", "file/x: there is no folder .*file: make it first"),
        ("link", "link: there is no folder .*gone: make it first"),
        (".", r"is a folder: name a file in it"),
        ("closed/x", r"closed/x: the folder .*closed cannot be written to: choose another"),
    ],
)
def test_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "x")
    (tmp_path / "closed").mkdir()
    access = os.access  # root may write anywhere
    monkeypatch.setattr(
        os, "access", lambda path, mode: "closed" not in str(path) and access(path, mode)
    )
    with pytest.raises(UsageError, match=message):
        check_output(tmp_path / name)
