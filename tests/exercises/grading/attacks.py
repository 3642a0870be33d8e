"""What hostile submissions try, as the body of a function that is given a victim.

Those on the world outside end with "done", or are stopped by an exception. ``victim`` has a
process (``pid``), a file of another submission (``file``), an empty folder (``folder``), a port
that listens (``port``).
"""

import itertools
import json
from collections.abc import Callable
from typing import Any

OUTSIDE = {
    "kill another process": "import os; os.kill(victim['pid'], 9)",
    "kill a group": "import os; os.killpg(victim['pid'], 9)",
    "kill a thread": (
        "import ctypes; stop(ctypes.CDLL(None).tgkill, victim['pid'], victim['pid'], 9)"
    ),
    "limit another's processor time": (
        "import resource; resource.prlimit(victim['pid'], resource.RLIMIT_CPU, (0, 0))"
    ),
    "read another's memory": "open(f\"/proc/{victim['pid']}/mem\", 'rb').close()",
    "read another's environment": "open(f\"/proc/{victim['pid']}/environ\").read()",
    "trace another process": (
        "import ctypes, os; ptrace = ctypes.CDLL(None, use_errno=True).ptrace\n"
        "    stop(ptrace, 16, victim['pid'], 0, 0)\n"
        "    os.waitpid(victim['pid'], 0); ptrace(17, victim['pid'], 0, 0)"
    ),
    "read a submission": "open(victim['file']).read()",
    "change a submission": "open(victim['file'], 'a').write('forged')",
    "empty a submission": "import os; os.truncate(victim['file'], 0)",
    "remove a submission": "import os; os.unlink(victim['file'])",
    "rename a submission": "import os; os.rename(victim['file'], victim['file'] + 'x')",
    "lock a submission": "import os; os.chmod(victim['file'], 0)",
    "link to a submission": "import os; os.link(victim['file'], victim['folder'] + '/link')",
    "list the class": "import os; os.listdir(os.path.dirname(victim['file']))",
    "connect": (
        "import socket; socket.create_connection(('127.0.0.1', victim['port']), 2).close()"
    ),
    "send a datagram": (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    s.sendto(b'x', ('127.0.0.1', victim['port'])); s.close()"
    ),
    "fork": "import os; pid = os.fork(); os._exit(0) if pid == 0 else os.waitpid(pid, 0)",
    "run a program": "import subprocess; subprocess.run(['/bin/true'], check=True)",
    "fill the disk": "open(victim['folder'] + '/big', 'wb').write(bytes(1 << 20))",
    "fill its own folder": "open('big', 'wb').write(bytes(1 << 20))",
    "fill a file of no name": "import os; os.write(os.memfd_create('big'), bytes(1 << 20))",
    "make folders": "import os; os.mkdir('a')",
    "take memory": "import mmap; mmap.mmap(-1, 1200 << 20).close()",
    "take memory that stays": (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
        "    segment = stop(libc.shmget, 0, 1 << 20, 0o1600)\n"
        "    libc.shmctl(segment, 0, None)"
    ),
    "become root": ("import os; assert os.getuid() == 0; os.setresuid(0, 0, 0)"),
    "raise a limit": (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    ),
    "find the grader's secrets": "import os; os.environ['PAGESIM_SECRET']",
}
"""Attacks on what is outside, in one process after the other without harm to it."""

FUNCTION = '''
def stop(call, *arguments):
    """An error of C as an exception."""
    result = call(*arguments)
    if result < 0:
        raise OSError("refused")
    return result

def slots(victim):
    {attack}
    return "done"
'''


def function(attack: str) -> str:
    """The text of a submission."""
    return FUNCTION.format(attack=attack)


MERSENNE = 2**61 - 1
"""Python's hash of a whole number is what is left of it after division by this."""


def alike(n: int) -> list[dict[str, Any]]:
    """Different tuples of one hash: -1 and -2 have the same."""
    return [{"tuple": list(bits)} for bits in itertools.product((-1, -2), repeat=n)]


