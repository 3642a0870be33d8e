"""The stub of vLLM, for one test."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.replay.engine import STUB


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("STUB_VLLM", "0.33.0")
    monkeypatch.syspath_prepend(str(STUB))
    yield importlib.import_module("vllm")
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]
