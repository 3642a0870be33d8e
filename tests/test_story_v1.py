"""The same story on V1: what it shares, what it finds, and what it does not have."""

import random
from typing import Any

import pytest

import pagesim
from pagesim.errors import UnsupportedError
from pagesim.story import Story
from tests.v1.world import check, everything

pytestmark = pytest.mark.ch09


def story_on(engine: str) -> Story:
    story = Story(gpu_blocks=12, block_size=4, caching=True, engine=engine)
    alice = story.arrive("Alice was beginning to get very tired of", name="alice")
    alice.write("sitting by")
    story.batch()
    story.arrive("Alice was beginning to get very tired indeed")
    alice.leave()
    return story


def test_one_story_on_both_engines() -> None:
    old, new = story_on("v0"), story_on("v1")
    assert old.words == new.words and len(new.words) == 11
    assert old.run.sequences == new.run.sequences == ["alice", 1]
    assert old.run.notes.tokens == new.run.notes.tokens
    assert [event.kind for event in new.run] == [*["allocate_slots"] * 4, "free"]
    assert old.writers[0].block_ids == [0, 3] and new.writers[0].block_ids == [1, 4]
    assert new.run.at(-1).lists["free queue"][-1] == 2  # still cached
    assert repr(new.writers[0]) == "Writer(1, 8 tokens in blocks [1, 4])"
    assert pagesim.compare(old.run, new.run)._repr_html_()


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_what_was_found_in_the_cache(engine: str) -> None:
    story = Story(block_size=4, caching=True, engine=engine)
    first = story.arrive(range(9))
    story.batch()
    second = story.arrive(range(12))
    assert (first.num_cached_tokens, second.num_cached_tokens) == (0, 8)
    assert second.num_uncomputed == (4 if engine == "v1" else 12)
    batch = story.batch()
    assert (batch.seq_ids, batch.context_lens.tolist()) == ([1], [8])
    assert batch.sample_ids == [1] and second.num_uncomputed == 0
    # At least one token is computed, so the last block does not count even if it is full.
    assert story.arrive(range(8)).num_cached_tokens == 4
    assert Story(engine=engine).arrive(range(9)).num_cached_tokens == 0


def test_what_v1_does_not_have() -> None:
    story = Story(engine="v1")
    one = story.arrive([1, 2], "a")
    before = everything(story.manager)
    for call, why in (
        (one.fork, "V1 has no forks and copies no blocks: .* Let it arrive again"),
        (one.swap_out, "V1 has no swapping: a preempted request is computed again"),
        (one.swap_in, "V1 has no swapping"),
        (lambda: one.group, "V1 has no sequence groups"),
        (lambda: Story(cpu_blocks=4, engine="v1"), "cpu_blocks must be 0, not 4: V1 has no swap"),
        (lambda: one.write(lookahead=2), "V1 reserves lookahead slots behind new tokens"),
        (lambda: Story(engine="v2"), "engine must be 'v0' or 'v1', not 'v2'"),
    ):
        with pytest.raises(pagesim.UsageError, match=why):
            call()
    assert issubclass(UnsupportedError, pagesim.UsageError)
    assert everything(story.manager) == before and story.writers == [one]


def test_a_name_is_an_id_and_for_one_at_a_time() -> None:
    story = Story(engine="v1")
    names = ("a", None, 7, None)
    assert [story.arrive([1], name).seq.request_id for name in names] == ["a", 1, 7, 8]
    for name in ("a", 7):
        with pytest.raises(pagesim.UsageError, match=f"{name!r} is already in use"):
            story.arrive([2], name)
    gone = story.writers[0]
    gone.leave()
    with pytest.raises(pagesim.UsageError, match="'a' has left: it cannot write"):
        gone.write([1])
    assert story.arrive([2], "a").name == "a" and gone.block_ids == []


