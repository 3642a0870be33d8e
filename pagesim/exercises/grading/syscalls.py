"""A filter on system calls: no sockets, no processes, no hand on another process.

Seccomp in Linux; needs no privilege, holds in containers, and cannot be taken off. The numbers are
those of asm/unistd_64.h (x86-64) and asm-generic/unistd.h (arm64).
"""

import ctypes
import os
import struct

from pagesim.exercises.grading.landlock import prctl, syscall

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_UNSHARE = 0x40000000 | 0x08000000  # CLONE_NEWNET | CLONE_NEWIPC
_NEWUSER = 0x10000000
_EPERM, _ENOSYS = 1, 38
_NEWEST = 462
"""Calls with a higher number are younger than this list: they are not there."""

# name: (x86-64, arm64); None: there is no such call.
_FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    # Network, and ways around a filter.
    "socket": (41, 198), "io_uring_setup": (425, 425), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "unshare": (272, 97),
    "setns": (308, 268), "open_by_handle_at": (304, 265),
    # New processes and programs; threads are threads of this one.
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    # Other processes: signals, memory, limits, priorities.
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "kcmp": (312, 272),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # What Landlock leaves of files: modes, owners, times, attributes.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    # Memory that outlives the process.
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
_CLONE, _CLONE3, _TGKILL, _PRLIMIT = (56, 220), (435, 435), (234, 131), (302, 261)
_CLONE_THREAD = 0x10000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


def forbid(machine: str) -> bool:
    """Install the filter in all threads; False where it cannot be had."""
    if machine not in _AUDIT:
        return False
    program = _program(machine)
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    code = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    return syscall(_SECCOMP[machine], ctypes.c_uint(1), ctypes.c_uint(1), given) == 0


def leave_network() -> bool:
    """A network of its own without a card; what is left to do where there is no filter."""
    unshare = ctypes.CDLL(None).unshare
    return 0 in (unshare(flags) for flags in (_UNSHARE, _UNSHARE | _NEWUSER))


def _program(machine: str) -> bytes:
    """The filter in BPF: A is the call's number, then one comparison after the other."""
    at = [*_AUDIT].index(machine)
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT[machine]), (_RETURN, 0, 0, _KILL)]
    lines += [(_LOAD, 0, 0, 0)]
    lines += [(_EQUAL, 0, 1, _CLONE3[at]), (_RETURN, 0, 0, _ERROR | _ENOSYS)]
    lines += [(_AT_LEAST, 0, 1, _NEWEST + 1), (_RETURN, 0, 0, _ERROR | _ENOSYS)]
    for call in (numbers[at] for numbers in _FORBIDDEN.values()):
        if call is not None:
            lines += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | _EPERM)]
    # These are allowed for one first argument: a thread, this process, this process's limits.
    for test, call, allowed in (
        (_ANY_BIT, _CLONE[at], _CLONE_THREAD),
        (_EQUAL, _TGKILL[at], os.getpid()),
        (_EQUAL, _PRLIMIT[at], 0),
    ):
        lines += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, 16), (test, 0, 1, allowed)]
        lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | _EPERM)]
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
