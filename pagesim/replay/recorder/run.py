"""Around an engine, and the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pagesim.replay.recorder.alone_v0 import alone_v0
from pagesim.replay.recorder.alone_v1 import alone_v1
from pagesim.replay.recorder.common import (
    NotServedError,
    Recorder,
    TraceFile,
    has,
    refuse,
    version_of,
)
from pagesim.replay.recorder.v0 import V0Recorder
from pagesim.replay.recorder.v0_manager import V0ManagerRecorder
from pagesim.replay.recorder.v1 import V1Recorder
from pagesim.replay.recorder.v1_manager import V1ManagerRecorder

KNOWN = """\
0.6.x (V0: vllm.core.scheduler.Scheduler over a SelfAttnBlockSpaceManager) and \
0.33.x (V1: vllm.v1.core.sched.scheduler.Scheduler over a KVCacheManager)"""


def scheduler_of(engine: Any) -> Any:
    """The scheduler of an LLM, an engine or an engine core, or what is one itself."""
    for name in ("llm_engine", "engine", "engine_core", "engine_core", "scheduler"):
        engine = getattr(engine, name, engine)
    if isinstance(engine, list):
        refuse("an engine that uses", {"pipeline parallelism": len(engine) > 1})
        engine = engine[0]
    return engine


RECORDERS: dict[str, dict[str, type[Recorder]]] = {
    "0.6.": {"scheduler": V0Recorder, "block_manager": V0ManagerRecorder},
    "0.33.": {"scheduler": V1Recorder, "kv_cache_manager": V1ManagerRecorder},
}
KINDS = sorted({kind for kinds in RECORDERS.values() for kind in kinds})


def recorder_of(engine: Any, file: TraceFile, kind: str) -> Recorder:
    version, scheduler = version_of(), scheduler_of(engine)
    for release, kinds in RECORDERS.items():
        if version.startswith(release) and kind not in kinds:
            raise NotServedError(f"vLLM {version} has no {kind!r}, only {', '.join(kinds)}")
    if version.startswith("0.6.") and hasattr(scheduler, "block_manager"):
        refuse("an engine that uses", {"speculative decoding": has(engine, SPECULATIVE)})
        return RECORDERS["0.6."][kind](scheduler, file)
    if version.startswith("0.33.") and hasattr(scheduler, "kv_cache_manager"):
        return RECORDERS["0.33."][kind](scheduler, file)
    if not version.startswith(("0.6.", "0.33.")):
        raise NotServedError(f"vLLM {version} is not known here, only {KNOWN}")
    raise NotServedError(
        f"no scheduler was found in {engine!r:.80} of vLLM {version}, which is looked for as "
        f"{KNOWN}. If the engine runs in another process, set VLLM_ENABLE_V1_MULTIPROCESSING=0 "
        f"before vLLM starts"
    )


SPECULATIVE = "llm_engine.speculative_config"


@contextmanager
def recording(engine: Any, path: str, kind: str = "scheduler") -> Iterator[Recorder]:
    """Record what ``engine`` does in the block; ``path`` ends in .jsonl or .jsonl.gz.

    ``engine`` is an LLM, an engine or a scheduler that nothing has used yet. NotServedError names
    what cannot be recorded. The file is written at the end, or not at all.
    """
    path = os.fspath(path)
    if not path.endswith((".jsonl", ".jsonl.gz")):
        raise NotServedError(f"the file must be named .jsonl or .jsonl.gz, not {path}")
    file = TraceFile(path)
    try:
        recorder = recorder_of(engine, file, kind)
        recorder.start()
        try:
            yield recorder
            recorder.settle()
        finally:
            recorder.stop()
        if recorder.problem is not None:
            raise NotServedError(
                f"the run failed, so {path} is not written: {recorder.problem!r}"
            ) from recorder.problem
        file.finish(recorder.header())
    finally:
        file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Record vLLM's scheduler serving random requests.")
    parser.add_argument("path", help="the file to write, .jsonl or .jsonl.gz")
    for option, default in {
        "requests": 32,
        "seed": 0,
        "blocks": 24,
        "block-size": 16,
        "max-num-seqs": 8,
        "max-num-batched-tokens": 128,
        "max-model-len": 128,
    }.items():
        parser.add_argument("--" + option, type=int, default=default, help=f"default {default}")
    parser.add_argument("--kind", choices=KINDS, default="scheduler", help="what to record")
    parser.add_argument("--no-caching", dest="caching", action="store_false")
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="V1 only")
    options = parser.parse_args()
    try:
        version = version_of()
        if not version.startswith(("0.6.", "0.33.")):
            raise NotServedError(f"vLLM {version} is not known here, only {KNOWN}")
        scheduler, serve = (alone_v0 if version.startswith("0.6.") else alone_v1)(options)
        with recording(scheduler, options.path, options.kind) as recorder:
            serve()
    except (NotServedError, OSError) as error:
        sys.exit(f"record_vllm: {error}")
    print(f"{options.path}: {recorder.file.num_ops} operations of vLLM {version}")


if __name__ == "__main__":
    main()
