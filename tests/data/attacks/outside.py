def stop(call, *arguments):
    """An error of C as an exception."""
    result = call(*arguments)
    if result < 0:
        raise OSError("refused")
    return result


# %% kill another process
def slots(victim):
    import os
    os.kill(victim['pid'], 9)
    return "done"


# %% kill a group
def slots(victim):
    import os
    os.killpg(victim['pid'], 9)
    return "done"


# %% kill a thread
def slots(victim):
    import ctypes
    stop(ctypes.CDLL(None).tgkill, victim['pid'], victim['pid'], 9)
    return "done"


# %% limit another's processor time
def slots(victim):
    import resource
    resource.prlimit(victim['pid'], resource.RLIMIT_CPU, (0, 0))
    return "done"


# %% read another's memory
def slots(victim):
    open(f"/proc/{victim['pid']}/mem", 'rb').close()
    return "done"


# %% read another's environment
def slots(victim):
    open(f"/proc/{victim['pid']}/environ").read()
    return "done"


# %% trace another process
def slots(victim):
    import ctypes, os
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    stop(ptrace, 16, victim['pid'], 0, 0)
    os.waitpid(victim['pid'], 0)
    ptrace(17, victim['pid'], 0, 0)
    return "done"


# %% read a submission
def slots(victim):
    open(victim['file']).read()
    return "done"


# %% change a submission
def slots(victim):
    open(victim['file'], 'a').write('forged')
    return "done"


# %% empty a submission
def slots(victim):
    import os
    os.truncate(victim['file'], 0)
    return "done"


# %% remove a submission
def slots(victim):
    import os
    os.unlink(victim['file'])
    return "done"


# %% rename a submission
def slots(victim):
    import os
    os.rename(victim['file'], victim['file'] + 'x')
    return "done"


# %% lock a submission
def slots(victim):
    import os
    os.chmod(victim['file'], 0)
    return "done"


# %% link to a submission
def slots(victim):
    import os
    os.link(victim['file'], victim['folder'] + '/link')
    return "done"


# %% list the class
def slots(victim):
    import os
    os.listdir(os.path.dirname(victim['file']))
    return "done"


# %% connect
def slots(victim):
    import socket
    socket.create_connection(('127.0.0.1', victim['port']), 2).close()
    return "done"


# %% send a datagram
def slots(victim):
    import socket
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b'x', ('127.0.0.1', victim['port']))
    s.close()
    return "done"


# %% fork
def slots(victim):
    import os
    pid = os.fork()
    os._exit(0) if pid == 0 else os.waitpid(pid, 0)
    return "done"


# %% run a program
def slots(victim):
    import subprocess
    subprocess.run(['/bin/true'], check=True)
    return "done"


# %% fill the disk
def slots(victim):
    open(victim['folder'] + '/big', 'wb').write(bytes(1 << 20))
    return "done"


# %% fill its own folder
def slots(victim):
    open('big', 'wb').write(bytes(1 << 20))
    return "done"


# %% fill a file of no name
def slots(victim):
    import os
    os.write(os.memfd_create('big'), bytes(1 << 20))
    return "done"


# %% make folders
def slots(victim):
    import os
    os.mkdir('a')
    return "done"


# %% take memory
def slots(victim):
    import mmap
    mmap.mmap(-1, 1200 << 20).close()
    return "done"


# %% take memory that stays
def slots(victim):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    segment = stop(libc.shmget, 0, 1 << 20, 0o1600)
    libc.shmctl(segment, 0, None)
    return "done"


# %% become root
def slots(victim):
    import os
    assert os.getuid() == 0
    os.setresuid(0, 0, 0)
    return "done"


# %% raise a limit
def slots(victim):
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    return "done"


# %% find the grader's secrets
def slots(victim):
    import os
    os.environ['PAGESIM_SECRET']
    return "done"
