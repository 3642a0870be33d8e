"""The title of a run that has none says what happens in it: its numbers are those of the states."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pagesim
from pagesim import v1
from pagesim.simulation import Limits
from pagesim.simulation.rows import record_max
from pagesim.timeline import Timeline
from pagesim.timeline.display import packed_for_player
from pagesim.timeline.gist import gist
from pagesim.timeline.seen import Seen
from pagesim.workload import Request
from tests.timeline.runs import recorded
from tests.timeline.scenes import told
from tests.timeline.test_film import READS, Read
from tests.timeline.test_film import story as for_a_film

UNTOLD = gist(pagesim.Story().run)


def numbers(run: Timeline) -> list[int]:
    """The numbers in a run's title; those of names do not count."""
    found = re.findall(r"(?<!\w)\d[\d,]*", gist(run))
    return [int(number.strip(",").replace(",", "")) for number in found]


def names(run: Timeline) -> set[str]:
    """The sequences in a run's title."""
    return {str(name) for name in run.sequences if re.search(rf"\b{name}\b", gist(run))}


def served(policy: str, pool: int = 128, count: int = 4) -> Timeline:
    requests = [Request(f"r{i}", 0.01 * i, 20, 20) for i in range(count)]
    limits = Limits(max_model_len=64)
    done = pagesim.simulate(
        requests, policy=policy, pool=pool, limits=limits, record=True, progress=False
    )
    assert done.timeline is not None
    return done.timeline


def most(run: Timeline, of: Callable[[pagesim.State], int]) -> int:
    return max(of(run.at(i)) for i in range(len(run) + 1))


def on_gpu(state: pagesim.State, each: bool = False) -> int:
    """The blocks of the GPU in tables; ``each`` counts one as often as it is there."""
    size = next(iter(state.pools.values()))
    ids = [block for table in state.tables.values() for block in table.block_ids if block < size]
    held = [block for block in ids if block != state.null_block]
    return len(held) if each else len(set(held))


def saved(state: pagesim.State) -> int:
    """The blocks that sharing saves."""
    return on_gpu(state, each=True) - on_gpu(state)


def samples(count: int, *writes: int) -> Timeline:
    """Samples of one prompt; some of them write."""
    story = pagesim.Story(gpu_blocks=20)
    first = story.arrive("Four score and seven years ago our", name="a")
    writers = [first, *(first.fork(f"b{i}") for i in range(count - 1))]
    for place in writes:
        writers[place].write(f"fathers {place}")
    return story.run


@pytest.mark.parametrize(("policy", "memory"), [("paged", 8), ("v1", 7), ("max", 128)])
def test_requests_share_memory_and_one_loses_its_blocks(policy: str, memory: int) -> None:
    run = served(policy)
    times = len(run.find(kind="preempt"))
    assert numbers(run)[:2] == [4, memory]
    assert (times > 0) == (policy != "max")
    assert times == 0 or numbers(run)[2:] == [times] * (times > 1)


def test_a_request_that_is_swapped_keeps_what_it_has() -> None:
    said = set()
    for mode in ("swap", "recompute"):
        requests = [Request(f"r{i}", 0, 20, 20) for i in range(4)]
        given = {"preemption_mode": mode, "num_cpu_blocks": 16, "pool": 128}
        run = pagesim.simulate(requests, record=True, **given).timeline
        assert run is not None and numbers(run) == [4, 8, len(run.find(kind="preempt"))]
        said.add(gist(run).partition("times")[2])
    assert len(said) == 2


def test_enough_memory_is_told_by_who_runs_and_what_they_hold() -> None:
    run = served("v1", 2048, 10)
    assert numbers(run) == [10, 127, most(run, on_gpu)], "all run at once"
    run = served("token", 2048, 10)
    assert "2,048" in gist(run) and numbers(run)[2:] == [most(run, on_gpu)]
    assert numbers(served("token", count=1)) == [1, most(served("token", count=1), on_gpu), 128]


