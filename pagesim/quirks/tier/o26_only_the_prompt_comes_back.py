"""# o26 A victim gets only its prompt back

V1 · second tier

A preempted request loads its prompt from the CPU, and computes its output again.

## Expected
The second tier replaces swapping: what a victim had computed comes back.

## What happens
The request is preempted with 8 tokens of prompt and 5 of output. When it resumes, the GPU still has
4 tokens, 4 are loaded from the CPU, and 5 are computed again.

## Why
Nothing is moved when a request is preempted. The copies were made earlier, when the prompt was
computed, and outputs are not copied by default (o03). A victim is simply a request that finds its
prefix one tier lower.

## What to do
If preemptions are frequent and outputs long, set `offload_prompt_only` to false. Fewer preemptions
are better still: see `pagesim quirks --subject preemption`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=8, cpu_blocks=40)
    engine.add("a", 8, max_tokens=17)
    victim = engine.add("b", 8, max_tokens=17)
    while not engine.preemptions("b"):
        engine.step()
    tokens = victim.num_tokens
    while not (step := engine.step()).get("b"):
        pass
    loads = sum(event.kind == "load" for event in engine.run)
    return Scene(engine.run, tokens_when_preempted=tokens, computed_again=step["b"], loads=loads)


ANSWER = {"tokens_when_preempted": 13, "computed_again": 5, "loads": 1}
