"""Text as tokens, and tokens as text: by a tokenizer, by the letters of the maps, or as numbers."""

import contextlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pagesim.errors import UsageError

INSTALL = 'pip install "pagesim[text]"'
FILE = "tokenizer.json"
MAX_GROWTH = 10_000.0
"""A text may become this many times as long: a few rules that double it would fill all memory."""


class Vocabulary(Protocol):
    """How a model's tokens are written."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt. UsageError says how to mend one that cannot be read."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""

    def label(self, token: int) -> str:
        """Return the text of one token, for display in the player."""


class Ids(Vocabulary):
    """Token ids separated by blanks, which any model accepts. ``why`` says why there is no text."""

    def __init__(self, why: str) -> None:
        self.why = why

    def encode(self, text: str) -> list[int]:
        try:
            return [int(word) for word in text.replace(",", " ").split()]
        except ValueError:
            raise UsageError(
                f"{text!r:.80} is text, and {self.why}. Give token ids, like [1, 2, 3]"
            ) from None

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the ids, each followed by a blank: see `Vocabulary`."""
        return "".join(f"{token} " for token in tokens)

    def label(self, token: int) -> str:
        return str(token)


class Letters(Vocabulary):
    """The signs of the maps, like ``a>k;k>.;?a``: see `kernels.tiny_llm.maps`."""

    def encode(self, text: str) -> list[int]:
        from pagesim.kernels.tiny_llm import maps

        try:
            return maps.encode(text)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def decode(self, tokens: Sequence[int]) -> str:
        from pagesim.kernels.tiny_llm import maps

        return maps.decode(tokens)

    def label(self, token: int) -> str:
        return self.decode([token])


class Subwords(Vocabulary):
    """A folder's tokenizer.json, read by the package tokenizers."""

    def __init__(self, file: Path) -> None:
        tokenizers: Any = import_module("tokenizers")
        self._file = file
        with self._blamed("is not a tokenizer"):
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
            self._tokenizer.no_truncation()  # a prompt is taken whole, and by itself
            self._tokenizer.no_padding()
            rules = (self._tokenizer.normalizer, self._tokenizer.decoder)
            growth = math.prod(
                _growth(json.loads(rule.__getstate__()))
                for rule in (*rules, self._tokenizer.post_processor)
                if rule is not None
            )
        if growth > MAX_GROWTH:
            raise UsageError(f"{file}: its rules make a text up to {growth:.1g} times as long")

    def encode(self, text: str) -> list[int]:
        with self._blamed(f"does not read {text!r:.80}"):
            return list(self._tokenizer.encode(text).ids)

    def label(self, token: int) -> str:
        return self.decode([token], skip_special_tokens=False) or str(token)

    def decode(self, tokens: Sequence[int], **options: bool) -> str:
        """Return the text without the tokens that only mark an end: see `Vocabulary`."""
        with self._blamed(f"does not write {list(tokens)!r:.80}"):
            return str(self._tokenizer.decode(list(tokens), **options))

    @contextlib.contextmanager
    def _blamed(self, what: str) -> Iterator[None]:
        """UsageError for whatever the package raises: plain Exceptions, and panics of Rust."""
        try:
            with _silent():
                yield
        except BaseException as error:
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise UsageError(f"{self._file} {what}: {error!s:.300}") from error
            raise


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Nothing reaches file 2: Rust tells of a panic there, before Python can catch it."""
    with open(os.devnull, "wb") as nothing:
        try:
            kept = os.dup(2)
        except OSError:  # there is none
            yield
            return
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _growth(rule: Any) -> float:
    """How many times as long the rules of a tokenizer may make a text, about."""
    if isinstance(rule, list):
        return math.prod(map(_growth, rule))
    if not isinstance(rule, dict):
        return 1.0
    if rule.get("type") == "Replace":
        return float(len(rule["content"]) + ("Regex" in rule["pattern"])) or 1.0
    copies = sum("Sequence" in piece for piece in rule.get("single", ()))
    return max(1.0, copies) * math.prod(map(_growth, rule.values()))


def vocabulary(name: str, folder: Path) -> Vocabulary:
    """Return the vocabulary of a model, given its name and its folder.

    If the folder has no tokenizer.json, or the package that reads it is missing, tokens are written
    as numbers: see `Ids`.
    """
    if name == "by-hand":
        return Letters()
    file = folder / FILE
    if file.is_file():
        try:
            return Subwords(file)
        except ImportError:
            return Ids(f"{file} needs the package tokenizers: {INSTALL}")
    return Letters() if _is_ours(folder) else Ids(f"{folder} has no {FILE}")


def _is_ours(folder: Path) -> bool:
    """Whether a folder is the package's `walk`, or one that its training wrote."""
    from pagesim.kernels.tiny_llm import maps

    config = json.loads((folder / "config.json").read_bytes())
    is_maps = config.get("vocab_size") == maps.NUM_TOKENS
    return is_maps and config.get("eos_token_id") in (maps.STOP, [maps.STOP])
