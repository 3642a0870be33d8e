"""A film of the player: what it shows is the page itself, and two films of a run are one."""

from pathlib import Path

import pytest
from PIL import Image

import pagesim
from pagesim import figures
from pagesim.figures.chromium import Chromium, installed
from tests.e2e.browser import missing
from tests.e2e.test_race import pair

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


def pictures(path: Path) -> tuple[list[bytes], list[int]]:
    """The pixels of each frame of a GIF, and how long it is seen."""
    found, lasting = [], []
    with Image.open(path) as film:
        for frame in range(film.n_frames):  # type: ignore[attr-defined]
            film.seek(frame)
            found.append(film.convert("RGB").tobytes())
            lasting.append(film.info["duration"])
    return found, lasting


def copying() -> pagesim.Timeline:
    story = pagesim.Story(gpu_blocks=6, block_size=4)
    first = story.arrive("Four score and seven years")
    first.fork().write("ago")
    return story.run


def test_a_step_moves_and_then_stays(tmp_path: Path) -> None:
    path = figures.film(copying(), tmp_path / "one.gif", steps=[1, 2, 3], width=400)
    frames, lasting = pictures(path)
    assert len(frames) > 5 and lasting[0] == 1000 and lasting[-1] > 2000
    assert len({*frames}) == len(frames), "something moves in every picture"
    again = pictures(figures.film(copying(), tmp_path / "two.gif", steps=[1, 2, 3], width=400))
    assert again == (frames, lasting)
    end = pictures(figures.film(copying(), tmp_path / "end.gif", steps=[3], width=400))[0]
    assert different(frames[-1], end[0]) < 0.002, "it ends as the step looks by itself"


def different(one: bytes, other: bytes) -> float:
    return sum(abs(a - b) > 40 for a, b in zip(one, other, strict=True)) / len(one)


def test_a_race_is_filmed_to_its_end(tmp_path: Path) -> None:
    both = pair()
    frames, lasting = pictures(figures.film(both, tmp_path / "race.gif", seconds=1, width=800))
    assert lasting == [100] * 10 + [3000]
    both.to_html(tmp_path / "race.html")
    with Chromium(installed() or "", tmp_path / "race.html", 800, 1, "light") as page:
        page.run("pagesimPair.goto(1e9)")
        said = page.run("document.querySelector('.ps-race').innerText")
        assert said.count("all 9 finished") == 2
    assert different(frames[0], frames[-1]) > 0.01


def test_what_the_page_says_is_wrong_is_told(tmp_path: Path) -> None:
    copying().to_html(tmp_path / "run.html")
    with Chromium(installed() or "", tmp_path / "run.html", 400, 1, "dark") as page:
        assert page.run("document.querySelector('.pagesim-player').dataset.theme") == "dark"
        with pytest.raises(RuntimeError, match="no such thing"):
            page.run("(() => { throw new Error('no such thing') })()")
