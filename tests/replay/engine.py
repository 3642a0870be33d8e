"""An engine of the stub of vLLM, as far as the recorder looks, and what the tests of it share."""

import importlib
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pagesim.replay import record_vllm
from pagesim.v1 import RequestStatus

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).parent / "stub"
ABORTED = RequestStatus.FINISHED_ABORTED


class Engine:
    """An LLM as far as the recorder looks."""

    def __init__(
        self, blocks: int = 20, asynchronous: bool = False, window: int | None = None
    ) -> None:
        values = {"requests": 12, "seed": 1, "blocks": blocks, "block_size": 4, "max_num_seqs": 4}
        limits = {"max_num_batched_tokens": 64, "max_model_len": 64, "caching": True}
        self.options = Namespace(**values, **limits, asynchronous=asynchronous, window=window)
        self.scheduler = record_vllm.scheduler_alone(self.options)
        core = SimpleNamespace(engine_core=SimpleNamespace(scheduler=self.scheduler))
        self.llm_engine = SimpleNamespace(engine_core=core)

    def generate(self) -> None:
        record_vllm.serve(self.scheduler, self.options)

    def add(
        self,
        name: str = "7",
        prompt: tuple[int, ...] = (1, 2),
        stop: tuple[int, ...] = (),
        salt: str | None = None,
        **more: Any,
    ) -> Any:
        """One request; ``more`` are attributes that it has."""
        made = importlib.import_module("vllm.v1.request").Request
        params = importlib.import_module("vllm.sampling_params").SamplingParams(9, True, stop)
        request = made(name, list(prompt), params, None, block_hasher=4, cache_salt=salt)
        for attribute, value in more.items():
            setattr(request, attribute, value)
        self.scheduler.add_request(request)
        return request

    def step(self, **tokens: int) -> None:
        """One step in which these requests sample these tokens."""
        output = self.scheduler.schedule()
        names = list(output.num_scheduled_tokens)
        made = importlib.import_module("vllm.v1.outputs").ModelRunnerOutput
        index = {name: place for place, name in enumerate(names)}
        sampled = [[tokens[name]] if name in tokens else [] for name in names]
        self.scheduler.update_from_output(output, made(names, index, sampled))
