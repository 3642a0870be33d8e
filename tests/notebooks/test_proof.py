"""`make lighthouse`: which pages are loaded, and which marks are too low."""

from pathlib import Path

import pytest

from tools.course import proof

pytestmark = pytest.mark.ch00


def test_the_heaviest_pages_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/big.svg").write_text("x" * 10_000, encoding="utf-8")
    bodies = {"00_a": "aa", "01_b": "bbbb", "02_c": '<img src="assets/big.svg">', "03_d": "ddd"}
    for name, body in bodies.items():
        (tmp_path / f"{name}.html").write_text(body * 100, encoding="utf-8")
    (tmp_path / "04_e.html").write_text("<iframe>", encoding="utf-8")
    assert proof.weight(tmp_path / "02_c.html") == 10_000 + 100 * len(bodies["02_c"])
    assert proof.heaviest(tmp_path) == [
        f"{name}.html" for name in ("index", "02_c", "01_b", "03_d", "04_e")
    ]


def test_a_mark_that_is_too_low_is_named() -> None:
    row = {"performance": 80.0, "accessibility": 100.0, "best-practices": 96.0}
    assert proof.missed("mobile", row) == []
    assert proof.missed("desktop", row) == ["performance below 95"]
    assert proof.missed("mobile", row | {"accessibility": 99.0}) == ["accessibility below 100"]
    rows = [row | {"performance": mark} for mark in (10.0, 90.0, 85.0)]
    assert proof.middle(rows)["performance"] == 85.0


def test_a_folder_is_served(tmp_path: Path) -> None:
    from urllib.request import urlopen

    (tmp_path / "a.html").write_text("hello", encoding="utf-8")
    with proof.served(tmp_path) as address, urlopen(f"{address}/a.html") as answer:
        assert answer.read() == b"hello"
