"""Words for those who do not see the picture: the alternative text of a snapshot."""

from __future__ import annotations

from typing import Any

from figures.snapshot import Snapshot, as_snapshot

MAX_NAMED = 8
MAX_LISTED = 8


def alt_text(source: Any, **reading: Any) -> str:
    """Say in a few sentences what `block_layout` shows of this snapshot, manager or set of tables.

    Small caches are told table by table; of large ones it gives the counts.
    """
    snapshot = as_snapshot(source, **reading)
    cpu = f" and {snapshot.num_cpu_blocks} CPU" if snapshot.num_cpu_blocks else ""
    blocks = "block" if snapshot.num_gpu_blocks + snapshot.num_cpu_blocks == 1 else "blocks"
    slots = "slot" if snapshot.block_size == 1 else "slots"
    sentences = [
        f"A cache of {snapshot.num_gpu_blocks} GPU{cpu} {blocks} "
        f"with {snapshot.block_size} {slots} each."
    ]
    if not snapshot.tables:
        sentences.append("No sequence holds a block.")
    elif len(snapshot.tables) <= MAX_NAMED:
        sentences += [_sequence(snapshot, name) for name in snapshot.tables]
    else:
        names = list(snapshot.tables)
        held = len(snapshot.owners())
        sentences.append(
            f"{len(names)} sequences, {names[0]} to {names[-1]}, hold {held} blocks between them."
        )
    shared = snapshot.shared()
    if len(shared) == 1:
        sentences.append(f"Block {shared[0]} is shared.")
    elif shared:
        sentences.append(f"Blocks {_list(shared)} are shared.")
    sentences.append(_free("GPU", snapshot.free_gpu))
    if snapshot.num_cpu_blocks:
        sentences.append(_free("CPU", snapshot.free_cpu))
    return " ".join(sentences)


def _sequence(snapshot: Snapshot, name: str) -> str:
    table = snapshot.tables[name]
    if not table:
        return f"{name} holds no blocks."
    ids = [block.block_id for block in table]
    count = snapshot.num_tokens(name)
    where = "the CPU" if all(snapshot.on_cpu(block_id) for block_id in ids) else "the GPU"
    blocks = f"block {ids[0]}" if len(ids) == 1 else f"blocks {_list(ids)}"
    return f"{name} keeps {count} token{'' if count == 1 else 's'} in {blocks} on {where}."


def _free(pool: str, ids: tuple[int, ...]) -> str:
    if not ids:
        return f"No {pool} block is free."
    if len(ids) == 1:
        return f"One {pool} block is free: {ids[0]}."
    return f"{len(ids)} {pool} blocks are free; the next taken is {ids[0]}."


def _list(ids: list[int]) -> str:
    if len(ids) > MAX_LISTED:
        return f"{', '.join(map(str, ids[:MAX_LISTED]))} and {len(ids) - MAX_LISTED} more"
    return ", ".join(map(str, ids))
