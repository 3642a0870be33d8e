"""What hostile submissions try, as the body of a function that is given a victim.

Each ends with "done", or is stopped by an exception. ``victim`` has a process (``pid``), a file of
another submission (``file``), an empty folder (``folder``), a port that listens (``port``).
"""

from __future__ import annotations

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
    "take memory": "len(bytearray(1200 << 20))",
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
