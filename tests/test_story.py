"""A story: prompts arrive, words are written, sequences fork, swap and leave, and it is told."""

import random
from typing import Any

import pytest

import pagesim
from pagesim.story import Story, Writer
from tests.v0.block.state import everything


def test_words_become_tokens_and_are_shown_again() -> None:
    story = Story(gpu_blocks=12, block_size=4)
    alice = story.arrive("Alice was beginning to get", name="alice")
    assert alice.write("very tired") == []
    hatter = story.arrive("was Alice tired")
    assert (alice.token_ids, hatter.token_ids) == ([0, 1, 2, 3, 4, 5, 6], [1, 0, 6])
    assert (alice.block_ids, hatter.block_ids) == ([0, 1], [2])
    assert [(event.kind, event.subject) for event in story.run] == [
        *(("allocate", "alice"), ("append_slots", "alice"), ("append_slots", "alice")),
        ("allocate", 1),
    ]
    assert story.run.notes.tokens[6] == "tired"
    assert list(story.run.at(-1).tables) == ["alice", 1]
    assert repr(alice) == "Writer('alice', 7 tokens in blocks [0, 1])"


def test_a_fork_shares_until_one_of_them_writes() -> None:
    story = Story(gpu_blocks=12, block_size=4)
    one = story.arrive(range(6))
    two = one.fork("two")
    assert one.block_ids == two.block_ids == [0, 1]
    assert two.write([7]) == [(1, 2)]
    assert (one.block_ids, two.block_ids) == ([0, 1], [0, 2])
    assert one.write([8, 9, 10]) == [] and one.block_ids == [0, 1, 3]
    one.leave()
    assert story.writers == [two] and one.block_ids == [] and not one.is_here
    assert story.manager.get_num_free_gpu_blocks() == 10


def test_to_the_cpu_and_back_with_the_forks() -> None:
    story = Story(gpu_blocks=4, cpu_blocks=4, block_size=4)
    one = story.arrive(range(6))
    two = one.fork()
    assert two.swap_out() == [(0, 0), (1, 1), (0, 2), (1, 3)]
    assert (one.block_ids, two.block_ids) == ([4, 5], [6, 7])
    assert len(one.swap_in()) == 4
    two.write([7])
    assert story.run.find(kind="move") == [2, 3]


def test_at_once_and_lookahead() -> None:
    story = Story(gpu_blocks=4, block_size=4)
    one = story.arrive([1])
    one.write([2, 3, 4, 5], at_once=True)
    one.write(lookahead=4)
    assert len(story.run) == 3 and one.block_ids == [0, 1, 2]


def test_the_ids_are_given_or_free() -> None:
    story = Story()
    assert [story.arrive([1], name).seq.seq_id for name in (None, 7, "x", None)] == [0, 7, 8, 9]
    assert story.writers[0].fork().seq.seq_id == 10
    assert story.writers[0].fork(3).seq.seq_id == 3


def test_a_name_is_for_one_at_a_time() -> None:
    story = Story()
    first = story.arrive([1], "a")
    before = everything(story.manager)
    for again in (lambda: story.arrive([2], "a"), lambda: first.fork("a"), lambda: first.fork(0)):
        with pytest.raises(pagesim.UsageError):
            again()
        assert everything(story.manager) == before and story.writers == [first]
    for name in (True, 1.5, "\ud800"):
        with pytest.raises(TypeError):
            story.arrive([2], name)  # type: ignore[arg-type]
    first.leave()
    assert story.arrive([2], "a").name == "a"


def test_a_call_that_finds_no_block_changes_nothing() -> None:
    story = Story(gpu_blocks=2, block_size=4)
    one = story.arrive(range(4))
    story.arrive(range(4))
    before = everything(story.manager), one.token_ids
    for call in (lambda: one.write([7]), lambda: story.arrive([1])):
        with pytest.raises(pagesim.NoFreeBlocksError):
            call()
        assert (everything(story.manager), one.token_ids) == before
        assert len(story.writers) == 2 and story.run[-1].kind == "failed"


@pytest.mark.parametrize("record", [True, False])
def test_who_found_no_block_is_named_and_where_to_look(record: bool) -> None:
    story = Story(gpu_blocks=3, cpu_blocks=1, block_size=4, record=record)
    one, two = story.arrive(range(8)), story.arrive(range(4), "bob")
    for call, what in (
        (lambda: story.arrive([1]), "s2 cannot arrive: no free block: all 3 of this pool"),
        (lambda: one.write([7]), "s0 cannot write: "),
        (lambda: two.write([7]), "'bob' cannot write: "),
        (one.swap_out, "s0 cannot swap out: "),
    ):
        with pytest.raises(pagesim.NoFreeBlocksError) as refused:
            call()
        assert str(refused.value).startswith(what)
        assert ("`run`" in str(refused.value)) == record
    two.swap_out()
    one.write([7])
    with pytest.raises(pagesim.NoFreeBlocksError, match="'bob' cannot swap in: "):
        two.swap_in()


