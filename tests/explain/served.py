"""What vLLM would log of a scheduler that runs here: a line for every so many steps."""

from collections.abc import Iterator

from pagesim.story import Engine
from tests.explain.logs import v1

PERIOD = 10


def log_of(engine: Engine, lines: int, steps: int = 20) -> Iterator[str]:
    """The stats lines of a V1 engine of which ``steps`` steps take the time between two lines."""
    usable = engine.free
    preempted = generated = 0
    for at in range(lines):
        computed = sum(sum(step.values()) for step in engine.steps(steps))
        outputs = sum(request.num_output_tokens for request in engine.requests.values())
        new, generated = outputs - generated, outputs
        lost, preempted = engine.preemptions() - preempted, engine.preemptions()
        more = {"preemptions": lost} if lost else {}
        yield v1(
            at * PERIOD,
            len(engine.running),
            len(engine.waiting),
            100 * (usable - engine.free) / usable,
            prompt=max(computed - new, 0) / PERIOD,
            generation=new / PERIOD,
            **more,
        )
