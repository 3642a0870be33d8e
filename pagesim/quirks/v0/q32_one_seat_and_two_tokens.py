"""# q32 One seat, two tokens

V0 · scheduling

A request of two sequences counts as one for `max_num_seqs`, and as two for the token budget.

## Expected
`max_num_seqs=2` means that at most two sequences are computed in a step.

## What happens
`a` and `b` run, and `c` waits, because two requests run. Then `a` is forked. The next step computes
three sequences, with one token each. For `max_num_seqs` they are still two requests.

## Why
Since 0.6.4 every request answers 1 when it is asked how many sequences it has at most. The tokens
are counted for each sequence.

## What to do
If you fork, divide `max_num_seqs` by the number of sequences that a request will have.

## Threads
* [vllm#11898](https://github.com/vllm-project/vllm/pull/11898): mended: the sequences of a request
  are counted again.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", watermark=0.0, max_num_seqs=2, max_num_batched_tokens=8)
    for name in "abc":
        engine.add(name, 2)
    engine.step()
    engine.fork("a")
    metadata, step, _ = engine.scheduler.schedule()
    sequences = sum(len(each.seq_data) for each in metadata)
    found = {"requests": len(metadata), "sequences": sequences, "tokens": step.num_batched_tokens}
    return Scene(engine.run, max_num_seqs=2, computed=found, waiting=engine.waiting)


ANSWER = {
    "max_num_seqs": 2,
    "computed": {"requests": 2, "sequences": 3, "tokens": 3},
    "waiting": ["c"],
}
