"""The smallest kernel worth running: does this machine run kernels at all?

Its loop bound is loaded from memory, like a sequence's length in an attention kernel: old
interpreters fail on that.
"""

from typing import no_type_check

import torch

from pagesim.kernels import reference
from pagesim.kernels.runtime import mode

triton, tl = mode.load_triton()

_WIDTH, _STEPS = 16, 5


@no_type_check
@triton.jit
def probe_kernel(steps_ptr, out_ptr, WIDTH: tl.constexpr):
    """out[lane] = lane · (1 + 2 + … + steps)."""
    lane = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], dtype=tl.float32)
    for step in range(0, tl.load(steps_ptr)):
        total += lane * (step + 1)
    tl.store(out_ptr + lane, total)


def run_probe() -> str:
    """Run the probe kernel (without triton: the reference); "ok", or a sentence on what failed."""
    backend = mode.decide()
    if backend.device is None:
        return f"not run: {backend.reason}"
    if backend.mode == "reference":
        return _probe_reference()
    steps = torch.tensor([_STEPS], dtype=torch.int32, device=backend.device)
    out = torch.full((_WIDTH,), float("nan"), device=backend.device)
    probe_kernel[(1,)](steps, out, WIDTH=_WIDTH)
    expected = [float(lane * sum(range(1, _STEPS + 1))) for lane in range(_WIDTH)]
    got = out.cpu().tolist()
    return "ok" if got == expected else f"the kernel gave {got}, expected {expected}"


def _probe_reference() -> str:
    """One key gets all the weight, so attention returns its value."""
    q, table, lens = torch.ones(1, 1, 4), torch.tensor([[1]]), torch.tensor([1])
    cache = torch.arange(8.0).reshape(2, 1, 1, 4)
    arrays = [tensor.numpy() for tensor in (q, cache, cache, table, lens)]
    got = reference.online_softmax_attention(*arrays).ravel().tolist()
    expected = [4.0, 5.0, 6.0, 7.0]
    return "ok" if got == expected else f"the reference gave {got}, expected {expected}"
