"""What a step answers to the clients of the engine.

Source: vLLM 0.33.0, ``vllm/v1/engine/__init__.py``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pagesim.journal.effects import Name


class FinishReason(enum.StrEnum):
    """Why a request ended."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"
    ERROR = "error"
    REPETITION = "repetition"


@dataclass(frozen=True, slots=True)
class EngineCoreOutput:
    """The new tokens of one request, and why it ended if it did."""

    request_id: Name
    new_token_ids: list[int]
    finish_reason: FinishReason | None = None


@dataclass(frozen=True, slots=True)
class EngineCoreOutputs:
    """The outputs of one step for one client."""

    outputs: list[EngineCoreOutput]
