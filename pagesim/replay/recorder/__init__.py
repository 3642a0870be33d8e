"""Records a run of your own vLLM for `pagesim replay`; it needs vLLM and nothing else.

Around an engine in this process (with V1, set VLLM_ENABLE_V1_MULTIPROCESSING=0 before vLLM starts;
with V0, disable_async_output_proc=True), before its first request:

    from record_vllm import recording

    llm = vllm.LLM(model, num_gpu_blocks_override=256)
    with recording(llm, "run.jsonl.gz"):
        llm.generate(prompts)

Without a model, vLLM's scheduler alone is given random requests:

    python record_vllm.py run.jsonl.gz --requests 32 --blocks 24

What is recorded is the scheduler; with ``kind="block_manager"`` (V0) or ``"kv_cache_manager"`` (V1)
it is what the scheduler asks of the blocks. The file is written when the block ends, whole, or not
at all if something was raised. vLLM 0.6.x is recorded as V0 (pagesim-trace/1), 0.33.x as V1
(pagesim-v1-trace/1). What these formats do not hold is refused by name. This file runs on Python
3.9, as vLLM 0.6 does.
"""

from __future__ import annotations

import ast
from pathlib import Path

PARTS = ("common", "v0", "v0_manager", "v1", "v1_manager", "alone_v0", "alone_v1", "run")
"""The modules of the file, each behind those that it needs."""


def script() -> str:
    """record_vllm.py: the parts as one file, to be used where there is no pagesim."""
    imports, bodies = set[str](), list[str]()
    for part in PARTS:
        text = Path(__file__).with_name(f"{part}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports |= {line for node in head if not (line := ast.unparse(node)).startswith(OURS)}
        body = "\n".join(text.splitlines()[head[-1].end_lineno :]).strip()
        bodies.append(f"# {ast.get_docstring(tree)}\n\n\n{body}\n")
    top = f'"""{__doc__}"""\n\nfrom __future__ import annotations\n\n'
    return top + "\n".join(sorted(imports, key=_place)) + "\n\n" + "\n\n".join(bodies)


OURS = ("from pagesim.", "from __future__")


def _place(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line
