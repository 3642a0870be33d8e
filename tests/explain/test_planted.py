"""Trouble that is planted is found, at its place and with its cost; without it nothing is said."""

from collections.abc import Callable

import pytest

import pagesim
from pagesim import v1
from pagesim.explain import copies, groups, holding, preempting, prefix, starving, tier
from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from tests.explain.scenes import Scene, text

Predicate = Callable[[History], list[Finding]]


def only(predicate: Predicate, scene: Scene) -> Finding:
    (finding,) = predicate(scene.history())
    assert finding.title and finding.detail and finding.change
    assert all(0 < step <= len(scene.run) for step in finding.steps)
    assert all(count > 0 for count in finding.cost.values())
    return finding


@pytest.mark.parametrize("length", [157, 20])
def test_a_prompt_that_never_fits_starves_those_behind_it(length: int) -> None:
    scene = Scene(40)
    scene.add("big", text(length))
    scene.add("small", text(3, 500))
    scene.step(5)
    if length == 20:
        return silent(starving.never_fits, scene)
    finding = only(starving.never_fits, scene)
    assert (finding.quirk, finding.requests) == ("w08", ("big", "small"))
    assert finding.cost == {"requests starving": 2, "steps lost": 5}


def silent(predicate: Predicate, scene: Scene) -> None:
    assert predicate(scene.history()) == []


def test_a_request_that_outgrows_the_pool() -> None:
    scene = Scene(4)
    scene.add("a", text(8), max_tokens=20)
    finding = only(starving.never_fits, scene.step(12))
    assert (finding.quirk, finding.requests) == ("w09", ("a",))
    assert finding.cost["requests starving"] == 1
    other = Scene(9)
    other.add("a", text(8), max_tokens=20)
    silent(starving.never_fits, other.step(25))


@pytest.mark.parametrize("blocks", [7, 20])
def test_tokens_computed_twice(blocks: int) -> None:
    scene = Scene(blocks, enable_prefix_caching=False)
    scene.add("a", text(8), max_tokens=12)
    scene.add("b", text(8, 50), max_tokens=12)
    scene.step(40)
    if blocks == 20:
        return silent(preempting.computed_twice, scene)
    finding = only(preempting.computed_twice, scene)
    assert finding.requests == ("b",)
    assert finding.cost == {"tokens recomputed": 12}  # 8 of the prompt, and 4 of 5 it had generated


@pytest.mark.parametrize("blocks", [7, 20])
def test_a_prompt_computed_in_vain(blocks: int) -> None:
    scene = Scene(blocks, enable_prefix_caching=False, long_prefill_token_threshold=1)
    scene.add("a", text(8), max_tokens=20)
    scene.step(1)
    scene.add("b", text(12, 50), max_tokens=4)
    scene.step(12)
    if blocks == 20:
        return silent(preempting.in_vain, scene)
    finding = only(preempting.in_vain, scene)
    assert finding.requests == ("b",) and finding.cost["steps lost"] > 5


@pytest.mark.parametrize("length", [2, 30])
def test_a_step_that_preempts_admits_nobody(length: int) -> None:
    scene = Scene(7, policy="priority")
    scene.add("a", text(8), priority=0)
    scene.add("b", text(12, 50), priority=5)
    scene.step(1)
    scene.add("c", text(length, 90), priority=1)  # it comes before b, and b must go
    scene.step(1)
    if length == 30:
        return silent(preempting.admits_nobody, scene)
    finding = only(preempting.admits_nobody, scene)
    assert (finding.quirk, finding.requests) == ("w12", ("c",))
    assert finding.cost == {"steps lost": 1}


@pytest.mark.parametrize("length", [2, 9])
def test_a_preemption_just_before_there_is_room(length: int) -> None:
    scene = Scene(8, enable_prefix_caching=False)
    scene.add("short", text(4, 90), max_tokens=length)
    scene.add("a", text(8), max_tokens=12)
    scene.add("b", text(12, 50), max_tokens=12)
    scene.step(2)
    if length == 9:
        return silent(preempting.just_before_room, scene)
    finding = only(preempting.just_before_room, scene)
    assert finding.requests == ("b",) and "short" in finding.detail


