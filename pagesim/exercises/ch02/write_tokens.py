"""2.5: `reshape_and_cache` as a Triton kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.launching import ALL, WRAPPED, FarRow, far_rows, jitted, launched, too_early
from pagesim.exercises.source import cell, variant
from pagesim.exercises.stage import placed
from pagesim.timeline.run import Timeline

FAR = 2**28
"""A slot whose row of 8 begins at element 2**31: one more than the largest int32."""


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One token, then more of them, padding, and a slot far out in a large cache."""
    first = 5 if hidden else 6
    yield _case([0], 8, "one token")
    yield _case([first], 8, "a token in another slot")
    yield _case([first, 1, 4], 8, "three tokens")
    yield _case([first, 2], 8, "rows of another length", 16 if hidden else 4)
    yield _case([2, -1, first], 8, "padding")
    yield _case([*rng.sample(range(16), 4), -1], 16, "padding")
    told = f"slot_mapping [{FAR}], a cache of more slots than that, N = 8"
    yield Case(([FAR], 8, 8), told, "far out")


def _case(slots: list[int], num_slots: int, tag: str, n: int = 8) -> Case:
    told = f"slot_mapping {slots}, {num_slots} slots, N = {n}"
    return Case((slots, num_slots, n), told, tag)


def call(function: Callable[..., Any], case: Case) -> Any:
    """Launch the student's kernel, and say what is where afterwards."""
    import torch

    from pagesim import kernels

    slots, num_slots, n = case.args
    if FAR in slots and kernels.backend.decide().mode != "interpreted":
        return expected(*case.args)  # only the interpreter can be asked without such a cache
    # A row before each cache and one behind it: a stray write must not end the process.
    room = torch.full((2, num_slots + 2, n), float("nan"), device=kernels.backend.device())
    key, value = (torch.tensor(numbers, device=room.device) for numbers in _tokens(slots, n))

    def launcher(key: Any, value: Any, k_cache: Any, v_cache: Any, slots: Any, room: Any) -> None:
        jitted(function)[(len(slots),)](key, value, k_cache, v_cache, slots, N=n)

    where = torch.tensor(slots, dtype=torch.int64, device=room.device)
    caches = {"k_cache": room[0, 1:-1], "v_cache": room[1, 1:-1]}
    trace = launched(launcher, key=key, value=value, slots=where, room=room, **caches)
    rows = room.cpu().numpy()
    found: dict[str, Any] = {name: _contents(rows[i], slots, n) for i, name in enumerate(caches)}
    if trace:
        far = [FarRow(name, cache, FAR * n, n) for name, cache in caches.items()]
        said = far_rows(trace, "write", far if FAR in slots else [])
        if "outside" in said:
            found["outside"] = said["outside"]
        else:
            found |= {name: found[name] | {FAR: what} for name, what in said.items()}
    return found


def _tokens(slots: list[int], n: int) -> Any:
    """Keys and values of the tokens, float32 [T, n] each; all numbers are different."""
    import numpy as np

    return np.arange(2 * len(slots) * n, dtype=np.float32).reshape(2, len(slots), n)


def _contents(rows: Any, slots: list[int], n: int) -> dict[int, str]:
    """What each slot holds that is not NaN any more; slot -1 is the row before the cache."""
    import numpy as np

    named = {
        numbers.tobytes(): f"{name} of token {token}"
        for name, tensor in zip(("key", "value"), _tokens(slots, n), strict=True)
        for token, numbers in enumerate(tensor)
    }
    return {
        slot - 1: named.get(row.tobytes(), "something else")
        for slot, row in enumerate(rows)
        if not np.isnan(row).all()
    }


def expected(slots: list[int], num_slots: int, n: int) -> Any:
    """The same scatter by `kernels.reference`."""
    import numpy as np

    from pagesim.kernels import reference

    if slots == [FAR]:
        return {"k_cache": {FAR: ALL}, "v_cache": {FAR: ALL}}
    caches = np.full((2, num_slots + 2, 1, 1, n), np.nan, dtype=np.float32)
    key, value = _tokens(slots, n)[:, :, None, :]
    k_cache, v_cache = (cache[1:-1] for cache in caches)  # blocks of one slot, one head
    reference.reshape_and_cache(key, value, k_cache, v_cache, np.array(slots))
    rows = caches.reshape(2, num_slots + 2, n)
    return {"k_cache": _contents(rows[0], slots, n), "v_cache": _contents(rows[1], slots, n)}


