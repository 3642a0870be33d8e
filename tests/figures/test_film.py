"""A run as a GIF where no browser is: its frames, its colours, and what is refused.

tests/e2e/test_moving.py films the player.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import pagesim
from pagesim import figures
from pagesim.figures.charts.block_layout import block_layout
from pagesim.figures.style import OKABE_ITO
from tests.timeline.scenes import told


@pytest.fixture(autouse=True)
def _no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("pagesim.figures.film"), "installed", lambda: None)


pytestmark = pytest.mark.filterwarnings("ignore:no browser is here")


def run() -> pagesim.Timeline:
    return told("Alice was beginning", "Call me Ishmael", "It was", gpu_blocks=6)


def test_a_frame_a_step_and_the_last_one_longer(tmp_path: Path) -> None:
    path = figures.film(run(), tmp_path / "run.gif", seconds=0.5)
    with Image.open(path) as film:
        assert film.n_frames == 4  # type: ignore[attr-defined]
        lasting = []
        for frame in range(4):
            film.seek(frame)
            lasting.append(film.info["duration"])
    assert lasting == [500, 500, 500, 1500]


def test_colours_that_come_late_are_there(tmp_path: Path) -> None:
    figures.film(run(), tmp_path / "run.gif", steps=[0, 1, 3])
    with Image.open(tmp_path / "run.gif") as film:
        film.seek(2)
        seen = {color for _, color in film.convert("RGB").getcolors(1 << 24) or ()}
    for wanted in OKABE_ITO[:3]:
        rgb = tuple(int(wanted[i : i + 2], 16) for i in (1, 3, 5))
        assert any(max(abs(a - b) for a, b in zip(rgb, c, strict=True)) < 12 for c in seen), wanted


def test_the_same_bytes_from_a_file(tmp_path: Path) -> None:
    story = run()
    story.save(tmp_path / "run.jsonl.gz")
    one = figures.film(story, tmp_path / "one.gif", steps=[2]).read_bytes()
    again = figures.film(tmp_path / "run.jsonl.gz", tmp_path / "b.gif", steps=[2])
    assert again.read_bytes() == one


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("run.png", {}, "must end in .gif"),
        ("run.gif", {"steps": [4]}, "it has the steps 0 to 3"),
        ("run.gif", {"steps": []}, "1 to 400 steps, not 0"),
        ("run.gif", {"steps": [0] * 401}, "1 to 400 steps, not 401"),
        ("run.gif", {"seconds": 0}, "seconds must be between"),
        ("run.gif", {"width": 20}, "200 to 2,000 wide"),
        ("run.gif", {"theme": "black"}, "light or dark"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, words: dict[str, object], message: str) -> None:
    with pytest.raises(pagesim.UsageError, match=message):
        figures.film(run(), tmp_path / name, **words)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_long_caption_ends_at_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("pagesim.figures.film")
    titles: list[str] = []

    def drawn(*arguments: Any, title: str, **options: Any) -> Any:
        titles.append(title)
        return block_layout(*arguments, title=title, **options)

    monkeypatch.setattr(module, "block_layout", drawn)
    event = replace(run()[0], caption="up-and-down " * 30)
    monkeypatch.setattr(pagesim.Timeline, "__getitem__", lambda self, index: event)
    figures.film(run(), tmp_path / "run.gif", steps=[0, 1])
    assert titles == ["0. The beginning.", "1. " + " ".join(["up-and-down"] * 7) + "…"]


def test_without_a_browser_one_run_is_drawn_and_two_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="nothing moves .* install Chromium"):
        figures.film(run(), tmp_path / "run.gif", steps=[1])
    with pytest.raises(pagesim.UsageError, match="none is here: install Chromium"):
        figures.film(pagesim.compare(run(), run()), tmp_path / "two.gif")


def test_white_stays_white(tmp_path: Path) -> None:
    with Image.open(figures.film(run(), tmp_path / "run.gif", steps=[0, 2])) as film:
        assert film.convert("RGB").getpixel((1, 1)) == (255, 255, 255)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a film is made of"):
        figures.film(3, tmp_path / "run.gif")
