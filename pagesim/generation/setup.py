"""From a folder to an engine: the model, the pools of its keys and values, and the server."""

from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pagesim.cache import CacheEngine, KVPool
from pagesim.cache.attention_metadata import tokens_kept
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.generation.groups import with_groups_of
from pagesim.simulation import Limits, Paged, PagedV1

if TYPE_CHECKING:
    import torch

    from pagesim.generation.engine import Engine
    from pagesim.kernels.tiny_llm import Model
    from pagesim.kernels.tiny_llm.paged_attend import Backend

E = TypeVar("E", bound="Engine")
BUILT_IN = ("walk", "by-hand")
"""Models that come with the package: trained, and set by a function (`kernels.tiny_llm`)."""

LONGEST = 4096
"""The text that by-hand is exact for, prompt and answer."""


def load_model(
    name: str, dtype: str = "float32", device: str | None = None
) -> tuple[Model, int | None]:
    """Return a model and the longest text it was made for, or None if its folder does not say.

    ``name`` is a model folder in Hugging Face format, or one of `BUILT_IN`; ``device`` defaults to
    the one where the kernels run. Raises ImportError if torch is missing, and UsageError (a
    ValueError) if the folder or the device does not exist, or if a file of the folder is invalid.
    """
    from pagesim.kernels.runtime import mode

    mode.require_torch("a language model")
    import torch

    from pagesim.kernels import tiny_llm

    try:
        where = torch.zeros(0, device=device or mode.device()).device
        torch.empty(1, device=where).cpu()  # not on "meta", which holds nothing
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"device {device!r}: {str(error).splitlines()[0]}") from error
    numbers = getattr(torch, dtype)
    if name == "by-hand":
        made = tiny_llm.by_hand(LONGEST)
        moved = {name: weight.to(where, numbers) for name, weight in made.weights.items()}
        return tiny_llm.Model(made.config, moved), LONGEST
    folder = folder_of(name)
    if not folder.is_dir():
        raise UsageError(
            f"{name}: there is no such folder. Give a folder with config.json and safetensors "
            f"files, or a built-in model: {', '.join(BUILT_IN)}"
        )
    model = tiny_llm.load(folder, numbers, where)
    longest = json.loads((folder / "config.json").read_bytes()).get("max_position_embeddings")
    return model, longest if type(longest) is int and longest > 0 else None


def folder_of(name: str) -> Path:
    """Return the folder of a model, which may be the one that comes with the package."""
    if name != "walk":
        return Path(name)
    from pagesim import kernels

    return Path(kernels.__path__[0]) / "tiny_llm" / "walk"


def engine_on_pages(
    model: Model,
    policy: Paged | PagedV1 | None = None,
    *,
    blocks: int,
    limits: Limits | None = None,
    backend: str | Backend = "torch",
    record: bool = False,
    engine: type[E] | None = None,
) -> E:
    """Make an engine that generates with ``model``, in a pool of ``blocks`` blocks.

    ``policy`` and ``limits`` are as in `simulate`, and the server is the one that `simulate` uses;
    it never fast-forwards. V1 gives layers with a window a KV cache group of their own, unless the
    policy has groups or a window; V0 keeps all tokens of all layers. If ``record`` is True,
    ``engine.server.finish()`` returns a timeline. ``engine`` is the class of the result:
    `pagesim.generation.engine.Engine`, or a subclass of it.
    The pool has the model's device and dtype. The pool for swapping, or V1's second tier, is on the
    CPU and has the blocks that the policy says.
    """
    from pagesim.generation.engine import Engine
    from pagesim.kernels.tiny_llm import Model

    policy, limits = policy or Paged(), limits or Limits()
    _check_kind("model", model, Model)
    _check_kind("policy", policy, Paged, PagedV1)
    _check_kind("limits", limits, Limits)
    if backend == "numpy":
        _check_readable(model.head)
    check_int("blocks", blocks, 1)
    server: Any
    if isinstance(policy, PagedV1):
        server = with_groups_of(model, policy).stepped(blocks, limits, record)
    else:
        policy = replace(policy, fast_forward=False)
        server = policy.server(blocks * policy.block_size, limits, record=record)
    memory = memory_for(model, server, getattr(policy, "num_cpu_blocks", 0))
    return (engine or cast("type[E]", Engine))(model, server, memory, backend)


def _check_kind(name: str, value: Model | Paged | PagedV1 | Limits, *kinds: type) -> None:
    if not isinstance(value, kinds):
        words = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} must be {words}, not {value!r} ({type(value).__name__})")


def _check_readable(head: torch.Tensor) -> None:
    if head.device.type != "cpu" or str(head.dtype) == "torch.bfloat16":
        raise UsageError(
            f"backend 'numpy' reads float32 or float16 on the CPU, but the model is {head.dtype} "
            f"on {head.device}: choose another backend"
        )


def memory_for(model: Model, server: Any, num_cpu_blocks: int = 0) -> CacheEngine:
    """The pools of a model's keys and values, with as many blocks as the server has.

    With several KV cache groups (V1), the n-th layers of all groups share a tensor: a block holds
    keys and values of the group that it belongs to. UsageError for groups of other layers. The CPU
    has ``num_cpu_blocks`` blocks to swap, or those of V1's second tier.
    """
    from pagesim import kernels
    from pagesim.kernels.tiny_llm.paged_attend import deal

    c, head, scheduler = model.config, model.head, server.scheduler
    specs: Any = [None]
    if hasattr(scheduler, "kv_cache_manager"):  # V1's
        specs = scheduler.kv_cache_manager.kv_cache_groups
        sizes = [spec.block_size for spec in specs]
        if len({*sizes}) > 1:
            raise UsageError(
                f"the groups have blocks of {sizes} tokens: all layers of this model have equal "
                "heads, so their blocks must be equal"
            )
    try:
        group_of = deal(c.windows, [tokens_kept(spec) for spec in specs])
    except ValueError as error:
        raise UsageError(str(error)) from None
    places = [group_of[:layer].count(group) for layer, group in enumerate(group_of)]
    cache = scheduler.cache_config
    shape = cache.block_size, c.num_key_value_heads, c.head_dim
    pools = []
    for count, where in ((cache.num_gpu_blocks, head.device), (num_cpu_blocks, "cpu")):
        halves = kernels.kv_pool(max(places) + 1, count, *shape, dtype=head.dtype, device=where)
        pools.append(KVPool(*([half[place] for place in places] for half in halves)))
    if (connector := getattr(scheduler, "connector", None)) is None:
        return CacheEngine(*pools)
    width = connector.blocks_per_chunk
    chunks = _chunks((connector.manager.num_chunks * width, len(places), 2, *shape), head.dtype)
    return CacheEngine(pools[0], chunks, blocks_per_chunk=width)


def _chunks(sizes: tuple[int, ...], dtype: torch.dtype) -> KVPool:
    """The second tier, in which all layers of a block lie side by side."""
    import torch

    try:
        return KVPool.of_blocks(torch.zeros(sizes, dtype=dtype))
    except RuntimeError as error:
        size = prod(sizes) * dtype.itemsize / 2**30
        raise MemoryError(
            f"{sizes[0]} blocks on the CPU take {size:,.0f} GiB, more than it has free: allocate "
            "fewer"
        ) from error
