"""# q26 The first sequence speaks for all

V0 · sharing

The first sequence of a request alone decides whether its sequences count as running.

## Expected
`get_seqs(RUNNING)` returns the sequences that run.

## What happens
The request has two sequences. The second one has finished, and both are returned as running. If
instead the first has finished, none is returned, although the second runs. `is_finished` and
`is_prefill` of the request ask only the first sequence, too.

## Why
Since 0.6.4 a request has one sequence, because the engine splits a request for n samples into n
requests. The code for several has been simplified to match.

## What to do
If you fork, take every sequence that has finished out of its group at once, with `remove`.

## Threads
* [vllm#9569](https://github.com/vllm-project/vllm/pull/9569): the code is simplified, since a group
  has one sequence.
* [vllm#11898](https://github.com/vllm-project/vllm/pull/11898): mended: a group may have more, and
  the shortcuts are taken back.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story
from pagesim.v0.sequence import SequenceStatus

RUNNING, FINISHED = SequenceStatus.RUNNING, SequenceStatus.FINISHED_STOPPED


def scenario() -> Scene:
    story = Story()
    a = story.arrive(range(4), "a")
    fork = a.fork("fork")
    running = {}
    for who, finished in {"the second": fork, "the first": a}.items():
        a.seq.status = fork.seq.status = RUNNING
        finished.seq.status = FINISHED
        running[f"{who} has finished"] = len(a.group.get_seqs(RUNNING))
    return Scene(sequences_that_run=running)


ANSWER = {"sequences_that_run": {"the second has finished": 2, "the first has finished": 0}}
