"""The player as one file, opened from the disk."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from pagesim import Question
from tests.e2e import scenes
from tests.e2e.browser import Page

RUN = scenes.small()


@pytest.fixture
def player(page: Page) -> Page:
    return page.show(RUN)


def test_it_mounts_without_a_word_on_the_console(player: Page) -> None:
    assert (player.data("ready"), player.data("steps"), player.step) == ("true", "8", 0)
    assert player.js("return document.title") == "A small run"
    assert len(player.all(".ps-stage [data-block]")) == 20
    for _ in range(len(RUN)):
        player.click("next")
    assert player.console() == []
    player.shot("standalone")


def test_buttons_keys_slider_and_go_to_step(player: Page) -> None:
    for button, step in (("next", 1), ("next", 2), ("prev", 1), ("last", 8), ("first", 0)):
        player.click(button)
        assert player.step == step, button
    turns = ("ARROW_RIGHT", 1), ("ARROW_RIGHT", 2), ("ARROW_LEFT", 1), ("END", 8)
    for key, step in (*turns, ("PAGE_UP", 0), ("PAGE_DOWN", 8), ("HOME", 0)):
        player.key(key)
        assert player.step == step, key
    player.go(5)
    assert (player.step, player.one(".ps-slider").get_attribute("value")) == (5, "5")
    player.key("ARROW_RIGHT", ".ps-slider")
    assert player.step == 6


def test_every_step_says_what_happened(player: Page) -> None:
    for i, event in enumerate(RUN):
        player.click("next")
        assert event.caption in player.text(".ps-caption"), i


def test_stepping_back_restores_the_very_picture(player: Page) -> None:
    there = []
    for step in range(9):
        there.append(player.picture())
        if step < 8:
            player.key("ARROW_RIGHT")
    assert len({markup for markup, _, _ in there}) == 9, "every step looks different"
    for step in reversed(range(8)):
        player.key("ARROW_LEFT")
        assert player.picture() == there[step], step


def test_space_plays_to_the_end_and_stops(player: Page) -> None:
    player.click("speed-3")
    player.key("SPACE")
    assert player.text('[data-action="play"]').endswith("Pause")
    assert player.one(".ps-caption").get_attribute("aria-live") == "off", "silent while it plays"
    player.until("return pagesimPlayer.step === 8")
    player.until("return document.querySelector('[data-action=play]').textContent.endsWith('Play')")


def test_a_step_survives_a_reload_in_the_same_tab(player: Page) -> None:
    player.go(3)
    player.driver.refresh()
    assert player.ready().step == 3


def test_search_finds_blocks_sequences_and_kinds(player: Page) -> None:
    searches = ("block 2", {"block": 2}), ("s2", {"sequence": 2}), ("copy", {"kind": "copy"})
    for query, asked in searches:
        events = RUN.find(**asked)
        player.click("first")
        field = player.one(".ps-search")
        field.clear()
        field.send_keys(query)
        seen = []
        for number in range(len(events)):
            player.click("search-next")
            seen.append(player.step - 1)
            assert player.text(".ps-message") == f"{number + 1} of {len(events)}", query
        assert seen == events, query
        player.click("search-prev")
        assert player.step == (seen[-2] + 1 if len(seen) > 1 else seen[-1] + 1)


def test_a_chosen_block_leads_to_its_events(player: Page) -> None:
    player.choose(1)
    steps = []
    for _ in RUN.find(block=1):
        player.click("sel-next")
        steps.append(player.step - 1)
    assert steps == RUN.find(block=1)
    assert "Block 1 (GPU): free since step 8" in player.text(".ps-detail")
    player.key("ESCAPE")
    assert not player.one('[data-action="sel-next"]').is_displayed()


def test_a_click_on_the_curve_seeks(player: Page) -> None:
    curve = player.one(".ps-curve")
    player.js("arguments[0].scrollIntoView({block: 'center'})", curve)
    for step in (6, 2):
        (whole,), (box, *_) = (player.look("boxes", css) for css in (".ps-curve", ".ps-curve rect"))
        x = box["left"] + (box["right"] - box["left"]) * step / 8 - whole["x"]
        mouse = ActionChains(player.driver)
        mouse.move_to_element_with_offset(curve, round(x), -10).click().perform()
        assert player.step == step
    assert player.text(".ps-share").startswith("GPU slots at step 2:")


# -- predict -----------------------------------------------------------------------------------


def test_a_right_prediction_scores_and_steps(player: Page) -> None:
    player.click("predict")
    assert (player.step, player.data("asking")) == (0, "0"), "the step waits for the answer"
    assert player.text(".ps-ask").startswith("Before step 1: allocate of s0, 5 tokens.")
    player.choose(0)
    assert (player.step, player.data("asking")) == (1, "1"), "and the next one is asked about"
    assert player.one(".ps-feedback").get_attribute("data-result") == "right"
    assert player.text(".ps-call").startswith("allocate")
    assert player.text(".ps-score") == "1 of 1 right"


def test_the_score_outlives_the_window(player: Page) -> None:
    player.click("predict")
    player.choose(0)
    address = player.js("return location.href")
    player.js("sessionStorage.clear()")
    player.driver.get("about:blank")
    player.driver.get(address)
    player.ready().click("predict")
    assert player.text(".ps-score") == "1 of 1 right"
    player.js("Object.keys(localStorage).forEach((k) => localStorage[k] = '{\"asked\": -1}')")
    player.driver.refresh()
    player.ready()
    assert player.data("ready") == "true", "what is stored there is not believed"


def test_a_wrong_prediction_says_why(player: Page) -> None:
    player.click("predict")
    player.fill(".ps-answer", "7")
    assert player.step == 1
    assert player.one(".ps-feedback").get_attribute("data-result") == "wrong"
    feedback = player.text(".ps-feedback")
    assert "block 7 is" in feedback and "it is block 0." in feedback
    assert player.text(".ps-score") == "0 of 1 right"


def test_a_block_where_none_is_taken_is_wrong(player: Page) -> None:
    player.click("predict")
    player.go(2)
    player.choose(3)
    feedback = player.text(".ps-feedback")
    assert "no block" in feedback and "block 3" not in feedback and "it is" not in feedback


def test_it_asks_at_the_step_to_which_the_reader_goes(player: Page) -> None:
    player.click("predict")
    player.go(2)
    assert (player.step, player.data("asking")) == (2, "2")
    assert player.text(".ps-ask").startswith("Before step 3: append_slots of s1, 1 token.")
    player.click("none")
    assert (player.step, player.text(".ps-score")) == (3, "1 of 1 right")
    player.click("last")
    assert player.data("asking") is None, "there is no step to come"


def test_all_blocks_are_wanted_where_several_are_the_answer(player: Page) -> None:
    player.click("predict")
    returned = [effect.block for effect in RUN[7].effects if effect.kind == "free"]
    player.go(7)
    player.choose(returned[0])
    assert player.step == 7, "more may be wanted"
    assert len(player.all(".over .chosen")) == 1
    for block in returned[1:]:
        player.choose(block)
    assert player.one(".ps-answer").get_attribute("value") == ", ".join(map(str, returned))
    player.click("done")
    assert (player.step, player.text(".ps-score")) == (8, "1 of 1 right")


def test_predict_hides_what_comes_next_and_skip_shows_it(player: Page) -> None:
    stage = "return document.querySelector('.ps-stage').textContent"
    assert "\u25be next" in player.js(stage)
    player.click("predict")
    assert "\u25be next" not in player.js(stage)
    player.click("next")
    player.key("ARROW_RIGHT")
    assert player.step == 0, "a step is no way round the question"
    player.click("skip")
    assert (player.step, player.text(".ps-score")) == (1, "0 of 0 right, 1 skipped")
    assert "It is block 0." in player.text(".ps-feedback")


def test_a_scenario_asks_its_own_question(page: Page) -> None:
    page.show(scenes.asked()).click("predict")
    assert page.text(".ps-ask") == "Before step 1: Where does a begin?"
    page.choose(0)
    assert "At the front of the list." in page.text(".ps-feedback")


def asking(page: Page, *questions: Question) -> Page:
    return page.show(scenes.small().annotate(questions=questions), address="")


def test_it_opens_at_no_answer_and_asks_what_its_author_asks(page: Page) -> None:
    asking(page, Question(3, "?", "shared"), Question(7, "?", "returned"))
    assert (page.step, page.text(".ps-score")) == (1, "2 questions")
    page.click("predict")
    assert (page.step, page.data("asking")) == (1, None), "where it opened, and no other question"
    page.click("next")
    page.click("next")
    assert (page.step, page.data("asking")) == (3, "3")
    page.click("skip")
    page.go(7)
    page.choose(next(effect.block for effect in RUN[7].effects if effect.kind == "free"))
    assert page.text(".ps-score") == "1 of 1 right, 1 skipped"


def test_too_few_blocks_and_words_are_no_answer_yet(page: Page) -> None:
    asking(page, Question(3, "Which blocks are shared?", "shared"))
    page.click("predict")
    page.go(3)
    assert "all two" in page.text(".ps-hint")
    for typed, hint in (("0", "Two blocks are asked, and you named one"), ("99, 0", "The blocks"),
                        ("s9", "numbers"), ("", "numbers")):  # fmt: skip
        page.fill(".ps-answer", typed)
        assert (page.step, page.data("asking")) == (3, "3"), typed
        assert hint in page.text(".ps-hint")
    page.one(".ps-answer").send_keys("s0")  # its name stands for its blocks, which are framed
    assert len(page.all(".over .chosen")) == 2
    page.click("done")
    assert (page.step, page.text(".ps-score")) == (4, "1 of 1 right")


def test_a_wrong_answer_names_the_right_one_once(page: Page) -> None:
    why = "a fork shares {answer}"
    asking(page, Question(3, "?", "shared", why), Question(5, "?", "swapped"))
    page.click("predict")
    feedback = []
    for step, typed in ((3, "2, 7"), (5, "0")):
        page.go(step)
        page.fill(".ps-answer", typed)
        feedback.append(page.text(".ps-feedback"))
    assert feedback == [
        "\u2717 Wrong: block 2 belongs to s1. A fork shares blocks 0 and 1.",
        "\u2717 Wrong: block 0 stays with s0 and s2; it is block 2. "
        "What it holds is kept, in another pool.",
    ]


# -- alone -------------------------------------------------------------------------------------


@pytest.fixture
def visits() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and a list of what was asked of it."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


INJECT = """
window.refused = [];
document.addEventListener('securitypolicyviolation', e => refused.push(e.effectiveDirective));
const script = document.createElement('script');
script.textContent = 'window.injected = true';
document.body.append(script);
const remote = document.createElement('script');
remote.src = `${arguments[0]}/remote.js`;
document.body.append(remote);
const image = document.createElement('img');
image.setAttribute('onerror', 'window.injected = true');
image.src = `${arguments[0]}/image.png`;
document.body.append(image);
fetch(`${arguments[0]}/fetch`).catch(() => {});
"""


def test_the_policy_lets_nothing_else_run_or_load(
    player: Page, visits: tuple[str, list[str]]
) -> None:
    address, seen = visits
    player.js(INJECT, address)
    player.until("return refused.length >= 4")
    assert player.js("return window.injected") is None
    assert seen == []
    refused = set(player.js("return refused"))
    assert refused >= {"script-src-elem", "img-src", "connect-src"}


def test_a_file_without_the_policy_would(
    page: Page, visits: tuple[str, list[str]], tmp_path: Path
) -> None:
    """Else the test before would pass for want of a server."""
    address, seen = visits
    (tmp_path / "free.html").write_text("<!DOCTYPE html><title>free</title>", encoding="utf-8")
    page.driver.get((tmp_path / "free.html").as_uri())
    page.js(INJECT, address)
    page.until("return performance.getEntriesByType('resource').length >= 3")
    assert page.js("return window.injected")
    assert set(seen) >= {"/remote.js", "/image.png", "/fetch"}


def test_the_file_asks_the_network_for_nothing(player: Page) -> None:
    player.click("last")
    (itself,) = [url for url in player.requests() if not url.startswith("data:")]
    assert itself.startswith("file://") and itself.endswith("run.html")


def test_a_damaged_timeline_is_told_and_not_a_blank_page(page: Page, tmp_path: Path) -> None:
    RUN.to_html(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    begin = text.index('<template class="pagesim-timeline">') + 35
    cut = text[: begin + 200] + text[text.index("</template>") :]
    (tmp_path / "cut.html").write_text(cut, encoding="utf-8")
    assert page.open(tmp_path / "cut.html").data("ready") == "error"
    assert page.text(".ps-problem").startswith("This timeline cannot be shown:")


def test_a_player_starts_when_it_is_seen(page: Page) -> None:
    """A chapter has many: those below the window wait."""
    frames = "<p style='height: 3000px'></p>".join([RUN._repr_html_()] * 2)
    (page.files / "two.html").write_text(f"<!DOCTYPE html>{frames}", encoding="utf-8")
    page.driver.get((page.files / "two.html").as_uri())
    page.frame("iframe").ready()
    page.top()
    page.driver.switch_to.frame(page.all("iframe")[1])
    page.js("return new Promise((done) => setTimeout(done, 300))")
    assert page.all(".pagesim-player") and not page.all("[data-ready]")
    page.top()
    page.js("document.querySelectorAll('iframe')[1].scrollIntoView()")
    page.driver.switch_to.frame(page.all("iframe")[1])
    page.ready().click("next")
    page.top()