def test_memory_before_paging_is_reserved() -> None:
    for policy in ("max", "static"):
        run = served(policy, count=10)
        running = most(run, lambda state: len(state.queues.running))
        assert numbers(run) == [10, 128, 64, running]
    requests = [Request(f"r{i}", 0, 20, 5 + 30 * i) for i in range(2)]
    run = pagesim.simulate(requests, policy="oracle", pool=256, record=True).timeline
    assert run is not None and numbers(run) == [2, 256, 32, 64], "all run at once"
    run = record_max(requests, pool=160, max_model_len=64, unit=4).timeline
    assert numbers(run) == [2, 160, 64], "of slots, though the picture has units of 4"


def test_sharing_is_told_as_of_the_state_in_which_it_saves_most() -> None:
    run = samples(3)
    best = most(run, saved)
    assert numbers(run) == [best, 3, 2, 2 + best] == [4, 3, 2, 6]
    assert Seen(run).held.most == most(run, on_gpu) == 2
    story = pagesim.Story()
    twin = story.arrive(range(8)).fork()
    assert numbers(story.run) == [2, 2, 2, 4]
    twin.leave()
    assert numbers(story.run) == [2, 2, 2, 4], "it was so"


@pytest.mark.parametrize("kind", ["manager-caching", "tables-naive", "groups", "offload"])
def test_what_is_held_is_what_the_states_say(kind: str) -> None:
    run = recorded(kind, 6, 60)
    for part in (run, run[len(run) // 2 :]):
        held = Seen(part).held
        assert held.most == most(part, on_gpu)
        assert held.saved == most(part, saved)
        assert len(gist(part)) <= 75


def test_a_block_is_copied_because_it_is_shared() -> None:
    run = samples(2, 1)
    assert len(run.find(kind="copy")) == 1
    requests = [Request(f"r{i}", 0, 20, 20) for i in range(2)]
    several = pagesim.simulate(requests, samples=2, pool=512, record=True).timeline
    assert several is not None
    assert numbers(several) == [2, 32, len(several.find(kind="copy"))] == [2, 32, 2]
    assert names(run) == {"a", "b0"} and not numbers(run)
    run = samples(4, 0, 1, 2, 3)
    assert numbers(run) == [most(run, saved), len(run.find(kind="copy"))] == [6, 3]
    assert names(samples(3, 0)) == {"a"}, "the others still share it"


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_blocks_are_found_in_the_cache(engine: str) -> None:
    prompt = "You are a helpful assistant who answers briefly"
    story = pagesim.Story(caching=True, engine=engine)
    story.arrive(f"{prompt} now and well please", name="first").leave()
    second = story.arrive(f"{prompt} now", name="second")
    assert names(story.run) == {"second"}
    assert numbers(story.run) == [second.num_cached_tokens // 4, len(second.block_ids)] == [2, 3]
    second.write("and well please")
    assert numbers(story.run) == [2, 3], "in V0 it uses the first's last block instead of its own"
    story.arrive(prompt, name="third")
    assert numbers(story.run) == [2, 3]


def test_requests_find_blocks_on_both_tiers() -> None:
    scheduler = v1.Scheduler(
        v1.SchedulerConfig(64, 8, 64), v1.CacheConfig(4, 9), v1.OffloadingConfig(16)
    )
    prompts = {1: range(9), 3: range(9), 5: range(100, 132), 7: range(9)}
    arrivals = {
        step: [v1.Request(f"r{step}", prompt, block_size=4, max_tokens=1)]
        for step, prompt in prompts.items()
    }
    with pagesim.record(scheduler) as run:
        v1.serve(scheduler, arrivals)
    assert numbers(run) == [4, 8]
    piece = run[: run.find(kind="load")[0]]
    assert numbers(piece) == [4, 8, 1] and gist(piece) != gist(run), "it has found them on the GPU"


def test_a_lookup_in_groups_is_counted_by_groups() -> None:
    groups = [v1.FullAttentionSpec(4), v1.SlidingWindowSpec(4, sliding_window=5)]
    manager = v1.KVCacheManager(9, groups=groups)
    with pagesim.record(manager) as run:
        manager.get_computed_blocks(v1.Request("new", range(9), block_size=4))
    assert numbers(run) == [2]


def test_a_sequence_waits_on_the_cpu_while_another_one_writes() -> None:
    story = pagesim.Story(cpu_blocks=4)
    alice, ishmael = story.arrive("Alice was", name="alice"), story.arrive("Call me", name="call")
    ishmael.swap_out()
    assert names(story.run) == {"call"}
    ishmael.swap_in()
    back = gist(story.run)
    alice.write("beginning")
    assert gist(story.run) == back, "not while it waited"
    ishmael.swap_out()
    alice.write("to")
    assert names(story.run) == {"call", "alice"}
    story = pagesim.Story(cpu_blocks=4)
    alice, ishmael = story.arrive("Alice was", name="alice"), story.arrive("Call me", name="call")
    ishmael.swap_out()
    ishmael.leave()
    alice.write("beginning")
    assert names(story.run) == {"call"}, "it has left before"


def test_a_film_says_how_the_blocks_are_read() -> None:
    run = for_a_film().run
    film = run.film(READS)
    across = run.film([*READS, Read((0, 0), 3, 0, 2, 0, [1, 2], [1, 1], 1, 1, 1)])
    several = run.film([*READS, Read((1, 0), 1, 0, 1, 0, [0, 1], [1, 1], 1, 1, 1)])
    parts = run.film([*READS, Read((0, 0), 3, 0, 2, 0, [], [], 1, 1, 1)])
    said = {gist(each) for each in (run, film, across, several, parts)}
    assert len(said) == 5 and all("s0" in each for each in said)


@pytest.mark.parametrize("other", [("window", 5), "state"])
def test_a_window_passes_blocks_and_a_state_does_not(other: tuple[str, int] | str) -> None:
    story = pagesim.Story(engine="v1", groups=["full", other], gpu_blocks=12, caching=True)
    alice = story.arrive(range(4), name="alice")
    assert "alice" in gist(story.run) and numbers(story.run) == [2, 11]
    alice.write(range(9))
    held = [] if other != "state" else [most(story.run, on_gpu), 11]
    assert "alice" in gist(story.run) and numbers(story.run) == held


def test_a_run_that_asks_does_not_answer() -> None:
    run = told(range(5))
    assert numbers(run) == [2, 8]
    asks = pagesim.Question(at=0, ask="which?", answer="taken")
    assert gist(run.annotate(questions=[asks])) == UNTOLD
    assert not numbers(run) and packed_for_player(run.annotate(title="mine"), None)[1] == "mine"
    assert packed_for_player(run, "of this page")[1] == "of this page"


def test_long_names_and_many_sequences_are_counted() -> None:
    run = told(*([i] for i in range(5)))
    assert numbers(run) == [5, 5, 8]
    story = pagesim.Story()
    story.arrive("Alice", name="a" * 9000)
    assert len(gist(story.run)) < 75


def test_a_part_of_a_run_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    run = samples(3, 0, 1)
    whole = gist(run)
    assert gist(run[:3]) == gist(samples(3)) != whole
    assert numbers(run[len(run) :])[0] == saved(run.at(-1)), "it begins with tables"
    run.save(tmp_path / "run.jsonl")
    assert gist(pagesim.load(tmp_path / "run.jsonl")) == whole
    requests = [Request(f"r{i}", 0.01 * i, 20, 30) for i in range(4)]
    few = Limits(max_model_len=64)
    long = pagesim.simulate(
        requests, policy="v1", pool=144, block_size=4, limits=few, record=True
    ).timeline
    assert long is not None
    piece = long[long.find(kind="preempt")[-1] + 1 :]
    assert piece.find(kind="hit"), "a request that was preempted finds its own blocks"
    assert numbers(piece)[-1] == most(piece, on_gpu)
