"""Tokenizers that fail, panic or would fill the memory: a line, and nothing of Rust's on stderr."""

import json
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.generation import Vocabulary, vocabulary
from tests.commands.runs import run

pytest.importorskip("tokenizers")

BOMB = {"Regex": "(a|a|aa)*$"}
"""For a run of a's without an end, the engine of expressions gives up."""
PLAIN: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"a": 0, "a" * 40 + "z": 1}, "unk_token": "a"},
}


def replacing(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def template(single: list[Any]) -> dict[str, Any]:
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}


SEQUENCE = {"Sequence": {"id": "A", "type_id": 0}}
FAILING: dict[str, dict[str, Any]] = {
    "no unknown word": {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}},
    "no unknown piece": {"model": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]}},
    "a special token that is not there": {
        "post_processor": template([{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, SEQUENCE])
    },
    "an expression that never ends": {
        "pre_tokenizer": {
            "type": "Split", "pattern": BOMB, "behavior": "Isolated", "invert": False,
        }
    },
}  # fmt: skip
GROWING: dict[str, dict[str, Any]] = {
    "doubled forty times": {
        "normalizer": {"type": "Sequence", "normalizers": [replacing({"String": "a"}, "aa")] * 40}
    },
    "doubled between letters": {
        "normalizer": {"type": "Sequence", "normalizers": [replacing({"Regex": ""}, "a")] * 40}
    },
    "written doubled": {
        "decoder": {"type": "Sequence", "decoders": [replacing({"String": "a"}, "aa")] * 40}
    },
    "a prompt taken a million times": {
        "post_processor": {"type": "Sequence", "processors": [template([SEQUENCE] * 1_000)] * 2}
    },
}
IGNORED: dict[str, dict[str, Any]] = {
    "padded to a thousand million": {
        "padding": {
            "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "a",
        }
    },
    "cut off": {
        "truncation": {
            "direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 5,
        }
    },
    "four words for one, once": {
        "normalizer": replacing({"String": "b"}, "a a a a"),
        "decoder": {"type": "Sequence", "decoders": [replacing({"String": "_"}, " ")] * 3},
    },
}  # fmt: skip
TEXT = "a " * 5 + "a" * 40 + "z"


def read(folder: Path, changed: dict[str, Any]) -> Vocabulary:
    (folder / "tokenizer.json").write_text(json.dumps(PLAIN | changed))
    return vocabulary("model", folder)


@pytest.mark.parametrize("name", FAILING)
def test_what_the_package_raises_is_blamed_on_the_file(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = read(tmp_path, FAILING[name])
    with pytest.raises(pagesim.UsageError, match=r"tokenizer\.json does not read 'a a a a a aaa"):
        words.encode(TEXT)
    assert capfd.readouterr() == ("", "")


def test_a_panic_while_a_text_is_written_is_one_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = read(tmp_path, {"decoder": replacing(BOMB, "b")})
    for write in (lambda: words.decode([1]), lambda: words.label(1)):
        with pytest.raises(pagesim.UsageError, match=r"tokenizer\.json does not write \[1\]"):
            write()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", GROWING)
def test_rules_that_would_fill_the_memory_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(pagesim.UsageError, match=r"tokenizer\.json: its rules .* as long"):
        read(tmp_path, GROWING[name])


@pytest.mark.parametrize("name", IGNORED)
def test_a_prompt_is_taken_whole_and_by_itself(name: str, tmp_path: Path) -> None:
    assert read(tmp_path, IGNORED[name]).encode(TEXT) == [0] * 5 + [1]


def test_ctrl_c_in_the_package_is_no_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words: Any = read(tmp_path, {})

    class Interrupted:
        def encode(self, text: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(words, "_tokenizer", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        words.encode(TEXT)


def test_a_command_says_it_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where tokens are written, long after the prompts were read."""
    walk = Path(__file__).parents[2] / "kernels" / "tiny_llm" / "walk"
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(walk / name)
    vocab = {"a" * 40 + f"z{token}": token for token in range(66)}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": next(iter(vocab))}
    read(tmp_path, {"model": model, "decoder": replacing(BOMB, "b")})
    assert run("generate", tmp_path, "--prompt", "a", "--max-tokens", 2) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "does not write" in err
