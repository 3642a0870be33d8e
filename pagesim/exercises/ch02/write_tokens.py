"""# 2.5 Writing keys and values: a Triton kernel ★★★

In section 4 you called `reshape_and_cache`. Now write it yourself, as a Triton kernel. One program
writes one token. It loads the token's row of `key` and of `value`, which are tensors
`[num_tokens, N]`. It stores them in the row of `k_cache` and of `v_cache`, `[num_slots, N]`, that
the slot mapping names.

All four tensors are contiguous, row after row, so row `i` begins at element `i * N`. `slot_mapping`
is int64 `[num_tokens]`. A token with slot -1 is padding: nothing may be written for it.

`tl.load(pointer + offsets)` reads and `tl.store(pointer + offsets, elements)` writes. `number` is
given. It holds 0, 1, … up to `N - 1`, so a pointer plus `number` means N neighbouring elements.
Complete `write_tokens`.

`check` launches one program per token, with a cache full of NaN, for several N. Every N is a power
of two. In one case, the cache has so many slots that `slot * N` does not fit into 32 bits.

## Hints
1. A row of the cache has N elements. At which element does row 6 begin? At which element does the
   token's row of `key` begin?
2. Load N elements from `key + token * N + number`, and store them at `k_cache + slot * N + number`.
   Do the same for the values. Do all of it only if the slot is not negative.
3. You need two loads and two stores under `if slot >= 0:`. `slot` was loaded as an int64, so
   `slot * N` does not overflow even in a large cache, as long as you do not convert `slot`.

## Wrong answers
* padding_is_written (padding): Slot -1 is the last slot, as index -1 is the last one in Python.
* key_for_value (one token): The value cache gets the same elements as the key cache.
* row_by_row (a token in another slot): Token i of the batch goes to row i of the cache.
* in_32_bits (far out): Slot numbers are small, so 32 bits are enough for the address.
* no_offset_of_the_row (a token in another slot): A pointer plus the slot points to the slot's row.

## vLLM
* csrc/cache_kernels.cu: reshape_and_cache_flash_kernel
* vllm/attention/backends/flash_attn.py: FlashAttentionImpl.forward, which calls it
"""

from typing import Any

import numpy as np

from pagesim.exercises import launching
from pagesim.exercises.kit import Array, Case, Cases, Random, Timeline, placed
from pagesim.exercises.launching import Tensor
from pagesim.files.jsonl import JsonObject

Found = JsonObject
"""What each cache holds in which slot, and what was written outside of them."""

FAR = 2**28
"""A slot whose row of 8 begins at element 2**31: one more than the largest int32."""


def cases(rng: Random, hidden: bool) -> Cases:
    """One token, then more of them, padding, and a slot far out in a large cache."""
    first = 5 if hidden else 6
    yield Case(([0], 8, 8), tag="one token")
    yield Case(([first], 8, 8), tag="a token in another slot")
    yield Case(([first, 1, 4], 8, 8), tag="three tokens")
    yield Case(([first, 2], 8, 16 if hidden else 4), tag="rows of another length")
    yield Case(([2, -1, first], 8, 8), tag="padding")
    yield Case(([*rng.sample(range(16), 4), -1], 16, 8), tag="padding")
    yield Case(([FAR], 8, 8), tag="far out")


def words(slots: list[int], num_slots: int, n: int) -> str:
    size = "a cache with more slots than that" if FAR in slots else f"{num_slots} slots"
    return f"slot_mapping {slots}, {size}, N = {n}"


