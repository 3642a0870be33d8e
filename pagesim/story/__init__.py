"""The simplest interface: prompts arrive, words are written, sequences fork, swap and leave.

vLLM's block manager requires a ``Sequence`` in a ``SequenceGroup``, a status that its caller sets,
and a ``Logprob`` for each token. A story takes care of these, and records what happens::

    story = pagesim.Story(gpu_blocks=12, block_size=4)
    alice = story.arrive("Alice was beginning to get", name="alice")
    alice.write("very tired")
    twin = alice.fork()
    twin.write("bored")  # the last block is shared: it is copied first
    alice.leave()
    story.run  # what happened, step by step

``story.manager`` is the real block manager, for every call that a story has no method for. With
``engine="v1"`` it is vLLM V1's, and the same words tell the story; what V1 does not have is refused
with the reason. ``groups`` reads the short words for several KV cache groups.

An :class:`Engine` is the same for a scheduler: requests are added, and each step is one call.
"""

from pagesim.story.engine import Engine
from pagesim.story.story import Story, Writer

__all__ = ["Engine", "Story", "Writer"]
