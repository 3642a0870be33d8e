"""Several groups of layers: where the places are, what a step reads, who starves, what is lost."""

import random
from collections.abc import Iterator
from math import lcm
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import Limits, Outcomes, PagedV1, Roofline, simulate
from pagesim.simulation.groups import blocks_of, names_of
from pagesim.simulation.paged_v1_groups import PagedV1GroupsServer
from pagesim.simulation.serving import Step, steps
from pagesim.simulation.waste import CACHED_PARTS, WasteLog
from pagesim.simulation.waste_groups import GROUP_PARTS
from pagesim.sizing import ModelSpec
from pagesim.v1 import (
    CacheConfig,
    FullAttentionSpec,
    MambaSpec,
    SchedulerConfig,
    SlidingWindowSpec,
)
from pagesim.v1.group_words import parse_groups
from pagesim.workload import Request, sharegpt_like
from tests.simulation.test_what_a_step_costs import some_requests

LONGEST = 48


class Watched(PagedV1GroupsServer):
    """Holds every step against the positions that the requests have, one by one."""

    def __init__(self, *configs: Any) -> None:
        super().__init__(*configs)
        self.seen = {"behind": 0, "internal": 0, "shared": 0, "lost": 0, "states": 0, "steps": 0}

    def schedule(self, clock: float) -> Step | None:
        step = super().schedule(clock)
        if step is not None and step.usage is not None:
            self.check_places(step)
            self.check_read(step)
            self.seen["lost"] += sum(tokens for _, tokens in step.lost)
            self.seen["steps"] += 1
        return step

    def check_places(self, step: Step) -> None:
        pool, places = self.scheduler.kv_cache_manager.block_pool, self.scheduler.cache_config
        size_of_all, total = places.block_size, 0
        held = self.held[-len(GROUP_PARTS) * len(self._specs) :].tolist()
        assert step.usage is not None
        for group, spec in enumerate(self._specs):
            token, internal, behind = held[3 * group : 3 * group + 3]
            units = size_of_all // spec.block_size
            owned: dict[int, set[int]] = {}
            read: dict[int, set[int]] = {}
            for r in self.scheduler.running:
                table = self.tables_of(group)[r.request_id]
                start = r.num_computed_tokens - self._now[0].num_scheduled_tokens.get(
                    r.request_id, 0
                )
                first = 0
                if isinstance(spec, SlidingWindowSpec):
                    first = max(start - spec.sliding_window + 1, 0)
                for index, block in enumerate(table):
                    if not block:
                        continue
                    self.seen["shared"] += block in owned
                    where = range(index * spec.block_size, (index + 1) * spec.block_size)
                    known = [p for p in where if p < r.num_computed_tokens]
                    owned.setdefault(block, set()).update(p % spec.block_size for p in known)
                    read.setdefault(block, set()).update(
                        p % spec.block_size for p in known if p >= first
                    )
            if isinstance(spec, MambaSpec):
                assert (token, internal, behind) == (len(owned) * size_of_all, 0, 0)
                self.seen["states"] += len(owned)
            else:
                written = sum(map(len, owned.values()))
                is_read = sum(map(len, read.values()))
                assert token == is_read * units
                assert behind == (written - is_read) * units
                assert internal == (len(owned) * spec.block_size - written) * units
            self.seen["behind"] += behind
            self.seen["internal"] += internal
            total += len(owned)
        assert total == pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
        assert step.usage[0] + step.usage[2] == total * size_of_all == sum(held)
        assert step.usage[2] == sum(held[1::3])

    def check_read(self, step: Step) -> None:
        """What the layers read of each group's blocks, in bytes of a place."""
        read = 0
        for spec, layers in zip(self._specs, self.layers, strict=True):
            units = self.scheduler.cache_config.block_size // spec.block_size
            for part in self._now[1]:
                if isinstance(spec, MambaSpec):
                    read += layers * self.scheduler.cache_config.block_size * (part.start > 0)
                    continue
                window = getattr(spec, "sliding_window", None) or 10**6
                last = min(part.end, window) if part.decodes else min(part.start, window - 1)
                read += layers * units * last
        assert step.read == round(read / self._slot)


