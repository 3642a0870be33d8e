"""Stories and exercises that are edited in the site: from a server, and without a network."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pagesim.exercises import source
from pagesim.exercises.registry import exercises, get
from tests.e2e import browser
from tests.e2e.browser import Page
from tests.e2e.conftest import SCREENSHOTS
from tests.e2e.test_axe import AXE, violations
from tests.e2e.test_themes import contrast
from tools.course import site
from tools.course.live import files, inside, pages

NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
SHOWN = ".story:not([hidden]) iframe:not(.coming)"
LOOP = "while True:\n    pass"
WRONG = """\
def free_list_after(num_blocks, ops):
    free, held = list(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            held[op[1]] = [free.pop(0) for _ in range(op[2])]
        else:
            free += held.pop(op[1])
    return free"""


MISTAKES = {
    **{"2.1": "no_offset", "2.4": "padding_is_slot_0", "3.1": "acc_not_rescaled", "5.3": "one_way"},
    **{"12.2": "out_and_back", "14.2": "natural_order", "15.3": "begins_at_a_page"},
    **{"16.2": "no_window", "16.3": "a_row_too_far"},
}
"""Wrong answers of which the page must say what this Python says, NumPy or not."""


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not print what it is asked."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages that can be edited, from a server on this machine."""
    if reason := browser.missing():
        pytest.skip(reason)
    if not files.are_here():
        pytest.skip(files.MISSING)
    target = tmp_path_factory.mktemp("site")
    site.build([], target, ["try", "exercises"])
    assert "pagesim.zip" in files.copy(target)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(target)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def tab(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser of its own, which finds no other machine."""
    driver = browser.start(tmp_path_factory.mktemp("profile"), NO_NETWORK)
    yield Page(driver, SCREENSHOTS, tmp_path_factory.mktemp("files"))
    driver.quit()


@pytest.fixture
def live(tab: Page, address: str) -> Iterator[Page]:
    """The page of stories as on a first visit."""
    tab.still()
    tab.dark(False)
    tab.size(1400, 1000)
    clear = {"origin": address, "storageTypes": "local_storage"}
    tab.driver.execute_cdp_cmd("Storage.clearDataForOrigin", clear)
    tab.driver.get(f"{address}try.html")
    yield tab.top()
    tab.top()
    assert tab.console() == []


def state(live: Page, wanted: str) -> None:
    """Wait until Python is ready, or runs."""
    live.until(f"return document.querySelector('.live').dataset.state === '{wanted}'")


def write(live: Page, text: str, place: int = 0) -> None:
    """Replace a text as a reader does, without running it."""
    state(live, "ready")
    live.js("cells[arguments[0]].editor.set(arguments[1])", place, text)


def run(live: Page, place: int = 0) -> str:
    """Press its button, wait until the outcome is there, and return what is said."""
    live.js("cells[arguments[0]].runs.click()", place)
    live.until(f"return !cells[{place}].isRunning && !document.querySelector('.story .coming')")
    return str(live.js(f"return cells[{place}].root.textContent"))


def steps(live: Page) -> tuple[int, int]:
    """At which step the picture is, and how many it has."""
    player = f"document.querySelector('{SHOWN}')?.contentWindow?.pagesimPlayer"
    found = live.until(f"return {player} && [{player}.step, {player}.steps]")
    return found[0], found[1]


def exercise(live: Page, address: str, number: str) -> int:
    """Open the page of an exercise; which of its texts it is."""
    live.driver.get(f"{address}exercises/ex{number.partition('.')[0]:0>2}.html")
    live.js("wake()")
    state(live, "ready")
    return int(live.js("return cells.findIndex(({name}) => name === arguments[0])", number))


def test_the_picture_steps_before_python_is_there(live: Page) -> None:
    live.js("replace()")  # Python begins anew
    live.frame(SHOWN).ready().click("next")
    live.top()
    state(live, "ready")


def test_a_story_is_edited_and_runs_again(live: Page) -> None:
    """By the keyboard alone; the picture keeps its step."""
    state(live, "ready")
    live.frame(SHOWN).ready().go(4)
    before = steps(live.top())
    text = live.one(".story:not([hidden]) textarea")
    live.js("cells[0].editor.goto(10)")
    from selenium.webdriver.common.keys import Keys

    text.send_keys(Keys.END, Keys.ENTER, "alice.write('and bored')")
    assert live.one(".stage > div").get_attribute("class") == "old"
    text.send_keys(Keys.CONTROL, Keys.ENTER)
    live.until("return !cells[0].isRunning && cells[0].root.dataset.shown")
    assert before[0] == 4 and steps(live) == (4, before[1] + 2)
    assert live.one(".stage > div").get_attribute("class") == ""
    assert len(live.all(f"{SHOWN}")) == 1


@pytest.mark.parametrize("story", [*pages.stories()], ids=lambda story: story.name)
def test_every_story_runs_as_it_was_recorded(live: Page, story: pages.Story) -> None:
    place = [*pages.STORIES].index(story.name)
    live.all(".stories a")[place].click()
    state(live, "ready")
    assert "problem" not in run(live, place)
    assert steps(live)[1] == len(pages.recorded(story))
    assert live.all(".story:not([hidden])")[0].find_elements("css selector", ".problem") == []


def test_an_error_has_its_line_and_the_run_that_led_to_it(live: Page) -> None:
    text = "import pagesim\nstory = pagesim.Story(2, block_size=4)\ns = story.arrive('a b')\n"
    write(live, f"{text}s.write('c d e f g h i')\nprint('<b>never</b>')")
    said = run(live)
    assert "NoFreeBlocksError" in said and "never" not in said.partition("NoFreeBlocksError")[2]
    assert live.js("return [...document.querySelectorAll('.wrong')].map((n) => n.textContent)") == [
        "4"
    ]
    at, last = steps(live)
    assert at == last > 5, "the picture is at the end, where it went wrong"
    live.one(".line").click()
    assert live.js("return cells[0].text.slice(0, cells[0].editor.area.selectionStart)") == text


def test_a_loop_without_end_is_stopped_and_the_text_stays(live: Page) -> None:
    write(live, LOOP)
    live.js("cells[0].runs.click()")
    state(live, "running")
    live.all(".bar button")[1].click()
    live.until("return !cells[0].isRunning")
    assert live.js("return cells[0].text") == LOOP
    state(live, "ready")  # another worker
    live.driver.refresh()
    state(live, "ready")
    assert live.js("return cells[0].text") == LOOP
    assert not live.js("return cells[0].isRunning"), "what never ended is not begun again by itself"
    live.js("cells[0].resets.click()")
    run(live)
    assert steps(live)[1] > 4


def test_a_page_that_is_left_ends_its_python_and_begins_again(live: Page, address: str) -> None:
    """The page itself is kept by the browser, for the way back: what is written there stays."""
    write(live, LOOP)
    live.js("window.left = python.worker; cells[0].runs.click()")
    state(live, "running")
    live.driver.get(f"{address}exercises/ex02.html")
    assert live.js("return python.state") == "asleep"
    live.driver.back()
    state(live, "ready")
    assert live.js("return window.left instanceof Worker && left !== python.worker")
    assert live.js("return cells[0].text") == LOOP
    live.js("cells[0].resets.click()")
    assert "problem" not in run(live)
    assert steps(live)[1] > 4


def test_what_was_written_is_there_on_the_next_visit(live: Page) -> None:
    write(live, "import pagesim\nstory = pagesim.Story()\nstory.arrive('a').leave()")
    live.driver.refresh()
    live.until("return cells[0].root.dataset.shown")  # it runs, so that the picture is of this text
    assert steps(live)[1] == 2
    live.js("cells[0].resets.click()")
    assert live.js("return cells[0].text === cells[0].original")


def test_what_a_text_prints_is_text(live: Page) -> None:
    write(live, "print('<img src=x onerror=alert(1)><script>alert(2)</script>')\n1 / 0")
    assert "<img src=x onerror=alert(1)>" in run(live)
    assert live.all(".said img, .said script") == []
    marked = live.one(".stage > div").get_attribute("class")
    assert marked == "old", "there is no run of this text: the picture is of another"


def test_the_policy_runs_no_other_script(live: Page) -> None:
    live.js("""
        const script = document.createElement("script");
        script.textContent = "window.foreign = true";
        document.head.append(script);""")
    assert live.js("return window.foreign") is None
    assert "Content Security Policy" in live.console()[0]


def test_the_keyboard_indents_and_is_not_held(live: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    area = live.one(".story:not([hidden]) textarea")
    write(live, "")
    area.send_keys("if x:", Keys.ENTER, "a", Keys.ENTER, Keys.BACKSPACE, "b", Keys.TAB, "c")
    assert live.js("return cells[0].text") == "if x:\n    a\nb   c"
    area.send_keys(Keys.CONTROL + "a", Keys.NULL, Keys.TAB)
    assert live.js("return cells[0].text") == "    if x:\n        a\n    b   c"
    area.send_keys(Keys.SHIFT + Keys.TAB, Keys.NULL)
    assert live.js("return cells[0].text") == "if x:\n    a\nb   c"
    area.send_keys(Keys.ESCAPE, Keys.TAB)
    assert live.js("return document.activeElement.textContent") == "Run"


def test_an_exercise_wrong_and_right(live: Page, address: str) -> None:
    place = exercise(live, address, "2.3")
    write(live, WRONG, place)
    run(live, place)
    verdict = live.one(".verdict")
    assert verdict.get_attribute("data-right") == "false" and "[1, 2, 3, 4, 5, 0]" in verdict.text
    live.frame(".shown iframe:not(.coming)").ready().click("prev")
    write(live.top(), get("2.3").solution, place)
    run(live, place)
    assert live.one(".verdict").get_attribute("data-right") == "true"
    assert live.all(".shown iframe") == []
    write(live, WRONG.partition("\n")[0] + "\n    while True: pass", place)
    run(live, place)
    assert live.one(".verdict").get_attribute("data-right") == "false", "an alarm ends the check"


def test_every_exercise_without_numpy_is_checked_here(live: Page, address: str) -> None:
    """The right answer is right and a wrong one is not; and of the others, none could be here."""
    exercise(live, address, "2.3")
    ask = """
        const [name, text, done] = arguments;
        ask({ kind: "check", name, text }).then(done)"""

    def check(number: str, text: str) -> Any:
        return live.driver.execute_async_script(ask, number, text)

    for each in exercises():
        if each.number in files.checked():
            assert check(each.number, each.solution)["verdict"]["right"], each.number
            assert not check(each.number, each.stub)["verdict"]["right"], each.number
        elif not each.needs_triton:
            assert not check(each.number, each.solution).get("verdict", {}).get("right")
    for number, mistake in MISTAKES.items():
        wrong = source.text(get(number).wrong[mistake])
        said, here = check(number, wrong), json.loads(inside.check(number, wrong))
        assert said["verdict"] == here["verdict"], number
        assert ("page" in said) == ("page" in here), number


@pytest.mark.parametrize("width", [360, 768, 1000, 1400, 1920])
def test_it_fits_and_can_be_read(live: Page, address: str, width: int) -> None:
    for dark in (False, True):
        live.dark(dark)
        live.size(width, 900)
        live.driver.get(f"{address}try.html")
        write(live, "print('a ' * 200)\n1 / 0")
        run(live)
        live.shot(f"live-{width}{'-dark' * dark}")
        assert live.js("return document.documentElement.scrollWidth") == width
        assert live.look("smallestLetters") >= 11
        texts = live.look("textsOfPage")
        assert {t for t, ink, ground in texts if contrast(ink, ground) < 4.5} == set()
        if AXE.is_file():
            assert violations(live) == []


def test_from_a_disk_the_texts_can_be_read(live: Page, tmp_path: Path) -> None:
    site.build([], tmp_path, ["try"])
    live.driver.get((tmp_path / "try.html").as_uri())
    assert len(live.all(".code")) == len(pages.STORIES) and live.all("textarea") == []
    live.frame(SHOWN).ready().click("next")
