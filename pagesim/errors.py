"""The errors that any part of pagesim may raise."""

from __future__ import annotations


class UsageError(ValueError, AssertionError):
    """The call itself was wrong: a block freed twice, tokens that do not fit, a negative size.

    vLLM merely asserts in these places; nothing has changed when this is raised.
    """


class UnsupportedError(UsageError, NotImplementedError):
    """Two settings that vLLM does not implement together; it raises NotImplementedError."""


class NoFreeBlocksError(ValueError):
    """The pool has no block left to give; whatever was asked for was taken back entirely."""