def some_groups(r: random.Random) -> list[Any]:
    kind = r.choice(["windows", "sizes", "states", "alike"])
    size = r.choice([1, 2, 4])
    if kind == "windows":
        return [FullAttentionSpec(size), *[SlidingWindowSpec(size, sliding_window=5)] * 2]
    if kind == "sizes":
        return [SlidingWindowSpec(2 * size, sliding_window=9), FullAttentionSpec(size)]
    if kind == "states":
        return [FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")]
    return [FullAttentionSpec(size)] * 2


def some_case(r: random.Random) -> tuple[SchedulerConfig, CacheConfig, list[Request]]:
    groups = some_groups(r)
    states = isinstance(groups[-1], MambaSpec)
    chunks = states or r.random() < 0.8
    scheduler = SchedulerConfig(
        r.choice([8, 16, 60]) if chunks else 60,
        r.choice([1, 2, 4, 8]),
        LONGEST,
        enable_chunked_prefill=chunks,
        long_prefill_token_threshold=r.choice([0, 0, 5]),
        watermark=r.choice([0.0, 0.1]),
        scheduler_reserve_full_isl=r.random() < 0.8,
        async_scheduling=r.random() < 0.4,
    )
    caches = r.random() < 0.7
    retention = r.choice([None, 0, 8])
    if all(isinstance(group, FullAttentionSpec) for group in groups):
        retention = 0
    cache = CacheConfig(
        num_gpu_blocks=r.randint(50, 130) // lcm(*(each.block_size for each in groups)) + 2,
        enable_prefix_caching=caches,
        retention_interval=retention,
        groups=groups,
    )
    return scheduler, cache, some_requests(r, 27)


def served(server: Any, requests: list[Request]) -> Iterator[Outcomes]:
    """Step after step: a run that never ends is seen."""
    log, outcomes = WasteLog(max(server.pool, 1), CACHED_PARTS), Outcomes(requests)
    for number, _ in enumerate(steps(server, requests, log, outcomes, Roofline())):
        assert number < 5_000, "it runs forever"
    log.check()
    yield outcomes


def test_every_place_of_every_step() -> None:
    seen: dict[str, int] = {}
    ends = {"finished": 0, "stuck": 0, "preempted": 0, "hits": 0}
    for seed in range(80):
        scheduler, cache, requests = some_case(random.Random(seed))
        server = Watched(scheduler, cache)
        (outcomes,) = served(server, requests)
        assert set(outcomes.stuck()) == set(outcomes.why), seed
        assert all("''" not in words for words in outcomes.why.values()), seed
        assert sum(outcomes.lost.values()) == server.seen["lost"]
        ends["finished"] += outcomes.num_finished
        ends["stuck"] += outcomes.num_stuck
        ends["preempted"] += outcomes.num_preemptions
        ends["hits"] += sum(outcomes.hits)
        seen = {name: seen.get(name, 0) + n for name, n in server.seen.items()}
    assert min(seen.values()) > 20, seen
    assert min(ends.values()) > 20, ends


COLUMNS = ("first_scheduled", "first_token", "finished", "preemptions", "hits", "refound")


@pytest.mark.parametrize(
    ("groups", "plain"),
    [
        ("full", {}),
        ("full*3", {}),
        ("window:40", {"sliding_window": 40}),
        ("window:40*2", {"sliding_window": 40}),
    ],
)
def test_groups_that_are_alike_run_as_one(groups: str, plain: dict[str, Any]) -> None:
    """The same memory, the same steps, the same hits: only the accounts are in places.

    With prefix caching, several groups evict a block at a time, and of one group first.
    """
    stream = sharegpt_like(40, seed=1, rate=9.0)
    few = {"pool": 16 * 181, "max_model_len": 2048, "progress": False}
    count = len(parse_groups(groups))
    plain |= {"enable_prefix_caching": count == 1, "fast_forward": False}
    policy = PagedV1(groups=groups, enable_prefix_caching=count == 1)
    several = simulate(stream, policy=policy, **few)  # type: ignore[arg-type]
    # the null block is one of more and smaller blocks
    few["pool"] = 16 * (1 + (181 * count - 1) // count)
    one = simulate(stream, policy=PagedV1(**plain), **few)  # type: ignore[arg-type]
    assert one.iterations == several.iterations and one.requests.num_finished == 40
    for name in COLUMNS:
        assert bytes(getattr(one.requests, name)) == bytes(getattr(several.requests, name)), name
    token = one.waste.column("token")
    assert (several.waste.column("token") == count * token).all()
    assert several.groups is not None
    for part in ("token", "behind", "internal"):
        of_group = several.groups.column(part)
        assert (of_group == of_group[:, :1]).all()


def test_a_group_of_few_layers_is_padded() -> None:
    run = simulate(
        [Request("a", 0.0, 30, 6)],
        policy=PagedV1(4, groups="full,window:8", group_layers=(4, 3)),
        pool=400,
        progress=False,
    )
    assert run.groups is not None and run.summary()["groups"]
    means = run.groups.mean(0.0)
    assert means["full"]["padding"] == 0
    held = sum(means["window:8"].values())
    assert means["window:8"]["padding"] == pytest.approx(held / 4)
    total = sum(value for parts in means.values() for value in parts.values())
    whole = run.waste.mean(0.0)
    assert total == pytest.approx(whole["token"] + whole["internal"])


@pytest.mark.parametrize(
    ("model", "gib", "blocks", "layers"),
    [
        ("gemma-3-27b", 20, 16_384, (10, 9, 9, 9, 9, 8, 8)),
        ("gemma-3-12b", 20, 20_480, (8,) * 6),
        ("gpt-oss-20b", 20, 54_613, (12, 12)),
    ],
)
def test_a_model_s_blocks_are_vllm_s(
    model: str, gib: int, blocks: int, layers: tuple[int, ...]
) -> None:
    """What 0.33.0 plans: 20 GiB, 16 tokens a block, 16 bits."""
    policy = PagedV1.for_model(model)
    assert policy.groups is not None and sorted(policy.group_layers or ()) == sorted(layers)
    slots = (gib << 30) // ModelSpec.preset(model).kv_bytes_per_token
    assert blocks_of(slots, policy.groups, policy.group_layers) in (blocks, blocks - 1)  # type: ignore[arg-type]
    server = policy.server(slots, Limits())
    assert isinstance(server, PagedV1GroupsServer)


def test_a_model_with_layers_of_one_kind_has_no_groups() -> None:
    assert PagedV1.for_model("llama-3.1-8b") == PagedV1()
    assert PagedV1.for_model("mistral-7b") == PagedV1(sliding_window=4096)


def test_the_notation() -> None:
    assert parse_groups("full,window:9/8*2,mamba/32,mamba:none", 4) == (
        FullAttentionSpec(4),
        SlidingWindowSpec(8, sliding_window=9),
        SlidingWindowSpec(8, sliding_window=9),
        MambaSpec(32, mamba_cache_mode="align"),
        MambaSpec(4, mamba_cache_mode="none"),
    )
    words = [
        "full",
        ("window", 9),
        ("mamba", 32),
        ("state", 32),
        "state:none",
        FullAttentionSpec(8),
    ]
    assert parse_groups(words, 4) == (
        FullAttentionSpec(4),
        SlidingWindowSpec(4, sliding_window=9),
        *[MambaSpec(32, mamba_cache_mode="align")] * 2,
        MambaSpec(4),
        FullAttentionSpec(8),
    )
    assert PagedV1(8, groups=words[:3]) == PagedV1(8, groups="full,window:9,state/32")
    with pytest.raises(UsageError, match=r"groups\[1\]"):
        PagedV1(groups=["full", ("window", 0)])
    assert names_of(parse_groups("full,window:9*2")) == ["full", "window:9 (1)", "window:9 (2)"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        *[("", "''"), ("full,,full", "''"), ("full,half", "'half'"), ("window", "'window'")],
        *[("full:3", "'full:3'"), ("mamba:7", "'mamba:7'"), ("window:x", "'window:x'")],
        *[
            ("full*0", "1 to"),
            ("full*65", "1 to"),
            ("full/0", "block_size"),
            ("window:0", "window"),
            ("window:" + "9" * 5000, "9 digits"),
            ("full*\N{ARABIC-INDIC DIGIT THREE}", "no group"),
        ],
    ],
)
def test_what_is_no_group_is_named(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=part.replace("*", r"\*")):
        PagedV1(groups=text)


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": "full", "sliding_window": 9},
        {"groups": [FullAttentionSpec(4)], "block_size": 8},
        {"groups": "full,full", "group_layers": (1,)},
        {"group_layers": (1,)},
        {"groups": ()},
        {"groups": "mamba:none"},
        {"groups": [FullAttentionSpec(10**30), SlidingWindowSpec(7, sliding_window=9)]},
    ],
)
def test_fields_that_contradict_each_other(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PagedV1(**fields)


def test_a_pool_of_more_places_than_can_be_counted_is_refused() -> None:
    policy = PagedV1(groups="full/999999999,window:3/999999998", enable_prefix_caching=False)
    with pytest.raises(UsageError, match="are more than"):
        simulate([Request("a", 0.0, 5, 5)], policy=policy, pool=10**15, progress=False)
    with pytest.raises(TypeError, match="group_layers must be a Sequence, not 5"):
        PagedV1(groups="full,full", group_layers=5)  # type: ignore[arg-type]


def test_several_groups_are_stepped() -> None:
    stream = [Request("a", 0.0, 30, 6)]
    with pytest.raises(UsageError, match="groups"):
        simulate(stream, policy=PagedV1(groups="full*2", fast_forward=True), progress=False)


SMALL = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64, "progress": False}