def test_a_call_that_finds_no_block_changes_nothing() -> None:
    story = Story(gpu_blocks=3, block_size=4, caching=True, engine="v1")
    one = story.arrive(range(3))
    story.arrive(range(10, 14))
    one.write([3])
    before = everything(story.manager), one.token_ids, list(one.seq.block_hashes)
    for call in (
        lambda: one.write([7]),
        lambda: one.write(range(7, 13), at_once=True),
        lambda: story.arrive([1]),
    ):
        with pytest.raises(pagesim.NoFreeBlocksError, match=r"no room for .*: 0 blocks of 4 slots"):
            call()
        assert (everything(story.manager), one.token_ids, list(one.seq.block_hashes)) == before
        assert len(story.writers) == 2 and story.run[-1].kind == "failed"
    story.writers[1].leave()
    assert one.write([7, 8, 9, 10]) == [] and len(one.seq.block_hashes) == 2


def test_a_watermark_holds_back_the_second() -> None:
    story = Story(gpu_blocks=8, block_size=4, watermark=0.5, engine="v1")
    story.arrive(range(16))
    with pytest.raises(pagesim.NoFreeBlocksError, match="no room for 4 tokens of 1: 3 blocks"):
        story.arrive(range(4))


def test_lookahead_is_reserved_behind_the_token() -> None:
    story = Story(gpu_blocks=5, block_size=4, engine="v1")
    one = story.arrive([1])
    one.write([2, 3], lookahead=2)
    assert one.block_ids == [1, 2]
    assert one.write() == []


def test_a_window_drops_what_is_behind_it() -> None:
    story = Story(gpu_blocks=8, block_size=2, sliding_window=3, engine="v1")
    one = story.arrive(range(5))
    story.batch()
    one.write([5])
    assert one.block_ids == [0, 2, 3]
    assert story.batch().block_tables.tolist() == [[-1, 2, 3]]
    one.write([6, 7, 8])
    with pytest.raises(pagesim.UsageError, match="token 6, which attends to token 4, but"):
        story.batch()


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("seed", range(6))
def test_every_batch_writes_where_it_will_be_read(window: int | None, seed: int) -> None:
    rng = random.Random(seed)
    pool = 8 if window else 16
    story = Story(pool, block_size=2, caching=True, sliding_window=window, engine="v1")
    held: dict[int, tuple[int, ...]] = {}
    done, hits = dict.fromkeys(["arrive", "write", "leave", "full"], 0), 0
    for _ in range(160):
        what = rng.choice(["arrive", *["write"] * 4, "leave"]) if story.writers else "arrive"
        one: Any = rng.choice(story.writers) if story.writers else None
        try:
            if what == "arrive":
                made = story.arrive([*range(1, rng.randrange(1, 9)), rng.randrange(3)])
                hits += made.num_cached_tokens
            elif what == "leave":
                one.leave()
            else:
                one.write([rng.randrange(2) for _ in range(rng.randrange(1, 3))], at_once=True)
        except pagesim.NoFreeBlocksError:
            what = "full"
        done[what] += 1
        check(story.manager)
        tokens = {writer.seq.request_id: writer.token_ids for writer in story.writers}
        batch = story.batch()
        starts = batch.query_start_loc.tolist()
        for i, name in enumerate(batch.seq_ids):
            positions = batch.input_positions[starts[i] : starts[i + 1]].tolist()
            slots = batch.slot_mapping[starts[i] : starts[i + 1]].tolist()
            for position, slot in zip(positions, slots, strict=True):
                held[slot] = tuple(tokens[name][: position + 1])
        for i, name in enumerate(batch.seq_ids):
            for query in batch.input_positions[starts[i] : starts[i + 1]].tolist():
                for position in range(max(0, query - (window or 99) + 1), query + 1):
                    block = int(batch.block_tables[i][position // 2])
                    assert held[2 * block + position % 2] == tuple(tokens[name][: position + 1])
    assert min(done.values()) > 2 and hits > 20, (done, hits)


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_without_a_recording_nothing_listens(engine: str) -> None:
    story = Story(record=False, engine=engine)
    story.arrive("a b c").write("b d")
    assert story.words == {0: "a", 1: "b", 2: "c", 3: "d"}
    with pytest.raises(pagesim.UsageError, match="make it with record=True"):
        story.run  # noqa: B018
    with pagesim.record(story.manager) as run:
        story.writers[0].leave()
    assert len(run) == 1
