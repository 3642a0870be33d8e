"""5.4: an ordered list of copies as launches whose copies run at once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant

Pairs = list[tuple[int, int]]


def in_order(pairs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Launches, each a list of copies (from, to), that do what the pairs do one after the other.

    Within a launch the copies run in any order, so no block is written twice there, or both read
    and written. Launches run one after the other.
    """
    ### BEGIN SOLUTION
    launches: list[Any] = []
    launch: dict[int, int] = {}  # where each block that is written gets its content
    for source, target in pairs:
        origin = launch.get(source, source)
        if target in launch.values() and origin != target:
            launches.append([(a, b) for b, a in launch.items()])
            launch, origin = {}, source
        if origin != target:
            launch[target] = origin
    if launch:
        launches.append([(a, b) for b, a in launch.items()])
    return launches
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Every list of up to four copies over four blocks, numbered as they appear; some longer."""
    for length in range(1, 4 if hidden else 5):
        for pairs in _all(length, 4):
            yield _case(pairs)
    for _ in range(50):
        blocks, length = (6, 7) if hidden else (5, 6)
        yield _case([tuple(rng.sample(range(blocks), 2)) for _ in range(length)])


def _all(length: int, blocks: int) -> Iterator[list[Any]]:
    if length == 0:
        yield []
        return
    for before in _all(length - 1, blocks):
        known = max((block for pair in before for block in pair), default=-1)
        for source in range(min(known + 2, blocks)):
            for target in range(min(max(known, source) + 2, blocks)):
                if source != target and (source, target) not in before[-1:]:
                    yield [*before, (source, target)]


def _case(pairs: Sequence[Any]) -> Case:
    written: set[int] = set()
    read: set[int] = set()
    tag = "copies that do not meet"
    for source, target in pairs:
        if source in written:
            tag = "a copy is copied"
        elif target in read:
            tag = "a source is overwritten"
        elif target in written:
            tag = "written twice"
        if tag != "copies that do not meet":
            break
        written.add(target)
        read.add(source)
    return Case((list(pairs),), tag=tag)


def carried_out(pairs: Pairs, launches: Any) -> dict[str, Any]:
    """What each block holds after the student's launches, and how many there were."""
    holds = list(range(1 + max(max(pair) for pair in pairs)))
    if not all(0 <= block < len(holds) for launch in launches for pair in launch for block in pair):
        raise UsageError(f"there are blocks 0 to {len(holds) - 1}, not those of {launches!r:.200}")
    for number, launch in enumerate(launches):
        read, written = [a for a, _ in launch], [b for _, b in launch]
        if clash := sorted(set(read) & set(written)):
            return _chance(launches, f"launch {number} reads and writes block {clash[0]}")
        if len(set(written)) < len(written):
            twice = next(block for block in written if written.count(block) > 1)
            return _chance(launches, f"launch {number} writes block {twice} twice")
        for source, target in launch:
            holds[target] = holds[source]
    return {"holds": holds, "launches": len(launches)}


def _chance(launches: Any, said: str) -> dict[str, Any]:
    return {"holds": said, "launches": len(launches)}


def expected(pairs: Pairs) -> Goal:
    """The same contents, in as many launches or fewer."""
    right = in_turn(pairs)

    def accepts(yours: Any) -> bool:
        found = carried_out(pairs, yours)
        return bool(found["holds"] == right["holds"] and found["launches"] <= right["launches"])

    return Goal(accepts, like=[], words=f"blocks {right['holds']}, {_launches(right['launches'])}")


def in_turn(pairs: Pairs) -> dict[str, Any]:
    """One pair after the other, and the launches of `kernels.copy_blocks`."""
    from pagesim.kernels.block_copy import batches

    holds = list(range(1 + max(max(pair) for pair in pairs)))
    for source, target in pairs:
        holds[target] = holds[source]
    return {"holds": holds, "launches": len(batches(pairs))}


def _launches(number: int) -> str:
    return "1 launch" if number == 1 else f"{number} launches"


def why(case: Case, yours: Any, right: Any) -> str:
    """The launch that has no order, or the block with other contents."""
    (pairs,) = case.args
    yours, right = carried_out(pairs, yours), in_turn(pairs)
    if isinstance(yours["holds"], str):
        return f"The copies of a launch run in any order: if {yours['holds']}, chance decides."
    if yours["holds"] != right["holds"]:
        pairs = zip(yours["holds"], right["holds"], strict=True)
        block = next(i for i, (a, b) in enumerate(pairs) if a != b)
        return (
            f"One after the other, the copies leave in block {block} what was in block "
            f"{right['holds'][block]}; yours leave what was in block {yours['holds'][block]}."
        )
    return (
        f"{_launches(right['launches'])} will do: only a copy "
        "that overwrites what an earlier one still has to read needs another."
    )


def _last_writer_alone(pairs: Pairs) -> list[Pairs]:
    return [[(source, target) for target, source in {b: a for a, b in pairs}.items()]]


EXERCISE = Exercise(
    number="5.4",
    title="Copies that run at once",
    stars=2,
    statement="""\
The block manager asks for copies in a certain order. A kernel that makes all of them at once has
none: within a **launch** no block may be written twice, or be both read and written. Launches run
one after the other. Write `in_order(pairs)`: it takes a list of copies (from, to) and returns a
list of launches, each a list of copies, that leave in every block what the pairs would leave there,
one after the other.

Take no more launches than needed: nearly always one is enough. `in_order([(0, 1), (1, 2)])` is
`[[(0, 1), (0, 2)]]`: block 2 gets what block 1 will have been given. `in_order([(1, 2), (0, 1)])`
takes two. (Any answer with no more launches than `kernels.copy_blocks` makes is right.)""",
    reference=in_order,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "as_they_are": Wrong(
            variant(
                in_order,
                "for source, target in pairs:",
                "return [pairs]\n    for source, target in pairs:",
            ),
            "A kernel copies in the order of the list.",
            "a copy is copied",
        ),
        "last_writer_alone": Wrong(
            _last_writer_alone,
            "The last copy to a block counts, and the others can be dropped.",
            "a copy is copied",
        ),
        "never_a_second_launch": Wrong(
            variant(in_order, "if target in launch.values() and origin != target:", "if False:"),
            "If each block gets its content from the right place, one launch is enough.",
            "a source is overwritten",
        ),
        "one_by_one": Wrong(
            variant(
                in_order,
                "for source, target in pairs:",
                "return [[pair] for pair in pairs]\n    for source, target in pairs:",
            ),
            "A launch for each copy is always right.",
            "copies that do not meet",
        ),
    },
    hints=(
        "Keep, for each block that is written, where its content comes from. What if a later pair "
        "reads such a block? What if it writes one that an earlier pair reads?",
        "A pair whose source was written in this launch reads from where that content comes from. "
        "A pair whose target is still to be read begins a new launch.",
        "launch = {to: from}. For each pair: origin = launch.get(source, source); if origin is "
        "target, nothing is left to do; if target is in launch.values(), close the launch, and in "
        "the next one origin is source again; then launch[target] = origin.",
    ),
    vllm=(
        "csrc/cache_kernels.cu: copy_blocks_kernel, which runs all pairs at once",
        "vllm/worker/cache_engine.py: CacheEngine.copy",
        "vllm/core/block/common.py: CopyOnWriteTracker.clear_cows",
    ),
    needs_triton=True,
)
