"""V1's pages as a policy: each option is declared once, as a field."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import lcm
from typing import Any, ClassVar

from pagesim.checks import check_a, check_bool, check_count, check_int
from pagesim.errors import UsageError
from pagesim.simulation.fast_forward import why_not
from pagesim.simulation.fast_forward_groups import FastForwardGroupsServer
from pagesim.simulation.fast_forward_v1 import FastForwardV1Server
from pagesim.simulation.groups import (
    blocks_of,
    groups_of,
    places_per_slot,
)
from pagesim.simulation.limits import Limits, option
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.paged_v1_groups import PagedV1GroupsServer
from pagesim.simulation.paged_v1_tier import PagedV1TierServer, copying_of
from pagesim.simulation.policy_configs import configs_of, forwards
from pagesim.simulation.serving import Server
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MambaSpec
from pagesim.sizing.link import Link
from pagesim.sizing.model import ModelSpec
from pagesim.v1.config import CacheConfig as CacheConfigV1
from pagesim.v1.config import SchedulerConfig as SchedulerConfigV1
from pagesim.v1.group_words import NOTATION, Groups, parse_groups
from pagesim.v1.groups import cache_groups
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.workload.request import Request


@dataclass(frozen=True, slots=True)
class PagedV1:
    """The pages of vLLM V1, today's engine, managed by the real scheduler and KV cache manager.

    The fields are those of :class:`pagesim.v1.CacheConfig` and :class:`pagesim.v1.SchedulerConfig`,
    with the defaults of release 0.33.0, except that scheduling is synchronous. Limits that are not
    given are those of its API server on an A100. Block 0, the null block, is taken from the pool
    and holds nothing; percentages refer to the other blocks. A request that the pool can never hold
    waits forever, and all requests behind it wait too.

    A hybrid model has ``groups`` of layers instead of a ``sliding_window``: specs as in
    :class:`pagesim.v1.CacheConfig`, words such as ["full", ("window", 1024)], or a text such as
    "full,window:1024*5" (see :mod:`pagesim.v1.group_words`). Blocks have ``block_size`` tokens
    unless a group says otherwise. :meth:`for_model` takes the groups from a model. All take their
    blocks from one pool. A slot is the memory that a token takes in all layers that keep tokens, so
    the same number of slots is the same memory with groups and without. ``group_layers`` has the
    number of layers of each group; where they differ, the smaller groups are padded.

    With ``cpu_blocks`` there is a second tier, and ``simulate(…).tier`` says what was copied:
    ``blocks_per_chunk``, ``offload_prompt_only``, ``store_threshold`` and ``eviction`` (vLLM calls
    it ``cache_policy``) are those of :class:`pagesim.v1.OffloadingConfig`. Copies run beside the
    steps, as fast as the ``link`` allows: a :class:`pagesim.sizing.link.Link`, its name or its
    bytes per second, such as "25GB". If ``link`` is a number, a copy takes so many steps more than
    the one in which it begins, and no time of its own. A tier is for one group of full attention,
    and its runs are never fast-forwarded.

    ``fast_forward`` is as in :class:`Paged`. Here it is also possible with prefix caching and
    chunked prefill, but not if requests have ``token_ids``, scheduling is asynchronous, or there is
    a sliding window or a threshold. ``groups`` are fast-forwarded without prefix caching, if they
    are full attention and windows with blocks of one size. TypeError or UsageError names the field.
    """

    name: ClassVar[str] = "v1"

    block_size: int = option(16, "Slots per block.")
    enable_prefix_caching: bool = option(True, "Reuse full blocks for equal prefixes.")
    enable_chunked_prefill: bool = option(True, "Compute prompts in chunks.")
    long_prefill_token_threshold: int = option(
        0,
        "Maximum tokens per step for a request that shares the step with others; 0: no limit.",
        minimum=0,
    )
    long_prefill_token_threshold_adaptive: bool = option(
        False,
        "Raise --long-prefill-token-threshold to an equal share of the step's tokens.",
    )
    watermark: float = option(0.0, "Fraction of the blocks that admission keeps free.")
    scheduler_reserve_full_isl: bool = option(True, "Admit a prompt only if all of it would fit.")
    async_scheduling: bool = option(
        False, "Schedule a step before the output of the previous one is known."
    )
    sliding_window: int | None = option(
        None, "Number of tokens that each token attends to, itself included."
    )
    retention_interval: int | None = option(
        0,
        "With a sliding window, a multiple N of the block size also caches the blocks that are "
        "needed after every N tokens; 0 caches only those that the prompt's last token needs.",
        minimum=0,
    )
    cpu_blocks: int = option(
        0,
        "The blocks of a second tier on the CPU, which keeps copies of prompts.",
        minimum=0,
        called="num_cpu_blocks",
    )
    eviction: str = option(
        "lru", "With a second tier: which of its blocks are evicted.", choices=("lru", "arc")
    )
    link: str | Link | int = option(  # noqa: RUF009 (a Link is frozen)
        "pcie4",
        "With a second tier: what connects each GPU with the CPU, by its name or its bytes per "
        "second, such as 25GB; or how many steps more a copy takes, such as '5 steps'.",
        text=True,
    )
    blocks_per_chunk: int = option(1, "With a second tier: how many blocks are copied as one.")
    offload_prompt_only: bool = option(True, "With a second tier: do not copy generated tokens.")
    store_threshold: int = option(
        0, "With a second tier: copy a block when so many requests have computed it.", minimum=0
    )
    groups: Sequence[Any] | str | None = option(
        None,
        "The groups of layers of a hybrid model, " + NOTATION + "; or model: those of --model. "
        "Only full and window without prefix caching, with blocks of one size, is fast-forwarded.",
        text=True,
    )
    hash_block_size: int | None = field(default=None)
    group_layers: Sequence[int] | None = field(default=None)
    fast_forward: bool | None = field(default=None)

    def __post_init__(self) -> None:
        check_bool("fast_forward", self.fast_forward, None)
        check_int("block_size", self.block_size, 1)
        if self.groups is not None:
            self._take_groups(self.groups)
        elif self.group_layers is not None:
            raise UsageError("group_layers is given without groups")
        widest = Limits(max_model_len=sys.maxsize)  # a server is given its own
        _, cache = self._configs(self._smallest, widest)
        self._tier(cache)

    @classmethod
    def for_model(cls, model: str | ModelSpec, **fields: Any) -> "PagedV1":
        """Return the policy for a model's layers: the groups in which vLLM puts them.

        Layers that are all alike are one group, as without ``groups``.
        """
        groups, layers = groups_of(model, fields.get("block_size", 16))
        if len(groups) > 1:
            return cls(groups=groups, group_layers=layers, **fields)
        return cls(sliding_window=getattr(groups[0], "sliding_window", None), **fields)

    def _tier(self, cache: CacheConfigV1) -> OffloadingConfig | None:
        """The second tier of such a cache; None without. UsageError if it cannot have this one."""
        copying_of(self.link)
        blocks = check_count("cpu_blocks", self.cpu_blocks, 0)
        tier = OffloadingConfig(
            blocks // check_int("blocks_per_chunk", self.blocks_per_chunk, 1),
            blocks_per_chunk=self.blocks_per_chunk,
            cache_policy=self.eviction,
            offload_prompt_only=self.offload_prompt_only,
            store_threshold=self.store_threshold,
        )
        if not self.cpu_blocks:
            return None
        tier.chunk_blocks(cache)
        return tier

    def uniform(self) -> "PagedV1":
        """Return the policy in which all layers are one group of full attention.

        UsageError if some keep states: these cannot be kept as tokens.
        """
        specs = [] if self.groups is None else list(self.groups)
        if any(isinstance(spec, MambaSpec) for spec in specs):
            raise UsageError("groups of states have no uniform form: a state is not a token's")
        sizes = {spec.block_size for spec in specs if isinstance(spec, FullAttentionSpec)}
        size = min(sizes) if sizes else self.block_size
        own = replace(self, groups=None, group_layers=None, hash_block_size=None)
        return replace(own, block_size=size, sliding_window=None, retention_interval=0)

    def _take_groups(self, given: Groups) -> None:
        """Make specs of words, and the block size one for all of them."""
        default = self.block_size == PagedV1.__dataclass_fields__["block_size"].default
        in_words = isinstance(given, str) or (
            isinstance(given, Sequence) and not all(isinstance(one, KVCacheSpec) for one in given)
        )
        groups: Any = parse_groups(given, self.block_size) if in_words else given
        size = None if in_words or default else self.block_size
        specs, _ = cache_groups(size, self.sliding_window, groups, self.hash_block_size)
        object.__setattr__(self, "groups", specs)
        object.__setattr__(self, "block_size", lcm(*(spec.block_size for spec in specs)))
        if self.group_layers is not None:
            check_a("group_layers", self.group_layers, Sequence)
        layers = (1,) * len(specs) if self.group_layers is None else tuple(self.group_layers)
        for index, number in enumerate(layers):
            check_int(f"group_layers[{index}]", number, 1)
        if len(layers) != len(specs) or not specs:
            raise UsageError(f"group_layers must have a number for each of the {len(specs)} groups")
        object.__setattr__(self, "group_layers", layers)

    @property
    def _smallest(self) -> int:
        """The slots of a pool of one block."""
        if self.groups is None:
            return self.block_size
        place = places_per_slot(self._specs, self._layers)
        return -(-self.block_size * max(self._layers) // place)

    @property
    def _specs(self) -> Sequence[KVCacheSpec]:
        specs: Any = self.groups  # made of words, if they were given
        return specs or ()

    @property
    def _layers(self) -> Sequence[int]:
        return self.group_layers or ()

    def server(
        self, slots: int, limits: Limits, requests: Sequence[Request] = (), record: bool = False
    ) -> Server:
        """UsageError if ``fast_forward`` is True and not possible."""
        scheduler, cache = self._configs(slots, limits)
        reason = why_not(scheduler, cache, requests)
        if tier := self._tier(cache):
            forwards(self.fast_forward, "cpu_blocks copies blocks beside the steps", record)
            return PagedV1TierServer(scheduler, cache, tier, copying_of(self.link), record)
        is_forwarded = forwards(self.fast_forward, reason, record)
        if self.groups is not None:
            if is_forwarded:
                return FastForwardGroupsServer(scheduler, cache, self._layers)
            return PagedV1GroupsServer(scheduler, cache, record, self._layers)
        if is_forwarded:
            return FastForwardV1Server(scheduler, cache)
        return PagedV1Server(scheduler, cache, record)

    def stepped(self, blocks: int, limits: Limits, record: bool = False) -> PagedV1Server:
        """Return a server with a pool of so many blocks, which computes every step.

        It has no clock. So with a second tier, copies end in the step in which they begin, or so
        many steps later as ``link`` says.
        """
        scheduler, cache = self._configs(self._smallest, limits)
        cache = replace(cache, num_gpu_blocks=blocks)
        if tier := self._tier(cache):
            copying = copying_of(self.link)
            steps = 0 if isinstance(copying, Link) else copying
            return PagedV1TierServer(scheduler, cache, tier, steps, record)
        if self.groups is not None:
            return PagedV1GroupsServer(scheduler, cache, record, self._layers)
        return PagedV1Server(scheduler, cache, record)

    def _configs(self, slots: int, limits: Limits) -> tuple[SchedulerConfigV1, CacheConfigV1]:
        limits = Limits.of_server(chunked=self.enable_chunked_prefill, **asdict(limits))
        blocks = None
        if self.groups is not None and slots >= self._smallest:
            blocks = blocks_of(slots, self._specs, self._layers)
            if blocks * self.block_size > sys.maxsize:
                raise UsageError(
                    f"{blocks} blocks of {self.block_size} places are more than {sys.maxsize} "
                    "places: give the groups block sizes with a smaller common multiple"
                )
        return configs_of(self, limits, slots, SchedulerConfigV1, CacheConfigV1, blocks)
