"""A story of a hybrid model: tables in several groups, taken from one pool."""

import random
from collections.abc import Callable

import pytest

import pagesim
from pagesim.story import Story
from pagesim.v1 import FullAttentionSpec, MambaSpec, SlidingWindowSpec

GROUPS: list[list[object]] = [
    ["full", ("window", 6)],
    [("window", 3), "full", ("window", 9), ("window", 14)],
    ["full", SlidingWindowSpec(8, sliding_window=10)],
    ["full", "state"],
    ["full", ("state", 8), ("window", 5)],
    [
        "full",
        MambaSpec(
            4,
            mamba_cache_mode="align",
            num_prefill_checkpoint_blocks=1,
            prefill_checkpoint_alignment=1,
        ),
    ],
]


def hybrid(*groups: object, **options: object) -> Story:
    """A story of these groups, with a cache."""
    return Story(40, block_size=4, caching=True, engine="v1", groups=groups, **options)  # type: ignore[arg-type]


def test_a_request_has_a_table_in_each_group() -> None:
    story = hybrid("full", ("window", 6))
    one = story.arrive(range(18), "a")
    assert one.tables == ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    assert one.block_ids == one.tables[0]
    assert repr(one).endswith("18 tokens in blocks [1, 2, 3, 4, 5] and [6, 7, 8, 9, 10])")
    one.write("b")
    assert one.tables[1] == [0, 0, 0, 9, 10]
    assert list(story.run.at(-1).tables) == ["a@0", "a@1"]
    assert story.run.at(-1).tables["a@1"].fill == (0, 0, 0, 4, 3)
    two = story.arrive(range(18), "b")
    assert two.num_cached_tokens == 16
    assert two.tables == ([1, 2, 3, 4, 7], [0, 0, 8, 9, 6])
    one.leave()
    assert one.tables == () and one.block_ids == []
    assert [event.kind for event in story.run] == [
        *("get_computed_blocks", "allocate_slots", "allocate_slots"),
        *("get_computed_blocks", "allocate_slots", "free"),
    ]


def test_a_batch_has_the_tables_of_each_group() -> None:
    story = hybrid("full", ("window", 6))
    one = story.arrive(range(18), "a")
    story.batch()
    one.write([7])
    batch = story.batch()
    (other,) = batch.others
    assert batch.block_tables.tolist() == [one.tables[0]]
    assert other.block_tables.tolist() == [[block or -1 for block in one.tables[1]]]
    assert other.slot_mapping.tolist() == [4 * one.tables[1][4] + 2]
    assert one.num_uncomputed == 0


def test_the_last_state_of_a_prompt_is_kept_and_found() -> None:
    story = hybrid("full", "state")
    one = story.arrive(range(18), "a")
    assert [len(event.tables) for event in story.run][1:] == [2, 2]
    assert one.tables[1][:3] == [0, 0, 0] and 0 not in one.tables[1][3:]
    assert story.run.at(-1).tables["a@1"].fill == (0,) * 5
    assert story.arrive(range(18), "b").num_cached_tokens == 16
    assert story.arrive(range(15), "c").num_cached_tokens == 0
    one.write(range(18, 31), at_once=True)
    assert sum(map(bool, one.tables[1])) == 2
    # What is written behind a prompt is not kept for others by default.
    assert story.arrive(range(31)).num_cached_tokens == 16


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("blocks", [16, 30])
def test_a_call_that_finds_no_block_changes_nothing(groups: list[object], blocks: int) -> None:
    """Whatever is asked, also in two steps; and the run is what the manager says."""
    rng, full, done = random.Random(blocks), 0, 0
    story = Story(blocks, block_size=4, caching=True, engine="v1", groups=groups)  # type: ignore[arg-type]
    for _ in range(150):
        one = rng.choice([None, *story.writers])
        before = story.manager.state(), [writer.token_ids for writer in story.writers]
        try:
            if one is None:
                story.arrive([*range(rng.randrange(1, 22)), rng.randrange(3)])
            elif rng.random() < 0.25:
                one.leave()
            else:
                count = rng.choice([1, 1, 1, 7])
                tokens = [rng.randrange(2) for _ in range(count)]
                one.write(tokens, at_once=True, lookahead=rng.choice([0, 0, 3]))
            done += 1
        except pagesim.NoFreeBlocksError:
            full += 1
            after = story.manager.state(), [writer.token_ids for writer in story.writers]
            assert after[1] == before[1]
            assert len(after[0].tables) == len(before[0].tables)
            behind = [sum(map(bool, t.block_ids)) for t in before[0].tables.values()]
            now = [sum(map(bool, t.block_ids)) for t in after[0].tables.values()]
            assert all(a <= b for a, b in zip(now, behind, strict=True))
        assert story.run.at(-1) == story.manager.state()
        for writer in story.writers:
            assert writer.seq.num_computed_tokens == writer.seq.num_tokens
            for table, spec in zip(writer.tables, story.manager.kv_cache_groups, strict=True):
                assert len(table) * spec.block_size >= writer.seq.num_tokens
    assert done > 60 and (full > 3 or blocks == 30)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: Story(groups=["full", "state"]), "give groups with engine='v1'"),
        (lambda: hybrid("full", "window"), r'groups\[1\] must be "full", \("window", 128\)'),
        (lambda: hybrid("full", ("window", 0)), r"the window of groups\[1\] must be"),
        (lambda: hybrid("full", ("full", 3)), r"groups\[1\] must be"),
        (lambda: hybrid("full", 7), r"groups\[1\] must be .* not 7"),
        (lambda: hybrid("full", ("window", 8), sliding_window=3), "a window of its own"),
        (lambda: Story(engine="v1", groups=FullAttentionSpec(4)), "groups must be a list"),
        (lambda: Story(engine="v1", groups="full,half"), "'half' in groups is no group"),
        (lambda: Story(engine="v1", groups="full, state"), "'state' in groups is a state: without"),
        (lambda: hybrid("full", "window:x"), r"groups\[1\]: a window has a number"),
        (lambda: Story(engine="v1", groups=["full", "state"]), "is a state: without caching=True"),
        (lambda: hybrid("full", "state").arrive([1]).fork(), "V1 has no forks"),
        (lambda: Story(engine="v1", groups=5), "groups must be a list of groups, not 5"),  # type: ignore[arg-type]
        (
            lambda: Story(10**20, engine="v1", groups=["full", "full"]),
            "100000000000000000000 blocks",
        ),
    ],
)
def test_what_is_refused(call: Callable[[], object], why: str) -> None:
    with pytest.raises(pagesim.UsageError, match=why):
        call()


def test_two_names_that_are_one_in_a_run() -> None:
    story = hybrid("full", "state")
    story.arrive([1], 7)
    refused_names = [writer.name for writer in story.writers]
    with pytest.raises(pagesim.UsageError, match="requests 7 and '7' cannot be recorded together"):
        story.arrive([1, 2], "7")
    assert [writer.name for writer in story.writers] == refused_names
    assert story.run.at(-1) == story.manager.state()


def test_a_text_and_a_list_say_the_same() -> None:
    tables = []
    for groups in ("full,window:5*2", ["full", ("window", 5), "window:5"]):
        story = Story(engine="v1", gpu_blocks=30, groups=groups)
        writer = story.arrive(range(9))
        tables.append(writer.tables)
    assert tables[0] == tables[1] and len(tables[0]) == 3
