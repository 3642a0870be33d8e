"""What answers of this chapter are made of: prompts that come and go, with prefix caching."""

from pagesim.story import Story


def serve(story: Story, prompt: list[int], now: float) -> list[int]:
    """A prompt comes, is computed and leaves; the places of its blocks that were found."""
    writer = story.arrive(prompt)
    blocks = story.manager.block_tables[writer.seq.seq_id].blocks
    found = [place for place, block in enumerate(blocks) if getattr(block, "computed", False)]
    story.manager.access_all_blocks_in_seq(writer.seq, now)
    story.manager.mark_blocks_as_computed(writer.group, len(prompt))
    writer.leave()
    return found


def fault_of(prompts: list[object], most_tokens: int) -> str:
    """What is wrong with prompts as such; nothing if each is a list of tokens that fits."""
    for prompt in prompts:
        if not isinstance(prompt, list) or not 0 < len(prompt) <= most_tokens:
            return f"A prompt that fits is a list of 1 to {most_tokens} ints."
        if any(type(token) is not int or not 0 <= token < 2**31 for token in prompt):
            return "A token is an int, and not negative."
    return ""
