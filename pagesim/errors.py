"""Errors that any part of pagesim may raise."""

MOST = 1_000
"""Characters of a message: what it quotes may come from a file."""


def shortened(message: str) -> str:
    """A message whose middle is left out if it is too long to be read."""
    half = (MOST - 3) // 2
    return message if len(message) <= MOST else f"{message[:half]} … {message[-half:]}"


class UsageError(ValueError, AssertionError):
    """The call was wrong: a block is freed twice, tokens do not fit, a size is negative.

    vLLM uses assertions in these places. Nothing has changed when this is raised.
    """


class UnsupportedError(UsageError, NotImplementedError):
    """Two settings that vLLM does not support together; it raises NotImplementedError."""


class NoFreeBlocksError(ValueError):
    """The pool has no free block left; the call has been undone entirely."""
