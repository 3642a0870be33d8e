"""Text as tokens, and tokens as text: by a tokenizer, by the letters of the maps, or as numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pagesim.errors import UsageError

INSTALL = 'pip install "pagesim[text]"'
FILE = "tokenizer.json"


class Vocabulary(Protocol):
    """How a model's tokens are written."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt. UsageError, with the way out, if it cannot be read."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""

    def label(self, token: int) -> str:
        """A single token, for a page of the player."""


class Ids:
    """Numbers between blanks: what any model can be given. ``why`` says why there is no text."""

    def __init__(self, why: str) -> None:
        self.why = why

    def encode(self, text: str) -> list[int]:
        """See `Vocabulary`."""
        try:
            return [int(word) for word in text.replace(",", " ").split()]
        except ValueError:
            raise UsageError(
                f"{text!r:.80} is text, and {self.why}. Give token ids, like [1, 2, 3]"
            ) from None

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Vocabulary`: a blank after each number."""
        return "".join(f"{token} " for token in tokens)

    def label(self, token: int) -> str:
        """See `Vocabulary`."""
        return str(token)


class Letters:
    """The signs of the maps, like ``a>k;k>.;?a``: see `kernels.tiny_llm.maps`."""

    def encode(self, text: str) -> list[int]:
        """See `Vocabulary`."""
        from kernels.tiny_llm import maps

        try:
            return maps.encode(text)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Vocabulary`."""
        from kernels.tiny_llm import maps

        return maps.decode(tokens)

    def label(self, token: int) -> str:
        """See `Vocabulary`."""
        return self.decode([token])


class Subwords:
    """A folder's tokenizer.json, read by the package tokenizers."""

    def __init__(self, file: Path) -> None:
        tokenizers: Any = import_module("tokenizers")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the package raises plain Exceptions
            raise UsageError(f"{file} is not a tokenizer: {error}") from error

    def encode(self, text: str) -> list[int]:
        """See `Vocabulary`."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Vocabulary`: without the tokens that only mark an end."""
        return str(self._tokenizer.decode(list(tokens)))

    def label(self, token: int) -> str:
        """See `Vocabulary`."""
        return str(self._tokenizer.decode([token], skip_special_tokens=False)) or str(token)


def vocabulary(name: str, folder: Path) -> Vocabulary:
    """How the tokens of a model are written, from its name and its folder.

    Without a tokenizer, or without the package that reads it, they are numbers.
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
    from kernels.tiny_llm import maps

    config = json.loads((folder / "config.json").read_bytes())
    is_maps = config.get("vocab_size") == maps.NUM_TOKENS
    return is_maps and config.get("eos_token_id") in (maps.STOP, [maps.STOP])
