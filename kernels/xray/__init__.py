"""An x-ray of a kernel: which program read or wrote which slots, in which order.

    trace = kernels.xray(kernels.paged_attention_v1, q, k_cache, v_cache, block_tables, seq_lens)
    print(trace.summary())        # per tensor: bytes, sectors, lines, efficiency
    trace.by_program()            # per program: its sequences and heads, its accesses in order
    trace.readers()               # block -> the sequences whose programs read it
    kernels.xray.reads(trace)     # what programs hold after each load: see Timeline.film
    trace.check()                 # AssertionError if a program left its own sequence's slots

The kernel runs in Triton's interpreter, one program after the other, and returns its normal result
(`trace.result`). An access outside every tensor of the call is recorded and **not** carried out: on
a GPU it would read foreign memory, here it would end the process. The x-ray sees only addresses: a
stray access that happens to hit another tensor of the call counts as an access to that one.

**Sectors and lines.** A GPU moves memory in 32-byte sectors and looks it up in 128-byte lines.
`efficiency` is the bytes wanted ÷ the bytes of the sectors they lie in. It is counted for a whole
`tl.load` of one program, and addresses count from the start of the tensor's storage, which on a GPU
begins at a line. For a single instruction of a warp see `kernels.simt`.
"""

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pagesim.kernels.xray import interpreter
from pagesim.kernels.xray.ownership import read_ownership
from pagesim.kernels.xray.reads import reads as reads
from pagesim.kernels.xray.recorder import Recorder
from pagesim.kernels.xray.trace import AccessTrace


def xray(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> AccessTrace:
    """Run a launcher of this package (or one of yours) and watch every program's memory accesses.

    The arguments are the launcher's own. A trace keeps about 16 bytes for every element touched:
    use small caches. The launcher's errors pass through. RuntimeError names the way out if kernels
    are not interpreted here, or if the x-ray does not understand triton's interpreter.
    """
    interpreter.require_interpreter("pagesim.kernels.xray")
    bound = inspect.signature(kernel).bind(*args, **kwargs)
    bound.apply_defaults()
    recorder = Recorder(bound.arguments)
    with interpreter.watched(recorder):
        result = kernel(*args, **kwargs)
    return AccessTrace(
        name=getattr(kernel, "__name__", "kernel"),
        result=result,
        arguments=bound.arguments,
        programs=recorder.programs,
        regions=recorder.regions,
        ownership=read_ownership(bound.arguments),
    )


class _Room(ModuleType):
    """Makes the package callable: `kernels.xray` is both the package and its function."""

    __call__ = staticmethod(xray)


sys.modules[__name__].__class__ = _Room
