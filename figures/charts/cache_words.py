"""A cache in words: what `block_layout` and `pool_map` show."""

from typing import Unpack

from pagesim.figures.cache_view import Cache, Reading, cache_view
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView
from pagesim.player.describe import MAX_NAMED, counted, listed


def words(source: Cache, **reading: Unpack[Reading]) -> str:
    """Describe in a few sentences what `block_layout` shows of a cache; see `cache_view`.

    Small caches are described table by table, large ones by counts.
    """
    cache = cache_view(source, **reading)
    pools = " and ".join(f"{len(ids)} {name}" for name, ids in cache.pools.items())
    blocks = "block" if cache.state.num_blocks == 1 else "blocks"
    slots = counted(cache.block_size, "slot")
    sentences = [f"A cache of {pools} {blocks} with {slots} each."]
    names = list(cache.tables)
    if not names:
        sentences.append("No sequence holds a block.")
    elif len(names) <= MAX_NAMED:
        sentences += [_sequence(cache, name) for name in names]
    else:
        many = f"{len(names)} sequences, {names[0]} to {names[-1]}"
        sentences.append(f"{many}, hold {len(cache.owners)} blocks between them.")
    shared = cache.shared()
    if len(shared) == 1:
        sentences.append(f"Block {shared[0]} is shared.")
    elif shared:
        sentences.append(f"Blocks {listed(shared)} are shared.")
    sentences += [_list_of(name, ids) for name, ids in cache.state.lists.items()]
    return " ".join(sentences)


def _sequence(cache: CacheView, name: Name) -> str:
    table = cache.tables[name]
    ids = list(table.block_ids)
    if not ids:
        return f"{name} holds no blocks."
    (where, *_) = (pool for pool, blocks in cache.pools.items() if ids[0] in blocks)
    blocks = f"block {ids[0]}" if len(ids) == 1 else f"blocks {listed(ids)}"
    return f"{name} keeps {counted(table.num_tokens, 'token')} in {blocks} on the {where}."


def _list_of(name: str, ids: tuple[int, ...]) -> str:
    if len(ids) < 2:
        return f"The {name} is empty." if not ids else f"One block is in the {name}: {ids[0]}."
    return f"{len(ids)} blocks are in the {name}; the first is {ids[0]}."
