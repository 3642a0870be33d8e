"""# 5.1 May it return? ★

A sequence is on the CPU. `manager.can_swap_in(group, 0)` says whether the sequence may return to
the GPU: `"OK"` means that it may return now, `"LATER"` that it may return when others have left,
and `"NEVER"` that it cannot return at all. Write

```python
def may_return(needed, free, total, watermark_blocks):
    return vllm, right
```

All four arguments are numbers of GPU blocks: those that the sequence needs, those that are free
now, those of the whole pool, and those that must stay free after the sequence has returned.

* `vllm` is what vLLM 0.6.4 says. Chapter 5 shows what vLLM overlooks, under "0.6.4's surprises".
* `right` is what vLLM should say: `"LATER"` if the sequence can return once all others have left,
  and `"NEVER"` if it cannot even then.

Example: a sequence needs 3 of 10 blocks, 4 are free, and 2 must stay free.
`may_return(3, 4, 10, 2)` is `("LATER", "LATER")`, because only 4 - 3 = 1 block would stay free.

## Hints
1. Ask two questions. Does the sequence fit now? Would it fit if the GPU were empty?
2. `vllm` and `right` are `"OK"` if `free - needed >= watermark_blocks`. They differ only in when
   they are `"NEVER"`.
3. vLLM says `"NEVER"` if `needed > total`. It should say `"NEVER"` if
   `needed > total - watermark_blocks`.

## Wrong answers
* watermark_in_NEVER (more than the watermark leaves): vLLM counts the watermark when it says NEVER,
  as it does for prompts.
* vLLM_is_right (more than the watermark leaves): If vLLM says LATER, the sequence can return later.
* no_watermark (only the watermark is in the way): A sequence that was here before may take the last
  block.
* strictly_more (exactly enough): More blocks than the watermark must stay free.
* NEVER_for_not_now (too few now): A sequence that does not fit now will never fit.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager._can_swap
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_swap_in
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate
"""

from itertools import product

from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline, counted
from pagesim.v0.sequence import Logprob


def may_return(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    """The answer of vLLM 0.6.4, and the right one. All arguments count GPU blocks."""
    ### BEGIN SOLUTION
    if free - needed >= watermark_blocks:
        ### no_watermark: if free >= needed:
        ### strictly_more: if free - needed > watermark_blocks:
        return "OK", "OK"
    vllm = "NEVER" if needed > total else "LATER"
    ### NEVER_for_not_now: return "NEVER", "NEVER"
    right = "NEVER" if needed > total - watermark_blocks else "LATER"
    ### no_watermark: right = vllm
    return vllm, right
    ### watermark_in_NEVER: return right, right
    ### vLLM_is_right: return vllm, vllm
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Every need and every free list, on small GPUs with several watermarks."""
    for total in rng.sample(range(3, 9), 3) if hidden else (2, 4):
        sizes = range(min(3, total)), range(1, total + 2), range(total + 1)
        for watermark_blocks, needed, free in product(*sizes):
            left = free - needed - watermark_blocks
            tag = "exactly enough" if not left else "too few now" if left < 0 else "plenty"
            tag = "only the watermark is in the way" if -watermark_blocks <= left < 0 else tag
            tag = tag if needed <= total - watermark_blocks else "more than the watermark leaves"
            tag = "more than the GPU has" if needed > total else tag
            yield Case((needed, free, total, watermark_blocks), tag=tag)


def oracle(
    needed: int, free: int, total: int, watermark_blocks: int, *, record: bool = True
) -> tuple[tuple[str, str], Timeline]:
    """What the manager says now, and what it comes to say while others leave, and s0 is away."""
    watermark = (watermark_blocks + 0.5) / total  # the manager rounds down
    story = Story(total, total + 1, block_size=2, watermark=watermark)
    s0 = story.arrive(range(2 * min(needed, total)))
    s0.swap_out()
    if needed > total:  # its newest token has no slot yet
        s0.seq.append_token_id(99, {99: Logprob(0.0)})
    others = [story.arrive([100 + guest]) for guest in range(total - free)]
    now = story.manager.can_swap_in(s0.group, 0).name
    later = []
    for other in others:
        other.leave()
        later.append(story.manager.can_swap_in(s0.group, 0).name)
    right = now if now == "OK" else "LATER" if "OK" in later else "NEVER"
    return (now, right), story.run.annotate(title="s0 is on the CPU. When may it return?")


def why(yours: list[str], right: list[str], *case: int) -> str:
    needed, free, total, watermark_blocks = case
    vllm_says, is_so = yours[0], right[0]
    if is_so == "OK":
        stay = f"{free} - {needed} = {counted(free - needed, 'block')} would stay free"
        return f"{stay}, and only {watermark_blocks} must. So the sequence may return now."
    if needed <= total - watermark_blocks:
        now = f"Now {free} - {needed} is less than the {watermark_blocks} that must stay free"
        return f"{now}. When all others have left, {total} - {needed} is enough."
    if vllm_says == is_so:
        blocks = counted(total - needed, "block")
        left = f"Even an empty GPU would have {total} - {needed} = {blocks} left"
        return f"{left}, and {watermark_blocks} must stay free: later will be no better."
    more = "more" if needed > total else "not more"
    compares = f"vLLM says NEVER if a sequence needs more than all {total} blocks"
    return f"{compares}. It ignores the watermark, and {needed} is {more} than {total}."