@pytest.mark.parametrize("share", [0.5, 0.0])
def test_the_watermark_holds_back(share: float) -> None:
    scene = Scene(9, watermark=share)
    scene.add("a", text(12), max_tokens=4)
    scene.add("b", text(12, 50), max_tokens=4)
    scene.step(3)
    if not share:
        return silent(holding.watermark, scene)
    finding = only(holding.watermark, scene)
    assert (finding.quirk, finding.requests, finding.cost) == ("w13", ("b",), {"steps lost": 3})


@pytest.mark.parametrize("seats", [1, 2])
def test_a_seat_is_missing_not_memory(seats: int) -> None:
    scene = Scene(40, max_num_seqs=seats)
    scene.add("a", text(8))
    scene.add("b", text(8, 50))
    scene.step(3)
    if seats == 2:
        return silent(holding.seats, scene)
    finding = only(holding.seats, scene)
    assert (finding.requests, finding.cost) == (("b",), {"steps lost": 3})


@pytest.mark.parametrize("budget", [16, 64])
def test_a_long_prompt_eats_the_budget(budget: int) -> None:
    scene = Scene(40, max_num_batched_tokens=budget)
    scene.add("long", text(40))
    scene.add("b", text(8, 50))
    scene.step(3)
    if budget == 64:
        return silent(holding.budget, scene)
    finding = only(holding.budget, scene)
    assert (finding.requests, finding.cost) == (("b",), {"steps lost": 2})


@pytest.mark.parametrize("threshold", [4, 0])
def test_the_threshold_cuts(threshold: int) -> None:
    scene = Scene(40, long_prefill_token_threshold=threshold)
    scene.add("a", text(12))
    scene.add("b", text(3, 50))
    scene.step(4)
    if not threshold:
        return silent(holding.threshold, scene)
    finding = only(holding.threshold, scene)
    assert (finding.requests, finding.cost) == (("a",), {"steps lost": 2})


@pytest.mark.parametrize("length", [12, 13])
def test_the_last_block_of_a_cached_prompt(length: int) -> None:
    scene = Scene(40)
    for name in "ab":
        scene.add(name, text(length), max_tokens=1)
        scene.step(1)
    if length == 13:
        return silent(prefix.last_block, scene)
    finding = only(prefix.last_block, scene)
    assert (finding.quirk, finding.requests) == ("w04", ("b",))
    assert finding.cost == {"tokens recomputed": 4}


def evicting(num_blocks: int) -> Scene:
    """A prompt of three blocks comes twice; another prompt takes blocks between."""
    scene = Scene(num_blocks)
    scene.add("a", text(13), max_tokens=1)
    scene.step(1)
    scene.add("other", text(13, 50), max_tokens=1)
    scene.step(1)
    scene.add("b", text(13), max_tokens=1)
    return scene.step(1)


def test_a_prefix_that_was_evicted() -> None:
    finding = only(prefix.evicted, evicting(7))
    assert finding.requests == ("b",) and finding.cost["tokens recomputed"] % 4 == 0
    assert "other" in finding.detail
    silent(prefix.evicted, evicting(20))


def test_a_hole_in_a_cached_prefix() -> None:
    scene = Scene(20)
    scene.add("a", text(21), max_tokens=1)
    scene.step(1)
    scene.scheduler.kv_cache_manager.evict_blocks({2})
    scene.add("b", text(21), max_tokens=1)
    finding = only(prefix.hole, scene.step(1))
    assert finding.cost == {"tokens recomputed": 12}  # blocks 2, 3 and 4 of b, behind number 1
    silent(prefix.hole, evicting(20))


@pytest.mark.parametrize("salt", ["mine", None])
def test_a_salt_hides_what_is_cached(salt: str | None) -> None:
    scene = Scene(40)
    scene.add("a", text(13), max_tokens=1)
    scene.step(1)
    scene.add("b", text(13), max_tokens=1, cache_salt=salt)
    scene.step(1)
    if salt is None:
        return silent(prefix.salt, scene)
    finding = only(prefix.salt, scene)
    assert (finding.quirk, finding.requests) == ("w23", ("b",))
    assert finding.cost == {"tokens recomputed": 12}


@pytest.mark.parametrize("common", [11, 8])
def test_prompts_that_part_within_a_block(common: int) -> None:
    scene = Scene(40)
    scene.add("a", text(16), max_tokens=1)
    scene.step(1)
    scene.add("b", text(common) + text(5, 90), max_tokens=1)
    scene.step(1)
    if common == 8:
        return silent(prefix.part_of_a_block, scene)
    finding = only(prefix.part_of_a_block, scene)
    assert (finding.requests, finding.cost) == (("b",), {"tokens recomputed": 3})