def why(case: Case, yours: Any, right: Any) -> str:
    """The first slot with something else in it."""
    n = case.args[2]
    if "outside" in yours:
        said = yours["outside"]
        if said.endswith(WRAPPED):
            return too_early(f"slot * {n}")
        return f"There is {said}."
    for name in ("k_cache", "v_cache"):
        yes, no = right[name], yours[name]
        for slot in sorted({*yes, *no}):
            if yes.get(slot) != no.get(slot):
                return _difference(name, slot, no.get(slot, "nothing"), yes.get(slot))
    return "Both caches are to be written."


def _difference(name: str, slot: int, got: str, wanted: str | None) -> str:
    if slot == -1:
        return f"Slot -1 means: write nothing. Your kernel wrote {got} before the first slot."
    if wanted is None:
        return f"No token has slot {slot}, and {name} holds {got} there."
    if wanted == ALL:
        return f"Slot {slot} of {name} has a token: your kernel {got}."
    if got[:3] != wanted[:3] and got not in ("nothing", "something else"):
        return f"{name} holds {got} in slot {slot}: keys belong to k_cache, values to v_cache."
    return f"The slot mapping sends the {wanted} to slot {slot} of {name}; it holds {got}."


def play(case: Case) -> Timeline:
    """A sequence whose tokens are written to these slots, in blocks of one slot."""
    slots = [slot for slot in case.args[0] if 0 <= slot < FAR] or [0]
    return placed(slots, len(slots), 1)


write_tokens = cell(__file__, "write_tokens", "write_tokens")

EXERCISE = Exercise(
    number="2.5",
    title="Writing keys and values: a Triton kernel",
    stars=3,
    statement="""\
Section 4's `reshape_and_cache` as a kernel of your own. One program writes one token: of `key` and
`value`, tensors `[num_tokens, N]`, it takes the row of its token and stores it in the row of
`k_cache` and of `v_cache`, `[num_slots, N]`, that the slot mapping names. All four lie in one
piece, row after row, so that row `i` begins at element `i * N`. `slot_mapping` is int64
`[num_tokens]`; a token with slot -1 is padding and must not be written anywhere.

`tl.load(pointer + offsets)` reads, `tl.store(pointer + offsets, numbers)` writes; a pointer plus
`number` means N neighbours. Complete `write_tokens`. The checker launches one program per token,
in a cache full of NaN, with several N, all powers of two. Once the cache has so many slots that
`slot * N` does not fit in 32 bits.""",
    reference=write_tokens,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "padding_is_written": Wrong(
            variant(write_tokens, "if slot >= 0:", "if slot >= -1:"),
            "Slot -1 is a slot like any other: in Python, index -1 is the last one.",
            "padding",
        ),
        "key_for_value": Wrong(
            variant(
                write_tokens, "v_cache + slot * N + number, v)", "v_cache + slot * N + number, k)"
            ),
            "The value cache gets the same numbers as the key cache.",
            "one token",
        ),
        "row_by_row": Wrong(
            variant(write_tokens, "k_cache + slot * N", "k_cache + token * N"),
            "Token i of the batch goes to row i of the cache.",
            "a token in another slot",
        ),
        "in_32_bits": Wrong(
            variant(
                write_tokens,
                "tl.load(slot_mapping + token)",
                "tl.load(slot_mapping + token).to(tl.int32)",
            ),
            "A slot number is small, so 32 bits are enough for its address.",
            "far out",
        ),
        "no_offset_of_the_row": Wrong(
            variant(write_tokens, "v_cache + slot * N", "v_cache + slot"),
            "A pointer plus the slot is the row of the slot.",
            "a token in another slot",
        ),
    },
    hints=(
        "A row of the cache is N numbers long. Where does row 6 begin? And row token of key?",
        "Load N numbers from key + token * N + number, and store them at k_cache + slot * N + "
        "number. The same for values. All of it only if the slot is not negative.",
        "Under `if slot >= 0:`, two loads and two stores; slot came as int64, so slot * N is "
        "right in a large cache, as long as you do not narrow it.",
    ),
    vllm=(
        "csrc/cache_kernels.cu: reshape_and_cache_flash_kernel",
        "vllm/attention/backends/flash_attn.py: FlashAttentionImpl.forward, which calls it",
    ),
    play=play,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
