"""6.1: may a swapped-out sequence come back, as vLLM answers and as it should?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.story import Story
from pagesim.timeline.run import Timeline
from pagesim.v0.sequence import Logprob

STATEMENT = """
A sequence is on the CPU. `manager.can_swap_in(group, 0)` says whether it may come back to the GPU:
`"OK"` now, `"LATER"` when others have left, or `"NEVER"`. Write

```python
def may_return(needed, free, total, watermark_blocks):
    return vllm, right
```

All four arguments count blocks of the GPU: what the sequence needs, what is free now, what the
pool has in all, and what must stay free after its return.

* `vllm` is the answer of vLLM 0.6.4. Chapter 6, section 2, shows what it overlooks.
* `right` is the answer as it should be: `"LATER"` only if the sequence may return once all others
  have left.

Example: it needs 3 of 10 blocks, 4 are free, 2 must stay free. `may_return(3, 4, 10, 2)` is
`("LATER", "LATER")`: 4 - 3 leaves only 1.
"""


def may_return(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    """The answer of vLLM 0.6.4, and the right one. All arguments count GPU blocks."""
    ### BEGIN SOLUTION
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    vllm = "NEVER" if needed > total else "LATER"
    right = "NEVER" if needed > total - watermark_blocks else "LATER"
    return vllm, right
    ### END SOLUTION


BLOCK_SIZE = 2


def _swapped_out(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[Story, Any]:
    """A story in which s0 is on the CPU, and others hold all but ``free`` blocks of the GPU."""
    watermark = (watermark_blocks + 0.5) / total  # the manager rounds down
    story = Story(total, total + 1, BLOCK_SIZE, watermark=watermark)
    s0 = story.arrive(range(BLOCK_SIZE * min(needed, total)))
    s0.swap_out()
    if needed > total:  # its newest token has no slot yet
        s0.seq.append_token_id(99, {99: Logprob(0.0)})
    for guest in range(total - free):
        story.arrive([100 + guest])
    return story, s0


def expected(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    """What the manager says now, and what it comes to say while the others leave."""
    story, s0 = _swapped_out(needed, free, total, watermark_blocks)
    answers = [story.manager.can_swap_in(s0.group, 0).name]
    for guest in story.writers[1:]:
        guest.leave()
        answers.append(story.manager.can_swap_in(s0.group, 0).name)
    return answers[0], answers[0] if answers[0] == "OK" else "LATER" if "OK" in answers else "NEVER"


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    sizes = rng.sample(range(3, 9), 3) if hidden else (2, 4)
    for total in sizes:
        for watermark_blocks in range(min(3, total)):
            for needed in range(1, total + 2):
                for free in range(total + 1):
                    case = (needed, free, total, watermark_blocks)
                    yield Case(case, tag=_tag(*case))


def _tag(needed: int, free: int, total: int, watermark_blocks: int) -> str:
    if needed > total:
        return "more than the GPU has"
    if needed > total - watermark_blocks:
        return "more than the watermark leaves"
    left = free - needed - watermark_blocks
    if watermark_blocks and -watermark_blocks <= left < 0:
        return "only the watermark is in the way"
    return "exactly enough" if left == 0 else "too few now" if left < 0 else "plenty"


def why(case: Case, yours: Any, right: Any) -> str:
    needed, free, total, watermark_blocks = case.args
    told_vllm = yours[0] == right[0]
    if right[0] == "OK":
        return f"{free} - {needed} = {free - needed}, and only {watermark_blocks} must stay free."
    if needed > total - watermark_blocks:
        if told_vllm:
            return (
                f"Even an empty GPU has {total} - {needed} = {total - needed} blocks left, and "
                f"{watermark_blocks} must stay free: later will be no better."
            )
        compared = "more than" if needed > total else "not more than"
        return (
            f"For NEVER vLLM compares {needed} with all {total} blocks, without the watermark: "
            f"it is {compared} that."
        )
    return (
        f"Now {free} - {needed} is less than the {watermark_blocks} that must stay free; when all "
        f"others have left, {total} - {needed} is not."
    )


def play(case: Case) -> Timeline:
    story, _ = _swapped_out(*case.args)
    for guest in story.writers[1:]:
        guest.leave()
    return story.run.annotate(title="s0 is on the CPU; when may it come back?")


def _right_twice(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    return (may_return(needed, free, total, watermark_blocks)[1],) * 2


def _vllm_twice(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    return (may_return(needed, free, total, watermark_blocks)[0],) * 2


def _no_watermark(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    return may_return(needed, free, total, 0)


def _strictly(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    vllm, right = may_return(needed, free, total, watermark_blocks)
    return ("LATER", "LATER") if free - needed == watermark_blocks else (vllm, right)


def _never_now(needed: int, free: int, total: int, watermark_blocks: int) -> tuple[str, str]:
    answer = "OK" if free - needed >= watermark_blocks else "NEVER"
    return answer, answer


EXERCISE = Exercise(
    number="6.1",
    title="May it come back?",
    stars=1,
    statement=STATEMENT,
    reference=may_return,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "watermark_in_NEVER": Wrong(
            _right_twice,
            "vLLM counts the watermark when it says NEVER, as it does for prompts.",
            "more than the watermark leaves",
        ),
        "vLLM_is_right": Wrong(
            _vllm_twice,
            "If vLLM says LATER, it will be possible later.",
            "more than the watermark leaves",
        ),
        "no_watermark": Wrong(
            _no_watermark,
            "A sequence that was here before may take the last block.",
            "only the watermark is in the way",
        ),
        "strictly_more": Wrong(
            _strictly, "More than the watermark must stay free.", "exactly enough"
        ),
        "NEVER_for_not_now": Wrong(
            _never_now, "What does not fit now will never fit.", "too few now"
        ),
    },
    hints=(
        "Two questions: does it fit now, and would it fit if the GPU were empty?",
        "OK is free - needed ≥ watermark_blocks in both answers. Only NEVER differs.",
        "vLLM says NEVER if needed > total. Right would be needed > total - watermark_blocks.",
    ),
    vllm=(
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager._can_swap",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_swap_in",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate",
    ),
    play=play,
)