@pytest.mark.parametrize("first", [0, 50])
def test_blocks_of_equal_content(first: int) -> None:
    scene = Scene(40)
    scene.add("a", text(8))
    scene.step(1)
    scene.add("b", text(8, first))
    scene.step(2)
    if first:
        return silent(copies.equal, scene)
    finding = only(copies.equal, scene)
    assert (finding.quirk, finding.cost) == ("w06", {"blocks unusable": 1})


@pytest.mark.parametrize("window", [1, None])
def test_a_group_says_no(window: int | None) -> None:
    full = v1.FullAttentionSpec(4)
    other = v1.SlidingWindowSpec(4, sliding_window=window) if window else full
    scene = Scene(40, [full, other], retention_interval=None)
    scene.add("a", text(13), max_tokens=1)
    scene.step(1)
    scene.add("b", text(13), max_tokens=1)
    scene.step(1)
    if not window:
        return silent(groups.shortened, scene)
    finding = only(groups.shortened, scene)
    assert (finding.quirk, finding.requests) == ("g06", ("b",))
    assert finding.cost == {"tokens recomputed": 12}


def test_waiting_for_a_copy() -> None:
    scene = Scene(40, tier=v1.OffloadingConfig(8), enable_prefix_caching=False)
    scene.add("a", text(13), max_tokens=1)
    scene.step(1)
    scene.add("b", text(13), max_tokens=1)
    finding = only(tier.copied, scene.step(2))
    assert (finding.quirk, finding.requests) == ("o01", ("b",))
    assert finding.cost == {"steps lost": 2}
    other = Scene(40, tier=v1.OffloadingConfig(8), enable_prefix_caching=False)
    other.add("a", text(13), max_tokens=1)
    silent(tier.copied, other.step(3))


@pytest.mark.parametrize("chunks", [2, 8])
def test_a_prompt_that_is_never_stored(chunks: int) -> None:
    scene = Scene(40, tier=v1.OffloadingConfig(chunks))
    scene.add("a", text(13), max_tokens=2)
    scene.step(2)
    if chunks == 8:
        return silent(tier.never_stored, scene)
    assert only(tier.never_stored, scene).quirk == "o06"


def test_v0_swaps_a_request_that_never_comes_back() -> None:
    """It is ignored, and its blocks on the CPU stay taken; without swapping none do."""
    for mode, pinned in (("swap", True), (None, False)):
        config = pagesim.SchedulerConfig(64, 4, 64, preemption_mode=mode)
        cache = pagesim.CacheConfig(4, 3, 8, watermark=0.0)
        scheduler = pagesim.Scheduler(config, cache, clock=lambda: 0.0)
        seq = pagesim.Sequence(0, text(10), 4)
        with pagesim.record(scheduler) as run:
            scheduler.add_seq_group(pagesim.SequenceGroup("r0", [seq], 0.0))
            for token in range(8):
                metadata, _, _ = scheduler.schedule()
                for each in metadata:
                    seq.data.update_num_computed_tokens(each.token_chunk_size)
                    seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
        scene = Scene()
        scene.run = run
        assert only(starving.ignored, scene).quirk == "q19"
        assert [each.quirk for each in copies.pinned(scene.history())] == ["q20"] * pinned


def test_a_healthy_run_has_no_findings() -> None:
    scene = Scene(40)
    for at, name in enumerate("abc"):
        scene.add(name, text(9, 100 * at), max_tokens=3)
    assert scene.step(5).found() == []


def test_two_requests_may_have_one_name() -> None:
    scene = Scene(40, enable_prefix_caching=False)
    for _ in range(2):
        scene.add("a", text(9), max_tokens=2)
        scene.step(3)
    assert len(scene.history().requests) == 2
    assert scene.found() == []


def test_what_one_can_act_on_comes_first() -> None:
    scene = Scene(7)
    scene.add("a", text(8), max_tokens=12)
    scene.step(1)
    scene.add("b", text(8), max_tokens=12)
    scene.step(30)
    quirks = [finding.quirk for finding in scene.found()]
    assert len(quirks) > 2 and {"w04", "w06"} == {*quirks[-2:]}
