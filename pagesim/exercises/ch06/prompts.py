"""What answers of this chapter are made of: prompts that come and go, with prefix caching."""

from pagesim.story import Story
from pagesim.v0.block.interfaces import Device
from pagesim.v0.evictor import LRUEvictor

Prompts = list[list[int]]


def served(
    prompts: Prompts,
    num_blocks: int,
    block_size: int,
    evictor: LRUEvictor | None = None,
    record: bool = True,
) -> tuple[list[list[int]], Story]:
    """Each prompt comes, is computed and leaves; the places of its blocks that were found."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=record)
    if evictor is not None:
        vars(story.manager.block_allocator.allocator_on(Device.GPU))["evictor"] = evictor
    found = []
    for now, prompt in enumerate(prompts, 1):
        writer = story.arrive(prompt)
        blocks = story.manager.block_tables[writer.seq.seq_id].blocks
        found.append([place for place, block in enumerate(blocks) if block.computed])
        story.manager.access_all_blocks_in_seq(writer.seq, float(now))
        story.manager.mark_blocks_as_computed(writer.group, len(prompt))
        writer.leave()
    return found, story


def fault_of(prompts: Prompts, most_tokens: int) -> str:
    """What is wrong with prompts as such; nothing if each is a list of tokens that fits."""
    for prompt in prompts:
        if not isinstance(prompt, list) or not 0 < len(prompt) <= most_tokens:
            return f"A prompt that fits is a list of 1 to {most_tokens} ints."
        if any(type(token) is not int or not 0 <= token < 2**31 for token in prompt):
            return "A token is an int, and not negative."
    return ""
