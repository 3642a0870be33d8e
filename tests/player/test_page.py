"""The page: no text becomes markup, only the player's script may run, bytes are few."""

import base64
import gzip
import hashlib
import re
from typing import Any

import pytest

import pagesim.player.page as made
from pagesim.player.notebook import notebook_html
from tests.documents import Document
from tests.player import samples
from tests.player.conftest import NodeError


def page_of(sample: Any, title: str = "a title", alt: str = "in words") -> str:
    return made.page(samples.packed(*sample), title=title, alt=alt)


def test_the_policy_allows_its_script_what_it_unpacks_and_its_style() -> None:
    document = Document(page_of(samples.sharing()))
    (policy,) = [meta["content"] for meta in document.all("meta") if "http-equiv" in meta]
    allowed = dict(part.split(" ", 1) for part in (policy or "").split("; "))
    assert document.only("script") == document.only("style") == {}
    (loader,), (style,) = document.texts["script"], document.texts["style"]
    _, packed = document.texts["template"]
    assert not set(packed) & set("<>&\"'\\"), "nothing in it means anything to HTML or JSON"
    player = made.unpacked_script(packed).decode()
    assert player == made.script()

    def hashed(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    assert allowed == {
        "default-src": "'none'",
        "script-src": f"{hashed(loader)} {hashed(player)}",
        "style-src": f"{hashed(style)} {hashed(made.style_of())}",
        "img-src": "blob:",
    }


def test_nothing_is_loaded_and_no_markup_is_made_from_text() -> None:
    styles = [made.style_of(name) for name in (made.PLAYER, made.PAIR, made.FILM, made.FILMS)]
    for text in (made.bundled(made.LOADER), made.script(), *styles):
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    forbidden = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\("
    sources = "".join(p.read_text() for p in made.BUNDLE.parent.glob("js/*.js"))
    assert not re.findall(forbidden, sources)
    assert not re.findall(r"@import|url\((?!#)", "".join(styles))


def test_a_page_of_two_runs_is_allowed_the_style_of_a_pair() -> None:
    one = samples.packed(*samples.sharing())
    document = Document(made.page(one, one, title="a title", alt="in words"))
    (policy,) = [meta["content"] for meta in document.all("meta") if "http-equiv" in meta]
    digest = hashlib.sha256(made.style_of(made.PAIR).encode()).digest()
    assert f"'sha256-{base64.b64encode(digest).decode()}'" in (policy or "")


def test_hostile_texts_stay_out_of_the_markup() -> None:
    for evil in samples.HOSTILE:
        document = Document(page_of(samples.hostile(), title=evil, alt=evil))
        plain = Document(page_of(samples.hostile()))
        assert [tag for tag, _ in document.tags] == [tag for tag, _ in plain.tags]
        assert document.only("main")["aria-label"] == evil
    data, _ = plain.texts["template"]
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", data)


def test_the_same_bytes_each_time() -> None:
    first = page_of(samples.caching())
    head, events = samples.caching()
    later = gzip.compress(samples.text_of(head, events).encode(), 1, mtime=1234567890)
    assert made.page(later, title="a title", alt="in words") == first
    data, _ = Document(first).texts["template"]
    assert base64.b64decode(data)[4:8] == bytes(4)  # gzip's place for the time of day


def test_a_step_takes_few_bytes() -> None:
    head, events = samples.many(2000)
    fixed = len(page_of((samples.header(2, 0, 2, []), [])).encode())
    size = len(page_of((head, events)).encode())
    assert fixed <= 80_000  # the script and the style
    assert (size - fixed) / len(events) <= 80


def test_only_a_page_with_a_film_carries_what_draws_it() -> None:
    head, events = samples.sharing()
    reads = samples.event("read", None) | {"reads": [[[0], 0, 0, 0, [0], [1], 0, 1, 1]]}
    plain, film = (page_of((head | {"events": 2}, [events[0], e])) for e in (events[1], reads))
    scripts = [Document(html).texts["template"][1] for html in (plain, film)]
    assert scripts == [made.packed_script(), made.packed_script(made.FILM)]
    assert len(film) - len(plain) > 2_000


@pytest.mark.parametrize("sample", ["sharing", "caching", "hostile"])
def test_a_file_is_read_as_it_was_written(node: Any, sample: str) -> None:
    text = samples.text_of(*getattr(samples, sample)())
    assert node("return player.unpack(given.data);", text) == text


def test_no_utf8_and_too_many_bytes_are_refused(node: Any) -> None:
    for content, message in (
        (gzip.compress(b"\xff\xfe"), "not valid"),
        (257 * gzip.compress(bytes(1024 * 1024)), "more than 268435456 bytes"),  # 257 MiB in one
    ):
        packed = base64.b64encode(content).decode()
        with pytest.raises(NodeError, match=message):
            node("return player.unpack(given.other);", other=packed)


def test_the_notebook_has_a_frame_and_a_picture_with_words() -> None:
    evil = samples.HOSTILE[0]
    gz = samples.packed(*samples.hostile())
    document = Document(notebook_html(gz, title=evil, alt=evil, static_svg="<svg>é</svg>"))
    assert [tag for tag, _ in document.tags] == ["style", "iframe", "details", "summary", "img"]
    frame, image = document.only("iframe"), document.only("img")
    still = document.only("details")  # open where no script runs; the player closes it by its class
    assert "open" in still and still["class"] == "pagesim-still"
    assert frame["srcdoc"] == made.page(gz, title=evil, alt=evil)
    assert frame["title"] == image["alt"] == evil
    assert frame["sandbox"] == "allow-scripts allow-same-origin allow-downloads"
    kind, data = (image["src"] or "").split(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == "<svg>é</svg>"
