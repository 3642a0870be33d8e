"""What machine code must look like on each supported chip.

fp8 here is e4m3, torch.float8_e4m3fn. sm_90 has an instruction to convert it. sm_80 has none, and
Triton must refuse it. gfx942 has a different e4m3 (fnuz: other bias, no -0): Triton accepts ours
there and converts it by ordinary arithmetic, without fp8 instructions.
"""

import re
from dataclasses import dataclass

from pagesim.kernels.gate.machine_code import Facts


@dataclass(frozen=True, slots=True)
class Target:
    """A chip that kernels are compiled for.

    triton: (backend, architecture, warp size); shared: the bytes of shared memory that a program
    may use; fp8: whether Triton takes e4m3 for it.
    """

    triton: tuple[str, int | str, int]
    shared: int
    fp8: bool


TARGETS = {
    "sm_80": Target(("cuda", 80, 32), 163 * 1024, fp8=False),
    "sm_90": Target(("cuda", 90, 32), 227 * 1024, fp8=True),
    "gfx942": Target(("hip", "gfx942", 64), 64 * 1024, fp8=True),
}
REFUSAL = re.compile(r"type fp8e4nv not supported in this architecture[^\"]*?\)")


def problems(facts: Facts, target: Target, per_token: float | None = None) -> list[str]:
    """Which of the gate's rules this machine code breaks; per_token: see `Case`."""
    found = [
        f"steps of {' and '.join(map(str, bits))} bits from {pointer}: make them 64"
        for pointer, bits in facts.offset_bits.items()
        if bits != [64]
    ]
    if facts.spilled:
        found.append(f"spills {facts.spilled}: take smaller tiles or more warps")
    if facts.offset_bits and not facts.wide_loads:
        found.append("no 16-byte load: are the inner strides constant and divisible by 16?")
    if facts.shared > target.shared:
        found.append(f"{facts.shared} bytes of shared memory, the chip has {target.shared}")
    if per_token and facts.per_token and facts.per_token > per_token:
        found.append(f"{facts.per_token:.1f} instructions a token, at most {per_token} are allowed")
    return found
