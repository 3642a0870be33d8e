"""# 1.1 The slots of an allocation ★

From its arrival to its end, a request holds a contiguous allocation of `row` slots. Its prompt has
`prompt` tokens, and its output will have `answer` tokens. Now the allocation holds `stored` tokens,
including those of the prompt.

* A **token** slot holds a token.
* A **reserved** slot is empty now, but the request will use it.
* An **internal** slot belongs to the allocation, but the request will never use it.

Write `waste(prompt, answer, stored, row)`. The function returns how many of the slots are token,
reserved and internal, as a tuple in this order.

Example: `waste(6, 6, 8, 32)` is `(8, 4, 20)`. The request has 8 tokens now, and it will have 12.
(The last token of an output is never stored. Its slot counts as reserved until the end.)

## Hints
1. Each slot of the allocation is of exactly one kind. What must the three numbers add up to?
2. At its end, the request has `prompt + answer` tokens. Which slots will it never reach?
3. `stored` slots hold a token. As many slots are reserved as tokens are still missing from
   `prompt + answer`. All slots beyond `prompt + answer` are internal.

## Wrong answers
* all_the_rest_is_reserved (an allocation longer than the request): Every empty slot that a request
  holds is reserved for it.
* reserved_from_the_prompt_on (some of the output is there): The whole output stays reserved,
  however much of it is already stored.
* reserved_is_internal (an allocation as long as the request): An empty slot is lost, even if a
  token will come into it.
* prompt_beside_stored (an allocation as long as the request): The stored tokens come on top of the
  prompt.

## vLLM
* vllm/core/block/block_table.py: BlockTable.append_token_ids, which replaces the row
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.append_slots
"""

from pagesim.exercises.ch01.served import power_of_two_from, served
from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted

Kinds = tuple[int, int, int]


def waste(prompt: int, answer: int, stored: int, row: int) -> tuple[int, int, int]:
    """How many slots of an allocation are token, reserved and internal, in this order.

    prompt, answer: tokens of the prompt and of the complete output; stored: how many of all these
    are stored now, at least the prompt; row: the slots that the request holds.
    """
    ### BEGIN SOLUTION
    token = stored
    ### prompt_beside_stored: token = prompt + stored
    reserved = prompt + answer - stored
    ### all_the_rest_is_reserved: reserved = row - stored
    ### reserved_from_the_prompt_on: reserved = answer
    ### reserved_is_internal: reserved = 0
    internal = row - (prompt + answer)
    ### all_the_rest_is_reserved: internal = 0
    ### reserved_is_internal: internal = row - stored
    return token, reserved, internal
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Short rows first, then random requests at every moment of their lives."""
    moments = [
        (prompt, total - prompt, stored, row)
        for row in range(2, 7 if hidden else 5)
        for total in range(row, 1, -1)
        for prompt in range(total - 1, 0, -1)
        for stored in range(prompt, total)
    ]
    for _ in range(200):
        prompt, answer = rng.randint(1, 40), rng.randint(1, 40)
        row = prompt + answer + rng.randint(0, 40)
        moments.append((prompt, answer, rng.randint(prompt, prompt + answer - 1), row))
    for prompt, answer, stored, row in moments:
        longer = "longer than" if row > prompt + answer else "as long as"
        tag = f"an allocation {longer} the request"
        tag = "some of the output is there" if stored > prompt else tag
        yield Case((prompt, answer, stored, row), tag=tag)


def oracle(
    prompt: int, answer: int, stored: int, row: int, *, record: bool = False
) -> tuple[Kinds, Timeline | None]:
    """One request alone, with a row as long as the longest sequence."""
    pool = power_of_two_from(row)  # what the buddy allocator grants; only the row can be used
    run = served("max", [(prompt, answer)], pool, row, record=record)
    now = run.waste.at(stored - prompt)  # the iteration in which so many tokens are stored
    return (now.token, now.reserved, now.internal), run.timeline


def why(yours: Kinds, right: Kinds, prompt: int, answer: int, stored: int, row: int) -> str:
    if yours[0] != right[0]:
        return f"The allocation holds {counted(stored, 'token')} in all, the prompt included."
    if yours[1] == answer != right[1]:
        written = counted(stored - prompt, "token")
        return f"A slot that holds a token is no longer reserved. The output has {written} already."
    ends = f"The request ends with {prompt} + {answer} tokens"
    if yours[1] == row - stored != right[1]:
        never = f"so {counted(right[2], 'slot')} will never hold a token. That is internal"
        return f"Reserved slots are those that will be used. {ends}, {never}."
    if sum(yours) != row:
        return f"Each of the {row} slots is of exactly one kind, but yours add up to {sum(yours)}."
    used = f"{counted(right[1], 'slot')} will still be used. That is what reserved means"
    return f"{ends} and has {stored} now, so {used}."
