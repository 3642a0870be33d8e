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

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pagesim.exercises.kit import Case, Cases, Random, Timeline, placed
from pagesim.exercises.launching import ALL, WRAPPED, FarRow, far_rows, jitted, launched, too_early

if TYPE_CHECKING:
    from torch import Tensor

Found = dict[str, Any]
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
    import torch

    from pagesim import kernels

    if FAR in slots and kernels.backend.decide().mode != "interpreted":
        return oracle(slots, num_slots, n)  # only the interpreter can be asked without such a cache
    # A row before each cache and one behind it: a stray write must not end the process.
    room = torch.full((2, num_slots + 2, n), float("nan"), device=kernels.backend.device())
    key, value = (torch.tensor(numbers, device=room.device) for numbers in tokens(slots, n))

    def launcher(
        key: Tensor, value: Tensor, k_cache: Tensor, v_cache: Tensor, slots: Tensor, room: Tensor
    ) -> None:
        jitted(kernel)[(len(slots),)](key, value, k_cache, v_cache, slots, N=n)

    where = torch.tensor(slots, dtype=torch.int64, device=room.device)
    caches = {"k_cache": room[0, 1:-1], "v_cache": room[1, 1:-1]}
    trace = launched(launcher, key=key, value=value, slots=where, room=room, **caches)
    found = contents(room.cpu().numpy(), slots, n)
    if trace:
        far = [FarRow(name, cache, FAR * n, n) for name, cache in caches.items()]
        seen = far_rows(trace, "write", far if FAR in slots else [])
        if "outside" in seen:
            return found | {"outside": seen["outside"]}
        found |= {name: found[name] | {FAR: what} for name, what in seen.items()}
    return found


def tokens(slots: list[int], n: int) -> npt.NDArray[np.float32]:
    """Keys and values of the tokens, float32 [2, T, n]; all numbers are different."""
    return np.arange(2 * len(slots) * n, dtype=np.float32).reshape(2, len(slots), n)


def contents(room: npt.NDArray[np.float32], slots: list[int], n: int) -> Found:
    """What each slot holds that is not NaN any more; slot -1 is the row before the cache."""
    named = {
        numbers.tobytes(): f"{name} of token {token}"
        for name, tensor in zip(("key", "value"), tokens(slots, n), strict=True)
        for token, numbers in enumerate(tensor)
    }
    return {
        name: {
            slot: named.get(row.tobytes(), "something else")
            for slot, row in enumerate(rows, -1)
            if not np.isnan(row).all()
        }
        for name, rows in zip(("k_cache", "v_cache"), room, strict=True)
    }


def oracle(slots: list[int], num_slots: int, n: int) -> Found:
    """The same scatter by `kernels.reference`."""
    from pagesim.kernels import reference

    if slots == [FAR]:
        return {"k_cache": {FAR: ALL}, "v_cache": {FAR: ALL}}
    caches = np.full((2, num_slots + 2, 1, 1, n), np.nan, dtype=np.float32)
    key, value = tokens(slots, n)[:, :, None, :]
    k_cache, v_cache = (cache[1:-1] for cache in caches)  # blocks of one slot, one head
    reference.reshape_and_cache(key, value, k_cache, v_cache, np.array(slots))
    return contents(caches.reshape(2, num_slots + 2, n), slots, n)


def why(yours: Found, right: Found, n: int) -> str:
    if outside := yours.get("outside"):
        return too_early(f"slot * {n}") if outside.endswith(WRAPPED) else f"There is {outside}."
    for name in ("k_cache", "v_cache"):
        for slot in sorted({*right[name], *yours[name]}):
            wanted, got = right[name].get(slot, "nothing"), yours[name].get(slot, "nothing")
            if wanted == got:
                continue
            got_there = got if got in ("nothing", "something else") else f"the {got}"
            if slot == -1:
                return f"Slot -1 means: write nothing. Your kernel wrote {got_there} before slot 0."
            if wanted == "nothing":
                return f"No token has slot {slot}, but {name} holds {got_there} there."
            if wanted == ALL:
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
