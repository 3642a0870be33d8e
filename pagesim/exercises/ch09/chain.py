"""# 9.1 The hash chain ★

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

## Hints
1. Keys and values of a token depend on every token before it. What must be in the hash?
2. Hash two things for each block: the hash of the block before it, and its own tokens.
3. before = sha256(f"{before} {block}".encode()).hexdigest() for each full block in turn, beginning
   with before = "".

## Wrong answers
* the_block_alone (the same tokens, another beginning): Equal tokens have equal keys and values.
* one_block_back (another beginning, two blocks back): The block before decides.
* partial_blocks (a block that is not full): Every block has a hash, even the last one.
* digits_run_together (the same digits): The tokens' digits in a row say which tokens they are.
* any_order (the same tokens in another order): The set of the tokens decides.

## vLLM
* vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.hash_block_tokens
* vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.content_hash
"""

from collections.abc import Callable

from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, count

Prompts = list[list[int]]
Hashes = list[list[str]]
Pattern = list[list[int]]
"""Hashes as numbers, in the order in which they come up."""

SHOWN: tuple[tuple[Prompts, str], ...] = (
    ([[1, 2]], "one full block"),
    ([[1]], "a block that is not full"),
    ([[1, 2, 3]], "a block that is not full"),
    ([[1, 2, 3, 4], [3, 4]], "the same tokens, another beginning"),
    ([[1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 6]], "another beginning, two blocks back"),
    ([[1, 23], [12, 3]], "the same digits"),
    ([[1, 2], [2, 1]], "the same tokens in another order"),
    ([[7, 7, 7, 7], [7, 7]], "one token again and again"),
    ([[1, 256], [1, 0]], "a token above 255"),
    ([[1, 2**16], [1, 2**17], [1, 0]], "a token above 65,535"),
)


def chain(tokens: list[int], block_size: int) -> list[str]:
    """The hashes of the full blocks of a prompt, as hex digests of SHA-256."""
    import hashlib

    ### BEGIN SOLUTION
    hashes: list[str] = []
    before = ""
    for start in range(0, len(tokens) - block_size + 1, block_size):
        ### partial_blocks: for start in range(0, len(tokens), block_size):
        block = tokens[start : start + block_size]
        before = hashlib.sha256(f"{before} {block}".encode()).hexdigest()
        ### the_block_alone: before = hashlib.sha256(f"{block}".encode()).hexdigest()
        ### one_block_back: last = tokens[max(0, start - block_size) : start]
        ### one_block_back: before = hashlib.sha256(f"{last} {block}".encode()).hexdigest()
        ### digits_run_together: digits = "".join(map(str, block))
        ### digits_run_together: before = hashlib.sha256(f"{before} {digits}".encode()).hexdigest()
        ### any_order: before = hashlib.sha256(f"{before} {sorted(block)}".encode()).hexdigest()
        hashes.append(before)
    return hashes
    ### END SOLUTION


def call(chain: Callable[[list[int], int], list[str]], prompts: Prompts, block_size: int) -> Hashes:
    """The hashes of each prompt."""
    return [chain(prompt, block_size) for prompt in prompts]


def cases(rng: Random, hidden: bool) -> Cases:
    """One rule after the other, then short prompts of few tokens."""
    pairs = SHOWN
    if hidden:
        a, b, c = (rng.randint(1, 9) for _ in range(3))
        pairs = (
            ([[a, 10 * b + c], [10 * a + b, c]], "the same digits, hidden"),
            ([[a, 256 * b + c], [a, c]], "a token above 255"),
            ([[a, 2**16 * b + c], [a, c]], "a token above 65,535"),
        )
    for prompts, tag in pairs:
        yield Case((prompts, 2), tag=tag)
    for _ in range(60):
        block_size = rng.choice((2, 3, 5) if hidden else (1, 2, 4))
        prompts = [[rng.randint(0, 2) for _ in range(rng.randint(1, 16))] for _ in range(4)]
        yield Case((prompts, block_size), tag="random")


def words(prompts: Prompts, block_size: int) -> str:
    return f"prompts {prompts}, blocks of {block_size}"


def valid(prompts: Prompts, block_size: int) -> bool:
    return block_size > 0 and all([prompts, *prompts])


def oracle(prompts: Prompts, block_size: int) -> Goal:
    """Any hashes that are equal where the block manager's are."""
    right = pattern_of_vllm(prompts, block_size)
    return Goal(
        accepts=lambda yours: not wrong_kind(yours) and pattern(yours) == right,
        like=[["digest"] * len(row) for row in right],
        words=in_words(right),
    )


def pattern_of_vllm(prompts: Prompts, block_size: int) -> Pattern:
    story = arrived(prompts, block_size, record=False)
    tables = (story.manager.block_tables[writer.seq.seq_id] for writer in story.writers)
    rows = [[block.content_hash for block in table.blocks] for table in tables]
    return pattern([[str(each) for each in row if each is not None] for row in rows])


def arrived(prompts: Prompts, block_size: int, *, record: bool = True) -> Story:
    blocks = sum(-(-len(prompt) // block_size) for prompt in prompts)
    story = Story(max(1, blocks), block_size=block_size, caching=True, record=record)
    for prompt in prompts:
        story.arrive(prompt)
    return story


def pattern(hashes: Hashes) -> Pattern:
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(each, len(numbers)) for each in row] for row in hashes]


def in_words(pattern: Pattern) -> str:
    """Hash #0, #1, … of each prompt's blocks."""
    return " | ".join(" ".join(f"#{each}" for each in row) or "no hash" for row in pattern)


def wrong_kind(yours: object) -> str:
    """What is wrong with the kind of an answer."""
    if not isinstance(yours, list) or not all(isinstance(row, list) for row in yours):
        return "For each prompt there is a list of hashes."
    if not all(isinstance(each, str) and len(each) == 64 for row in yours for each in row):
        return "A hash is a hex digest of SHA-256, a string of 64 characters."
    return ""


def why(yours: Hashes, right: Goal, prompts: Prompts, block_size: int) -> str:
    """Another number of hashes, or another pattern."""
    if problem := wrong_kind(yours):
        return problem
    want, got = pattern_of_vllm(prompts, block_size), pattern(yours)
    for number, (a, b) in enumerate(zip(got, want, strict=True)):
        if len(a) != len(b):
            tokens, full = count(len(prompts[number]), "token"), count(len(b), "full block")
            return f"Prompt {number} has {tokens}, and so {full}: a hash for each."
    return (
        f"Yours are {in_words(got)}. A hash stands for the tokens of its block and for all before "
        f"them, in their order: two blocks of {block_size} share it only if both are equal."
    )


def play(prompts: Prompts, block_size: int) -> Timeline:
    """The prompts arrive."""
    title = "Prompts arrive: which blocks are shared?"
    return arrived(prompts, block_size).run.annotate(title=title)
