"""The keys and values themselves, as a step has written them: for the page that shows a run."""

from typing import Any

from pagesim.cache import AttentionMetadata
from pagesim.cache.cache_engine import KVPool
from pagesim.journal.effects import Name
from pagesim.timeline.kv_shape import MAX_VALUES, KVShape, Vectors

Noted = dict[tuple[Name, int], Vectors]
"""By table and position."""


def note(noted: Noted, batch: AttentionMetadata, pool: KVPool) -> None:
    """Add what was written for the tokens of a batch, in three digits, as far as a file has room.

    Of tokens that are written twice, the first numbers stay. Where layers have several groups of
    blocks, nothing is noted.
    """
    if batch.others:
        return
    arrays = [half[i] for i in range(len(pool.keys)) for half in (pool.keys, pool.values)]
    each = sum(array[0, 0].numel() for array in arrays)
    size = arrays[0].shape[1]
    for row, name in enumerate(batch.seq_ids):
        for index in range(*batch.query_start_loc[row : row + 2].tolist()):
            slot, place = int(batch.slot_mapping[index]), int(batch.input_positions[index])
            if slot < 0 or (name, place) in noted or (len(noted) + 1) * each > MAX_VALUES:
                continue
            vectors = (array[slot // size, slot % size].flatten().tolist() for array in arrays)
            noted[name, place] = tuple(tuple(map(_short, vector)) for vector in vectors)


def shape_of(name: str, engine: Any) -> KVShape | None:
    """The tensors of a `ShadowedEngine`, with what it has noted; None if it has noted nothing."""
    key, heads = engine.cache.gpu.keys[0], engine.model.config.num_key_value_heads
    sizes = len(engine.cache.gpu.keys), heads, key.shape[-1], key.element_size()
    return KVShape(name, *sizes, values=engine.vectors) if engine.vectors else None


def _short(number: float) -> float:
    return float(f"{number:.3g}")
