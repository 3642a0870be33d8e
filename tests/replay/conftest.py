"""The stub of vLLM, for one test, an engine of it, and where its run is recorded."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.replay.engine import STUB, Engine


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("STUB_VLLM", "0.33.0")
    monkeypatch.syspath_prepend(str(STUB))
    yield importlib.import_module("vllm")
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]


@pytest.fixture
def llm(vllm: ModuleType) -> Engine:
    return Engine()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"
