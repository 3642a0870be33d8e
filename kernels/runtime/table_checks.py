"""Checks of tables, lengths and slots, in NumPy: wrong ones would crash a kernel.

ValueError names the argument, the value, and the sequence or token. `kernels.simt` also uses them.
"""

import numpy as np

from pagesim.kernels.reference import Ints
from pagesim.kernels.runtime.inputs import NO_WINDOW, Numbers, Tensor


def check_groups(num_heads: int, num_kv_heads: int) -> None:
    """Check that every KV head has the same number of query heads, at least one."""
    if num_heads == 0 or num_heads % num_kv_heads:
        raise ValueError(
            f"q has {num_heads} heads, not a multiple of k_cache's {num_kv_heads} KV heads"
        )


def check_sequences(rows: int, owner: str = "q", **arrays: Tensor) -> None:
    """Check that there is one entry for each of `owner`'s sequences."""
    for name, array in arrays.items():
        if array.shape[0] != rows:
            raise ValueError(f"{name} has {array.shape[0]} sequences, but {owner} has {rows}")


def check_tables(
    tables: Ints,
    tokens: Numbers,
    num_blocks: int,
    block_size: int,
    *,
    lengths: str = "seq_lens",
    sliding_window: int = 0,
    counts: Numbers | int = 1,
) -> None:
    """Check that every page a sequence can see is in its table, and in the cache.

    lengths: the launcher's name for `tokens`; counts: how many of a sequence's last tokens are
    queries, 0 if its only query follows the tokens in the cache.
    """
    pages = -(-tokens // block_size)
    for seq in np.flatnonzero((tokens < 0) | (pages > tables.shape[1])):
        if tokens[seq] < 0:
            raise ValueError(
                f"{lengths}[{seq}] = {tokens[seq]}: sequence {seq} has a negative length"
            )
        raise ValueError(
            f"block_tables is too short for sequence {seq}: {lengths}[{seq}] = {tokens[seq]} "
            f"needs {pages[seq]} blocks of {block_size}, its table has room for {tables.shape[1]}"
        )
    # What is older than a window is not read, and its blocks may have been freed.
    first = np.maximum(0, tokens - counts + 1 - (sliding_window or NO_WINDOW)) // block_size
    page = np.arange(tables.shape[1])
    read = (page >= first[:, None]) & (page < pages[:, None])
    for seq, entry in np.argwhere(read & ((tables < 0) | (tables >= num_blocks))):
        raise ValueError(
            f"block_tables[{seq}, {entry}] = {tables[seq, entry]}: sequence {seq} names a block "
            f"outside the cache, which has blocks 0 to {num_blocks - 1}"
        )


def query_counts(starts: Numbers, tokens: Numbers, num_queries: int) -> Numbers:
    """How many queries each sequence has; checks query_start_loc first."""
    if starts[0] != 0 or starts[-1] != num_queries:
        raise ValueError(
            f"query_start_loc runs from {starts[0]} to {starts[-1]}, expected 0 to {num_queries}, "
            "the number of q's tokens"
        )
    counts = np.diff(starts)
    for seq in np.flatnonzero((counts < 0) | (counts > np.maximum(tokens, 0))):
        if counts[seq] < 0:
            raise ValueError(
                f"query_start_loc[{seq + 1}] = {starts[seq + 1]}: sequence {seq} would end before "
                f"it starts, at {starts[seq]}"
            )
        raise ValueError(
            f"seq_lens[{seq}] = {tokens[seq]}: sequence {seq} has {counts[seq]} queries, and its "
            "length must include their tokens"
        )
    return counts


def check_slots(slots: Numbers, num_slots: int) -> None:
    """Check that every slot is in the cache and named once; -1 skips a token."""
    for token in np.flatnonzero((slots < -1) | (slots >= num_slots)):
        raise ValueError(
            f"slot_mapping[{token}] = {slots[token]}: token {token} goes outside the cache, "
            f"which has slots 0 to {num_slots - 1} (-1 skips a token)"
        )
    used = np.flatnonzero(slots >= 0)
    _, first, which = np.unique(slots[used], return_index=True, return_inverse=True)
    for again in np.flatnonzero(first[which] != np.arange(used.size)):
        token, before = used[again], used[first[which[again]]]
        raise ValueError(
            f"slot_mapping[{token}] = {slots[token]}: tokens {before} and {token} share a slot, "
            "and programs run in no fixed order, so either could win"
        )
