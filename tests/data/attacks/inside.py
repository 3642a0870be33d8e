# %% an answer that is equal to everything
# said: yours
class Yes(list):
    __eq__ = lambda *a: True
    __ne__ = lambda *a: False
    __len__ = lambda s: 1

def slots(table, n, b):
    return Yes([-1])


# %% a number that is equal to everything
# said: wrong
class Yes(int):
    __eq__ = lambda *a: True
    __hash__ = int.__hash__

def slots(table, n, b):
    return [Yes(-1)] * n


# %% an object of no kind
# said: wrong
class Yes: tolist = 3

def slots(table, n, b):
    return Yes()


# %% checks that always agree
# said: yours
import pagesim.exercises.values as v, pagesim.exercises.exercise as e
v.equal_values = lambda *a: True
e.Exercise.judge = lambda *a: None
e.Exercise.check = lambda *a, **k: True

def slots(table, n, b):
    return [-1] * n


# %% a guard that reports success
# said: yours:    True
import pagesim.exercises.guard as g, sys
for m in list(sys.modules.values()):
    if hasattr(m, 'attempt'): m.attempt = lambda *a: g.Answer(True)

def slots(table, n, b):
    return [-1] * n


# %% a printed verdict
# said: yours
def slots(table, n, b):
    import os, sys
    print(n, True)
    print('right', file=sys.__stdout__, flush=True)
    os.write(1, b'right')
    os.write(2, b'right')
    return [-1] * n


# %% the end of the process
# said: ended itself (exit code 0)
def slots(table, n, b):
    import os
    os._exit(0)


# %% an exit
# said: SystemExit
def slots(table, n, b):
    raise SystemExit(0)


# %% a closed pipe
# said: ended itself
def slots(table, n, b):
    import os
    os.closerange(0, 64)
    return [-1] * n


# %% a segmentation fault
# said: ended by SIGSEGV
def slots(table, n, b):
    import ctypes
    ctypes.string_at(1)


# %% recursion without end
# said: wrong
import sys
sys.setrecursionlimit(10**9)

def slots(table, n, b):
    return slots(table, n, b)


# %% a loop that catches everything
# said: No answer after
def slots(table, n, b):
    while True:
        try:
            while True: pass
        except BaseException: pass


# %% a sleep that hears no signal
# said: its process was ended
def slots(table, n, b):
    import signal, time
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(600)


# %% a clock that was stopped
# said: its process was ended
def slots(table, n, b):
    import signal
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True: pass


# %% gigabytes of print
# said: No answer after
def slots(table, n, b):
    while True: print('x' * 1000000)


# %% an answer without end
# said: wrong
def slots(table, n, b):
    return iter(int, 1)


# %% an answer of ten megabytes
# said: bytes
def slots(table, n, b):
    return ['x' * 1000] * 10000


# %% an answer too deep
# said: wrong
def slots(table, n, b):
    a = []
    for _ in range(10**5): a = [a]
    return a


# %% a number of a million digits
# said: wrong
def slots(table, n, b):
    return [10 ** 1000000]


# %% an error that cannot be told
# said: wrong
class Bad(Exception):
    def __str__(self): raise self
    __repr__ = __str__

def slots(table, n, b):
    raise Bad()


# %% an error that paints the terminal
# said: \x1b[2J\x07
def slots(table, n, b):
    raise ValueError('\x1b[2J\x07')


# %% a file in JSON
# said: wrong
import json
json.dumps = lambda *a, **k: '{"id": 1}'

def slots(table, n, b):
    return [-1] * n


# %% another case
# said: yours:    []
import pagesim.exercises.grading.wire as w
old = w.receive
w.receive = lambda s: {**old(s), 'args': ([0], 0, 1)}

def slots(table, n, b):
    return [-1] * n
