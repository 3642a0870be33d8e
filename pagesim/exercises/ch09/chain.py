"""9.1: what a full block is found by."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

STATEMENT = """
With prefix caching a full block is found again by a hash. Write

```python
def chain(tokens, block_size):
    return hashes
```

the hash of each full block of a prompt, first to last, as hex digests of SHA-256
(`hashlib.sha256(data).hexdigest()`). `tokens` is a list of ints.

Two blocks must have the same hash exactly if their keys and values are the same: if they hold the
same tokens, **and** everything before them is the same. A block that is not full has no hash.

Example, with blocks of 2: for `[1, 2, 3, 4, 5]` there are two hashes. The first is also that of
`[1, 2]`; the second is not that of `[3, 4]`.

What goes into the digests is up to you: only which of them are equal is compared.
"""


def chain(tokens: list[int], block_size: int) -> list[str]:
    """The hashes of the full blocks of a prompt, as hex digests of SHA-256."""
    import hashlib

    ### BEGIN SOLUTION
    hashes: list[str] = []
    before = ""
    for start in range(0, len(tokens) - block_size + 1, block_size):
        block = tokens[start : start + block_size]
        before = hashlib.sha256(f"{before} {block}".encode()).hexdigest()
        hashes.append(before)
    return hashes
    ### END SOLUTION


Pattern = list[list[int]]


def _pattern(hashes: list[list[Any]]) -> Pattern:
    """The same lists with numbers for the hashes, in the order in which they come up."""
    numbers: dict[Any, int] = {}
    return [[numbers.setdefault(each, len(numbers)) for each in row] for row in hashes]


def _story(prompts: list[list[int]], block_size: int, *, record: bool = True) -> Story:
    blocks = sum(-(-len(prompt) // block_size) for prompt in prompts)
    story = Story(max(1, blocks), block_size=block_size, caching=True, record=record)
    for prompt in prompts:
        story.arrive(prompt)
    return story


def vllm_pattern(prompts: list[list[int]], block_size: int) -> Pattern:
    """Which blocks have the same content for the block manager."""
    story = _story(prompts, block_size, record=False)
    tables = story.manager.block_tables
    blocks = [tables[writer.seq.seq_id].blocks for writer in story.writers]
    hashes = [[block.content_hash for block in row] for row in blocks]
    return _pattern([[each for each in row if each is not None] for row in hashes])


def expected(prompts: list[list[int]], block_size: int) -> Goal:
    right = vllm_pattern(prompts, block_size)
    return Goal(
        accepts=lambda yours: not _type(yours) and _pattern(yours) == right,
        like=[["digest"] * len(row) for row in right],
        words=_words(right),
    )


def _words(pattern: Pattern) -> str:
    """Hash #0, #1, … of each prompt's blocks."""
    return " | ".join(" ".join(f"#{each}" for each in row) or "no hash" for row in pattern)


def _type(yours: Any) -> str:
    """What is wrong with the kind of an answer."""
    if not isinstance(yours, list) or not all(isinstance(row, list) for row in yours):
        return "For each prompt there is a list of hashes."
    if not all(isinstance(each, str) and len(each) == 64 for row in yours for each in row):
        return "A hash is a hex digest of SHA-256, a string of 64 characters."
    return ""


def call(chain: Callable[..., Any], case: Case) -> Any:
    """The hashes of each prompt."""
    prompts, block_size = case.args
    return [chain(prompt, block_size) for prompt in prompts]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    shown = [
        ([[1, 2]], 2, "one full block"),
        ([[1]], 2, "a block that is not full"),
        ([[1, 2, 3]], 2, "a block that is not full"),
        ([[1, 2, 3, 4], [3, 4]], 2, "the same tokens, another beginning"),
        ([[1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 6]], 2, "another beginning, two blocks back"),
        ([[1, 23], [12, 3]], 2, "the same digits"),
        ([[1, 2], [2, 1]], 2, "the same tokens in another order"),
        ([[7, 7, 7, 7], [7, 7]], 2, "one token again and again"),
        ([[1, 256], [1, 0]], 2, "a token above 255"),
        ([[1, 2**16], [1, 2**17], [1, 0]], 2, "a token above 65,535"),
    ]
    if hidden:
        a, b, c = (rng.randint(1, 9) for _ in range(3))
        shown = [
            ([[a, 10 * b + c], [10 * a + b, c]], 2, "the same digits, hidden"),
            ([[a, 256 * b + c], [a, c]], 2, "a token above 255"),
            ([[a, 2**16 * b + c], [a, c]], 2, "a token above 65,535"),
        ]
    for prompts, block_size, tag in shown:
        yield _case(prompts, block_size, tag)
    for _ in range(60):
        block_size = rng.choice((2, 3, 5) if hidden else (1, 2, 4))
        prompts = [[rng.randint(0, 2) for _ in range(rng.randint(1, 16))] for _ in range(4)]
        yield _case(prompts, block_size, "random")


def _case(prompts: list[list[int]], block_size: int, tag: str) -> Case:
    return Case((prompts, block_size), f"prompts {prompts}, blocks of {block_size}", tag)


def why(case: Case, yours: Any, right: Any) -> str:
    if said := _type(yours):
        return said
    prompts, block_size = case.args
    want, got = vllm_pattern(*case.args), _pattern(yours)
    for number, (a, b) in enumerate(zip(got, want, strict=True)):
        if len(a) != len(b):
            tokens, full = count(len(prompts[number]), "token"), count(len(b), "full block")
            return f"Prompt {number} has {tokens}, and so {full}: a hash for each."
    return (
        f"Yours are {_words(got)}. A hash stands for the tokens of its block and for all before "
        f"them, in their order: two blocks of {block_size} share it only if both are equal."
    )


def play(case: Case) -> Timeline:
    return _story(*case.args).run.annotate(title="Prompts arrive: which blocks are shared?")


def case_of(prompts: list[list[int]], block_size: int) -> Case | None:
    return _case(prompts, block_size, "") if block_size > 0 and all([prompts, *prompts]) else None


EXERCISE = Exercise(
    number="9.1",
    title="The hash chain",
    stars=1,
    statement=STATEMENT,
    reference=chain,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "the_block_alone": Wrong(
            variant(chain, 'f"{before} {block}"', 'f"{block}"'),
            "Equal tokens have equal keys and values.",
            "the same tokens, another beginning",
        ),
        "one_block_back": Wrong(
            variant(
                chain,
                'f"{before} {block}"',
                'f"{tokens[max(0, start - block_size):start]} {block}"',
            ),
            "The block before decides.",
            "another beginning, two blocks back",
        ),
        "partial_blocks": Wrong(
            variant(chain, "len(tokens) - block_size + 1", "len(tokens)"),
            "Every block has a hash, even the last one.",
            "a block that is not full",
        ),
        "digits_run_together": Wrong(
            variant(chain, "{block}", "{''.join(map(str, block))}"),
            "The tokens' digits in a row say which tokens they are.",
            "the same digits",
        ),
        "any_order": Wrong(
            variant(chain, "{block}", "{sorted(block)}"),
            "The set of the tokens decides.",
            "the same tokens in another order",
        ),
    },
    hints=(
        "Keys and values of a token depend on every token before it. What must be in the hash?",
        "Hash two things for each block: the hash of the block before it, and its own tokens.",
        'before = sha256(f"{before} {block}".encode()).hexdigest() for each full block in turn, '
        'beginning with before = "".',
    ),
    vllm=(
        "vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.hash_block_tokens",
        "vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.content_hash",
    ),
    play=play,
    call=call,
    case_of=case_of,
)
