"""Text in and out of the engine: a folder's tokenizer, and answers written as they grow."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pagesim
from pagesim.generation import stream, vocabulary
from pagesim.generation.engine import Answer
from pagesim.generation.stream import Stream
from pagesim.kernels import tiny_llm
from pagesim.simulation.progress import Progress


class Words:
    """Stands for `tokenizers.Tokenizer`: words between blanks, and one character in two tokens."""

    names = ("<eos>", "go", " on", " and", "é", "é")
    normalizer = decoder = post_processor = None

    def no_truncation(self) -> None: ...

    no_padding = no_truncation

    @classmethod
    def from_file(cls, path: str) -> Words:
        if "broken" in Path(path).read_text():
            raise Exception("expected value at line 1 column 1")
        return cls()

    def encode(self, text: str) -> Any:
        found = ModuleType("encoding")
        found.ids = [self.names.index(f" {word}" if i else word)  # type: ignore[attr-defined]
                     for i, word in enumerate(text.split())]  # fmt: skip
        return found

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        kept = [i for i in ids if i or not skip_special_tokens]
        text = "".join(self.names[i] for i in kept if i < 4)
        halves = sum(i >= 4 for i in kept)
        return text + "é" * (halves // 2) + "\N{REPLACEMENT CHARACTER}" * (halves % 2)


@pytest.fixture
def with_tokenizer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    stub = ModuleType("tokenizers")
    stub.Tokenizer = Words  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", stub)
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def test_text_goes_in_and_out_with_a_tokenizer(with_tokenizer: Path) -> None:
    words = vocabulary("model", with_tokenizer)
    assert words.encode("go and") == [1, 3]
    assert words.decode([1, 2, 0]) == "go on"
    assert [words.label(token) for token in (0, 2)] == ["<eos>", " on"]
    (with_tokenizer / "tokenizer.json").write_text("broken")
    with pytest.raises(pagesim.UsageError, match=r"tokenizer.json is not a tokenizer: expected"):
        vocabulary("model", with_tokenizer)


def test_without_the_package_the_extra_is_named(
    with_tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    words = vocabulary("model", with_tokenizer)
    assert words.encode("[1, 2]".strip("[]")) == [1, 2]
    with pytest.raises(pagesim.UsageError, match=r"pip install \"pagesim\[text\]\""):
        words.encode("go on")


class Growing:
    """Stands for an engine whose answers have one more token after every step."""

    def __init__(self, *texts: list[int]) -> None:
        self.texts = texts
        self.answers = [Answer(i, (1,), tiny_llm.SamplingParams(), [[]]) for i in range(len(texts))]

    def step(self) -> bool | None:
        grows = None
        for answer, text in zip(self.answers, self.texts, strict=True):
            if len(answer.tokens) < len(text):
                answer.tokens.append(text[len(answer.tokens)])
                grows = True
            if answer.tokens == text:
                answer.state = "finished"
        return grows


def streamed(*texts: list[int]) -> list[str]:
    pieces: list[str] = []
    Stream(Growing(*texts), Words(), lambda t, nl: pieces.append(t + "\n" * nl), "model").run()
    return [text for text in pieces if text]


def test_text_is_written_as_it_grows() -> None:
    assert streamed([2, 3, 2]) == [" on", " and", " on\n"]


def test_a_character_waits_for_its_last_byte() -> None:
    assert streamed([2, 4, 5]) == [" on", "é\n"]


def test_a_later_answer_waits_for_those_before_it() -> None:
    pieces = streamed([2, 3, 2], [3], [3, 3, 3, 2])
    assert "".join(pieces) == "0:  on and on\n1:  and\n2:  and and and on\n"
    assert pieces[:3] == ["0:  on", " and", " on\n"]
    assert pieces[3:5] == ["1:  and\n", "2:  and and and"]


def test_a_bar_counts_tokens_and_an_answer_that_ends_early_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[tuple[int, int]] = []

    def bar(how: object, total: int, unit: str, title: str) -> Progress:
        return Progress(lambda done, of: reports.append((done, of)), total, unit, title=title)

    monkeypatch.setattr(stream, "Progress", bar)
    assert streamed([2, 3], [2, 3, 2, 2])
    assert reports == [(2, 32), (18, 32), (19, 32), (32, 32)]