def test_what_cannot_be_done_is_said() -> None:
    story = Story(gpu_blocks=4, cpu_blocks=4)
    one = story.arrive([1], "a")
    with pytest.raises(pagesim.UsageError, match="'a' is running: it cannot swap in"):
        one.swap_in()
    one.swap_out()
    for call, what in ((one.write, "write"), (one.fork, "fork"), (one.swap_out, "swap out")):
        with pytest.raises(pagesim.UsageError, match=f"'a' is on the CPU: it cannot {what}"):
            call()
    one.leave()
    with pytest.raises(pagesim.UsageError, match="'a' has left: it cannot write"):
        one.write([1])
    with pytest.raises(TypeError):
        story.arrive([1.5])  # type: ignore[list-item]


class Memory:
    """Keys and values as the tokens that they stand for: slot → a token and all before it."""

    def __init__(self, story: Story) -> None:
        self.story, self.size = story, story.manager.block_size
        self.gpu: dict[int, tuple[int, ...]] = {}
        self.cpu: dict[int, tuple[int, ...]] = {}

    def move(self, pairs: list[tuple[int, int]], source: Any, target: Any) -> None:
        blocks = [[source.get(a * self.size + i) for i in range(self.size)] for a, _ in pairs]
        for (_, b), values in zip(pairs, blocks, strict=True):
            target.update({b * self.size + i: value for i, value in enumerate(values)})

    def step(self) -> None:
        """Let the model compute a step; then all running sequences read what they wrote."""
        batch = self.story.batch()
        tokens = {writer.seq.seq_id: writer.token_ids for writer in self.story.writers}
        starts = batch.query_start_loc.tolist()
        for i, seq_id in enumerate(batch.seq_ids):
            for k in range(starts[i], starts[i + 1]):
                position = int(batch.input_positions[k])
                assert int(batch.input_tokens[k]) == tokens[seq_id][position]
                self.gpu[int(batch.slot_mapping[k])] = tuple(tokens[seq_id][: position + 1])
        for writer in self.story.writers:
            if writer.seq.status is pagesim.SequenceStatus.RUNNING:
                self.check(writer)

    def check(self, writer: Writer) -> None:
        assert writer.num_uncomputed == 0
        for position in range(len(writer.token_ids)):
            block = writer.block_ids[position // self.size]
            held = self.gpu[block * self.size + position % self.size]
            assert held == tuple(writer.token_ids[: position + 1]), (writer, position)


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_every_batch_writes_where_it_will_be_read(caching: bool, seed: int) -> None:
    rng = random.Random(seed)
    story = Story(gpu_blocks=20, cpu_blocks=20, block_size=2, caching=caching)
    memory, done = Memory(story), dict.fromkeys(["arrive", "write", "fork", "swap", "leave"], 0)
    for _ in range(120):
        what = rng.choice(["arrive", *["write"] * 4, "fork", "swap", "leave"])
        if not story.writers:
            what = "arrive"
        one = rng.choice(story.writers) if story.writers else None
        try:
            if what == "arrive" or one is None:
                story.arrive([*range(1, rng.randrange(1, 6)), rng.randrange(3)])
            elif what == "leave":
                one.leave()
            elif one.seq.status is pagesim.SequenceStatus.SWAPPED:
                memory.move(one.swap_in(), memory.cpu, memory.gpu)
            elif what == "write":
                tokens = [rng.randrange(2) for _ in range(rng.randrange(1, 4))]
                memory.move(one.write(tokens, at_once=True), memory.gpu, memory.gpu)
            elif what == "fork":
                one.fork()
            else:
                memory.move(one.swap_out(), memory.gpu, memory.cpu)
        except pagesim.NoFreeBlocksError:
            continue
        done[what] += 1
        memory.step()
    assert min(done.values()) > 2, done
    assert story.run.at(-1).num_blocks == 40 and len(story.run) > 100


def test_prefills_come_first_and_cached_tokens_are_left_out() -> None:
    story = Story(gpu_blocks=12, block_size=4, caching=True)
    one = story.arrive(range(9))
    assert story.batch().num_prefill_tokens == 9
    one.write([9])
    story.arrive([*range(8), 20])
    batch = story.batch()
    assert (batch.seq_ids, batch.num_prefills) == ([1, 0], 1)
    assert batch.input_tokens.tolist() == [20, 9]
    assert batch.context_lens.tolist() == [8, 9] and batch.seq_lens.tolist() == [9, 10]
    assert story.batch().seq_ids == []
