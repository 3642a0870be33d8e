"""What a submission's process gives up before it runs a line of the student's.

Four layers, each on its own, and each where the system has it: resource limits (POSIX), another
user (where the grader is root), Landlock (files) and a system call filter (network, processes,
signals). None of them needs a privilege. :func:`enter` says what is gone; the report's header
repeats it.
"""

import contextlib
import os
import platform
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from pagesim.exercises.grading import landlock, syscalls

LAYERS = ("limits", "landlock", "user", "syscalls")
MEMORY = 1 << 30
"""Bytes that a submission may take beyond what Python and the libraries take."""

NOBODY = 65534
_LIMITS = {"CORE": 0, "FSIZE": 0, "NPROC": 0, "NOFILE": 64, "MSGQUEUE": 0, "CPU": 3600}
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 1, 4, 8
_CAP_DAC_READ_SEARCH = 2
_CAPSET = {"x86_64": 126, "aarch64": 91}

TAKEN = {
    "network": "the network",
    "writing": "writing files",
    "reading": "reading files other than Python's own",
    "processes": "starting processes",
    "signals": "signals to other processes, and their memory",
    "memory": f"memory beyond {MEMORY >> 20} MiB",
}
"""What can be taken away, in words."""


def enter(layers: Collection[str], readable: Iterable[Path]) -> list[str]:
    """Give up what ``layers`` name; which of :data:`TAKEN` is gone for good."""
    taken: set[str] = set()
    if "limits" in layers and _limit():
        taken |= {"writing"} | ({"processes"} if os.getuid() != 0 else set())
    if sys.platform != "linux":
        return sorted(taken)
    machine = platform.machine()
    if "landlock" in layers and landlock.restrict(readable):
        taken |= {"reading", "writing"}
    if "user" in layers and os.getuid() == 0:
        _become_nobody(machine)
        taken |= {"signals"} | ({"processes"} if "limits" in layers else set())
    landlock.prctl(_PR_SET_PDEATHSIG, 9)
    if "syscalls" in layers:
        if syscalls.forbid(machine):
            taken |= {"network", "processes", "signals"}
        elif syscalls.leave_network():
            taken |= {"network"}
    return sorted(taken | {"memory"} if "limits" in layers else taken)


def limit_memory() -> None:
    """No more than :data:`MEMORY` from now on; called when the libraries are loaded."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def guard_memory() -> None:
    """For the grader: no process of the same user may look into this one."""
    if sys.platform == "linux":
        landlock.prctl(_PR_SET_DUMPABLE, 0)


def _limit() -> bool:
    """Limits that POSIX has: no byte into a file, no process, 64 files, no core, an hour."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    for name, most in _LIMITS.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    return True


def _become_nobody(machine: str) -> None:
    """Another user, who may still read Python where only root reaches it (/root/.pyenv).

    That right goes through Landlock, which has narrowed it by now.
    """
    landlock.prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    landlock.capset(_CAPSET.get(machine), 1 << _CAP_DAC_READ_SEARCH)
