"""# w10 A prompt that is admitted by its first chunk

V1 · preemption

Without `scheduler_reserve_full_isl`, a prompt larger than the pool is begun, preempted, and begun
again.

## Expected
A prompt that does not fit is not begun.

## What happens
The pool holds 12 tokens and the prompt has 14. Its first chunk of 8 fits, so it begins. The second
chunk does not fit, and the request preempts itself. Without prefix caching this repeats forever:
every second step computes 8 tokens in vain. With prefix caching it happens once. From then on the
first chunk is found and the second one does not fit, so the request waits forever (w08).

## Why
Without the option, admission asks only for the blocks of the next chunk. V0 admits a prompt with
all its blocks, yet one that takes all blocks of its pool preempts itself as well (q31).

## What to do
Leave `scheduler_reserve_full_isl` on, as it is by default. Then a prompt begins only if all of it
fits.

## Threads
* [vllm#37307](https://github.com/vllm-project/vllm/pull/37307): the option. Long prompts were begun
  and preempted in turns, and a GPU's output fell from about 100 to 1.5 tokens a second.
* [vllm#21793](https://github.com/vllm-project/vllm/pull/21793): the same loop, and an earlier
  proposal to end it.
* [vllm#25538](https://github.com/vllm-project/vllm/issues/25538): a preempted request is admitted
  by its first chunk again, and preempted in the next step.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    chunks = {"scheduler_reserve_full_isl": False, "max_num_batched_tokens": 8}
    plain = Engine("v1", gpu_blocks=4, enable_prefix_caching=False, **chunks)
    cached = Engine("v1", gpu_blocks=4, **chunks)
    for engine in (plain, cached):
        engine.add("a", 14)
    return Scene(
        plain.run,
        without_caching=plain.steps(6),
        preemptions=plain.preemptions(),
        with_caching=cached.steps(6),
        preemptions_with_caching=cached.preemptions(),
    )


ANSWER = {
    "without_caching": [{"a": 8}, {}, {"a": 8}, {}, {"a": 8}, {}],
    "preemptions": 3,
    "with_caching": [{"a": 8}, {}, {}, {}, {}, {}],
    "preemptions_with_caching": 1,
}
