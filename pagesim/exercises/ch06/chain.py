"""# 6.1 The hash chain ★

With prefix caching, a full block is found again by its hash. Write

```python
def chain(tokens, block_size):
    return hashes
```

`tokens` is a prompt, as a list of ints. `chain` returns the hash of each full block of the prompt,
from the first to the last. A hash is a hex digest of SHA-256: `hashlib.sha256(data).hexdigest()`,
where `data` is bytes.

Two blocks must have the same hash if their keys and values are the same, and only then. Their keys
and values are the same if they hold the same tokens **and** everything before them is the same,
too. A block that is not full has no hash.

Example, with blocks of 2: `[1, 2, 3, 4, 5]` has two hashes. The first is also the hash of `[1, 2]`.
The second is not the hash of `[3, 4]`.

You choose what goes into the digests: `check` compares only which of them are equal.

## Hints
1. The key and value of a token depend on every token before it. What must the hash be computed
   from?
2. For each block, hash two things: the hash of the block before it, and its own tokens.
3. Begin with `before = ""`. For each full block in turn, compute
   `before = sha256(f"{before} {block}".encode()).hexdigest()`.

## Wrong answers
* the_block_alone (the same tokens, another beginning): Equal tokens have equal keys and values.
* one_block_back (another beginning, two blocks back): It is enough to include the tokens of the
  block before.
* partial_blocks (a block that is not full): Every block has a hash, even one that is not full.
* digits_run_together (the same digits): The digits of the tokens, written one after another,
  identify the tokens.
* any_order (the same tokens in another order): Only the set of tokens matters, not their order.

## vLLM
* vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.hash_block_tokens
* vllm/core/block/prefix_caching_block.py: PrefixCachingBlock.content_hash
"""

from collections.abc import Callable

from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, counted

Prompts = list[list[int]]
Hashes = list[list[str]]


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
    return [chain(prompt, block_size) for prompt in prompts]


def cases(rng: Random, hidden: bool) -> Cases:
    """One rule after the other, then short prompts of few tokens."""
    shown: list[tuple[Prompts, str]] = [
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
    ]
    if hidden:
        a, b, c = (rng.randint(1, 9) for _ in range(3))
        shown = [
            ([[a, 10 * b + c], [10 * a + b, c]], "the same digits, hidden"),
            ([[a, 256 * b + c], [a, c]], "a token above 255"),
            ([[a, 2**16 * b + c], [a, c]], "a token above 65,535"),
        ]
    for prompts, tag in shown:
        yield Case((prompts, 2), tag=tag)
    for _ in range(60):
        block_size = rng.choice((2, 3, 5) if hidden else (1, 2, 4))
        prompts = [[rng.randint(0, 2) for _ in range(rng.randint(1, 16))] for _ in range(4)]
        yield Case((prompts, block_size), tag="random")


def words(prompts: Prompts, block_size: int) -> str:
    return f"prompts {prompts}, blocks of {block_size}"


def valid(prompts: Prompts, block_size: int) -> bool:
    return block_size > 0 and all([prompts, *prompts])


def oracle(prompts: Prompts, block_size: int, *, record: bool = True) -> tuple[Goal, Timeline]:
    """Any hashes that are equal where the block manager's are."""
    blocks = sum(-(-len(prompt) // block_size) for prompt in prompts)
    story = Story(max(1, blocks), block_size=block_size, caching=True)
    hashes = []
    for prompt in prompts:
        table = story.manager.block_tables[story.arrive(prompt).seq.seq_id].blocks
        hashes.append([str(block.content_hash) for block in table if block.content_hash])
    right = Goal([["digest"] * len(row) for row in hashes], in_words(hashes))
    return right, story.run.annotate(title="Prompts arrive: which blocks are shared?")


def in_words(hashes: Hashes) -> str:
    """Hash #0, #1, … of each prompt's blocks, in the order in which they come up."""
    known = dict[str, int]()
    rows = ((f"#{known.setdefault(each, len(known))}" for each in row) for row in hashes)
    return " | ".join(" ".join(row) or "no hash" for row in rows)


def why(yours: Hashes, right: Goal, prompts: Prompts, block_size: int) -> str:
    if not isinstance(yours, list) or not all(isinstance(row, list) for row in yours):
        return "Return a list of hashes for each prompt."
    if not all(isinstance(each, str) and len(each) == 64 for row in yours for each in row):
        return "A hash is a hex digest of SHA-256, a string of 64 characters."
    if in_words(yours) == right.words:
        return ""
    for number, (prompt, row) in enumerate(zip(prompts, yours, strict=True)):
        if len(row) != (full := len(prompt) // block_size):
            has, so = counted(len(prompt), "token"), counted(full, "full block")
            return f"Prompt {number} has {has}: {so}. Return a hash for each full block, no more."
    stands = "A hash depends on the tokens of its block and on all tokens before them, in order"
    equal = f"Your hashes are {in_words(yours)}, where the same number is the same hash"
    return f"{equal}. {stands}, and on nothing else."
