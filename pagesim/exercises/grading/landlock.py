"""Landlock: from now on this process reads what it is told, and writes nothing.

Linux since 5.13 has it, and it asks for no privilege; it holds for root as well.
Source: linux/landlock.h and the kernel's userspace-api/landlock.rst.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version knows."""
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
_DEVICES = ("/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo", "/proc/self")

if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, *rest: int) -> int:
    """The system call prctl; 0 when it was done."""
    padded = [ctypes.c_ulong(n) for n in (value, *rest, 0, 0, 0)[:4]]
    return int(_libc.prctl(option, *padded))


def syscall(number: int, *arguments: object) -> int:
    """Any system call by its number; -1 when it failed."""
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def capset(number: int | None, mask: int) -> None:
    """Keep the capabilities of ``mask`` and drop the others."""
    if number is not None:
        header = struct.pack("Ii", 0x20080522, 0)
        syscall(number, header, struct.pack("6I", mask, mask, 0, 0, 0, 0))


def restrict(readable: Iterable[Path]) -> bool:
    """Reading beneath ``readable`` and of what Python needs; False where there is no Landlock."""
    version = syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    handled = (1 << _RIGHTS.get(version, 16)) - 1
    # TCP (version 4), then abstract sockets and signals to the outside (version 6).
    attributes = struct.pack("3Q", handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscall(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    if ruleset < 0:
        return False
    for path in (*_SYSTEM, *_DEVICES, *map(str, readable)):
        _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
    _allow(ruleset, "/dev/null", _READ_FILE | _WRITE_FILE)
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS: asked for by landlock_restrict_self
    done = syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0)) == 0
    os.close(ruleset)
    return done


def _allow(ruleset: int, path: str, rights: int) -> None:
    """``rights`` beneath a path, if it is there; a file has no READ_DIR."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= ~_READ_DIR
    rule = struct.pack("=Qi", rights, beneath)
    syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0))
    os.close(beneath)
