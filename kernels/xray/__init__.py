"""An x-ray of a kernel: which program read or wrote which slots, in which order.

    trace = kernels.xray(kernels.paged_attention_v1, q, k_cache, v_cache, block_tables, seq_lens)
    print(trace.summary())        # per tensor: bytes, sectors, lines, efficiency
    trace.by_program()            # per program: its sequences and heads, its accesses in order
    trace.readers()               # block -> the sequences whose programs read it
    trace.check()                 # AssertionError if a program left its own sequence's slots

The kernel runs in Triton's interpreter, one program after the other, and answers as ever
(`trace.result`). An access outside every tensor of the call is recorded and **not** carried out: on
a GPU it would read foreign memory, here it would end the process. Addresses are all that is seen: a
stray access that happens to hit another tensor of the call counts as an access to that one.

**Sectors and lines.** A GPU moves memory in 32-byte sectors and looks it up in 128-byte lines.
`efficiency` is the bytes wanted ÷ the bytes of the sectors they lie in. It is counted for a whole
`tl.load` of one program, and addresses count from the start of the tensor's storage, which on a GPU
begins at a line. What one instruction of one warp touches is `kernels.simt`'s business.
"""

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from kernels.xray import interpreter
from kernels.xray.ownership import read_ownership
from kernels.xray.recorder import Recorder
from kernels.xray.trace import AccessTrace


def xray(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> AccessTrace:
    """Run a launcher of this package (or one of yours) and watch every program's memory accesses.

    The arguments are the launcher's own. Keeps about 16 bytes for every element touched: use small
    caches. Raises RuntimeError, naming the way out, where kernels are not interpreted, or where
    triton's interpreter is one that the x-ray does not understand; else what the launcher raises.
    """
    interpreter.require_interpreter("kernels.xray")
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
    """`kernels.xray` is this package and the function in it: it can be called."""

    __call__ = staticmethod(xray)


sys.modules[__name__].__class__ = _Room