def answering(value: Any) -> bytes:
    """The JSON of an answer."""
    return json.dumps({"id": 1, "problem": "", "printed": "", "value": value}).encode()


FRAMES: dict[str, Callable[[], bytes]] = {
    "a set of numbers of one hash": lambda: answering(
        {"set": [k * MERSENNE for k in range(1, 50_000)]}
    ),
    "a dict of numbers of one hash": lambda: answering(
        {"dict": [[k * MERSENNE, 0] for k in range(1, 50_000)]}
    ),
    "lists of numbers of one hash": lambda: answering(
        [[k * MERSENNE for k in range(1, 40_000)], [k * -MERSENNE for k in range(1, 40_000)]]
    ),
    "numbers of one hash below all limits": lambda: answering(
        [[k << 40 for k in range(45_000)], [-k << 42 for k in range(45_000)]]
    ),
    "floats of one hash": lambda: answering(
        {"set": [2.0 ** (61 * k) * m for k in range(17) for m in (1, 2, 4, 8)] * 1_000}
    ),
    "a set of tuples of one hash": lambda: answering({"set": alike(14)}),
    "sets of tuples of one hash": lambda: answering([{"set": alike(9)} for _ in range(19)]),
    "lists of tuples of one hash": lambda: answering([alike(11), alike(11)]),
    "sets in sets": lambda: answering(
        {"set": [{"frozenset": [{"frozenset": alike(6)}, k]} for k in range(200)]}
    ),
    "an object of a hundred thousand names": lambda: json.dumps(
        {f"{k}": 0 for k in range(100_000)}
    ).encode(),
    "a name a hundred thousand times": lambda: b"{" + b'"set":[1],' * 99_999 + b'"set":[1]}',
    "a number a hundred thousand times": lambda: answering({"set": [1] * 100_000}),
    "NaN as a key": lambda: answering({"dict": [[float("nan"), k] for k in range(50_000)]}),
    "NaN as an answer": lambda: answering([[float("nan")] * 45_000, [float("inf")] * 45_000]),
    "more numbers than are read": lambda: answering(0)[:-2] + b"[" + b"1," * 200_000 + b"1]}",
    "more empty lists than are read": lambda: answering(0)[:-2] + b"[" + b"[]," * 150_000 + b"1]}",
    "lists in lists": lambda: b'{"value":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "lists in lists as deep as Python goes": lambda: (
        b'{"value":' + b"[1," * 900 + b"1" + b"]" * 900 + b"}"
    ),
    "tuples in tuples as a key": lambda: (
        b'{"value":{"set":[' + b'{"tuple":[' * 30 + b"1" + b"]}" * 30 + b"]}}"
    ),
    "a number of a million digits": lambda: answering(0)[:-2] + b"9" * 1_000_000 + b"}",
    "numbers of four thousand digits": lambda: (
        answering(0)[:-2] + b"[" + b",".join([b"-" + b"9" * 4_000] * 500) + b"]}"
    ),
    "a float of a million digits": lambda: answering(0)[:-2] + b"0." + b"9" * 1_000_000 + b"e9}",
    "floats of great exponents": lambda: (
        answering(0)[:-2] + b"[" + b",".join([b"1e999999999"] * 20_000) + b"]}"
    ),
    "a text of a million signs": lambda: answering("\n\x1b" * 150_000),
    "a problem of a million signs": lambda: json.dumps(
        {"id": 1, "problem": "\n" * 900_000, "printed": "\x1b" * 10_000}
    ).encode(),
    "pairs that are none": lambda: answering({"dict": [[1]] * 900}),
    "a number where a list belongs": lambda: answering({"set": 5}),
    "two kinds": lambda: answering({"set": [1], "tuple": [1]}),
    "text in another code": lambda: answering([1]).decode().encode("utf-16"),
}
"""What a submission may write where its answers go."""