def call(kernel: Any, slots: list[int], num_slots: int, n: int) -> Found:
    """Launch the student's kernel, and say what is where afterwards."""
    if FAR in slots and not launching.interpreted():
        return oracle(slots, num_slots, n)
    # A row before each cache and one behind it: a stray write must not end the process.
    rows = np.full((2, num_slots + 2, n), np.nan, dtype=np.float32)
    key, value, where, room = launching.tensors(*tokens(slots, n), np.array(slots), rows)
    caches = {"k_cache": room[0, 1:-1], "v_cache": room[1, 1:-1]}

    def launcher(
        key: Tensor, value: Tensor, k_cache: Tensor, v_cache: Tensor, slots: Tensor, room: Tensor
    ) -> None:
        launching.jitted(kernel)[(len(slots),)](key, value, k_cache, v_cache, slots, N=n)

    trace = launching.launched(launcher, key=key, value=value, slots=where, room=room, **caches)
    found = contents(room.cpu().numpy(), slots, n)
    far = [launching.FarRow(name, cache, FAR * n, n) for name, cache in caches.items()]
    seen = launching.far_rows(trace, "write", far if FAR in slots else []) if trace else {}
    if "outside" in seen:
        return found | seen
    return found | {name: found[name] | {FAR: what} for name, what in seen.items()}


def tokens(slots: list[int], n: int) -> Array:
    """Keys and values of the tokens, float32 [2, T, n]; all numbers are different."""
    return np.arange(2 * len(slots) * n, dtype=np.float32).reshape(2, len(slots), n)


def contents(room: Array, slots: list[int], n: int) -> Found:
    """What each slot holds that is not NaN any more; slot -1 is the row before the cache."""
    names = [f"{kind} of token {token}" for kind in ("key", "value") for token in range(len(slots))]
    rows = map(np.ndarray.tobytes, tokens(slots, n).reshape(-1, n))
    named = dict(zip(rows, names, strict=True))
    found: Found = {"k_cache": {}, "v_cache": {}}
    for holds, cache in zip(found.values(), room, strict=True):
        for slot, row in enumerate(cache, -1):
            if not np.isnan(row).all():
                holds[slot] = named.get(row.tobytes(), "something else")
    return found


def oracle(slots: list[int], num_slots: int, n: int) -> Found:
    """The same scatter by `kernels.reference`."""
    from pagesim.kernels import reference

    if slots == [FAR]:
        return {name: {FAR: launching.ALL} for name in ("k_cache", "v_cache")}
    caches = np.full((2, num_slots + 2, 1, 1, n), np.nan, dtype=np.float32)
    key, value = tokens(slots, n)[:, :, None, :]
    k_cache, v_cache = (cache[1:-1] for cache in caches)  # blocks of one slot, one head
    reference.reshape_and_cache(key, value, k_cache, v_cache, np.array(slots))
    return contents(caches.reshape(2, num_slots + 2, n), slots, n)


def why(yours: Found, right: Found, n: int) -> str:
    if outside := yours.get("outside"):
        wrapped = outside.endswith(launching.WRAPPED)
        return launching.too_early(f"slot * {n}") if wrapped else f"There is {outside}."
    for name in right:
        for slot in sorted({*right[name], *yours[name]}):
            wanted, got = right[name].get(slot, "nothing"), yours[name].get(slot, "nothing")
            if wanted == got:
                continue
            got_there = got if got in ("nothing", "something else") else f"the {got}"
            if slot == -1:
                return f"Slot -1 means: write nothing. Your kernel wrote {got_there} before slot 0."
            if wanted == "nothing":
                return f"No token has slot {slot}, but {name} holds {got_there} there."
            if wanted == launching.ALL:
                return f"Slot {slot} of {name} must get a token. Your kernel {got}."
            if got[:3] != wanted[:3] and got not in ("nothing", "something else"):
                belong = "keys belong to k_cache, values to v_cache"
                return f"In slot {slot}, {name} holds {got_there}: {belong}."
            puts = f"The slot mapping puts the {wanted} into slot {slot} of {name}"
            return f"{puts}. The slot holds {got_there}."
    return "The kernel must write both caches."


def play(slots: list[int]) -> Timeline:
    """A sequence whose tokens are written to these slots, in blocks of one slot."""
    near = [slot for slot in slots if 0 <= slot < FAR] or [0]
    return placed(near, len(near), 1)