def test_who_never_fits_is_told_what_all_groups_need_together() -> None:
    stream = [Request("a", 0.0, 40, 2), Request("b", 1.0, 4, 2)]
    run = simulate(stream, policy=PagedV1(4, groups="full,window:5"), pool=4 * 7, **SMALL)  # type: ignore[arg-type]
    # 10 blocks of full attention, and a window and a step's 16 tokens: 5 and one more
    assert "16 blocks for its 40 tokens, and the pool has 13" in run.requests.why[0]
    assert run.requests.stuck() == [0, 1]


@pytest.mark.parametrize("caches", [True, False])
def test_a_state_that_has_no_room_to_move_on_waits_forever(caches: bool) -> None:
    """Its first chunk is admitted with one block, and the second needs another state."""
    groups = [FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")]
    cache = CacheConfig(num_gpu_blocks=5, groups=groups, enable_prefix_caching=caches)
    server = PagedV1GroupsServer(SchedulerConfig(16, 4, 64), cache)
    (outcomes,) = served(server, [Request("a", 0.0, 9, 2), Request("b", 1.0, 2, 2)])
    assert "needs 5 blocks for its 9 tokens, and the pool has 4" in outcomes.why[0]
    roomy = CacheConfig(num_gpu_blocks=6, groups=groups, enable_prefix_caching=caches)
    server = PagedV1GroupsServer(SchedulerConfig(16, 4, 64), roomy)
    (outcomes,) = served(server, [Request("a", 0.0, 9, 2), Request("b", 1.0, 2, 2)])
    assert outcomes.num_finished == 2


def test_what_only_full_attention_has_is_lost() -> None:
    """QUIRKS g09: a prompt that is one token shorter finds nothing, though a group has it all."""
    text = tuple(range(100, 125))
    stream = [
        Request("a", 0.0, 25, 1, (), text),
        Request("b", 10.0, 21, 1, (), text[:21]),
    ]
    for interval, hits, lost in ((None, 20, {}), (0, 0, {1: 20})):
        run = simulate(
            stream,
            policy=PagedV1(4, groups="full,window:9", retention_interval=interval),
            pool=400,
            progress=False,
        )
        assert list(run.requests.hits) == [0, hits]
        assert run.requests.lost == lost
        assert run.summary()["lost_tokens"] == sum(lost.values())


def test_who_waits_for_a_state_does_not_lack_blocks() -> None:
    """QUIRKS g19: of two equal prompts in one step, the second can use the state in the next."""
    text = tuple(range(13))
    stream = [Request("a", 0.0, 13, 3, (), text), Request("b", 0.0, 13, 3, (), text)]
    policy = PagedV1(4, groups="full,mamba")
    run = simulate(stream, policy=policy, pool=4 * 30, max_model_len=64, progress=False)
    assert list(run.requests.hits) == [0, 12]
    assert run.waste.column("external").sum() == 0


def test_a_slot_is_a_token_in_the_layers_that_keep_tokens() -> None:
    """Qwen3-Next: a token takes 24,576 bytes in 12 layers; 0.33.0 makes 827 blocks of 20 GiB."""
    groups = parse_groups("full,mamba*3", 1056)
    assert blocks_of((20 << 30) // 24_576, groups, (12,) * 4) == 827
    states = parse_groups("mamba*2", 16)
    assert blocks_of(160, states, (1, 1)) == 20
