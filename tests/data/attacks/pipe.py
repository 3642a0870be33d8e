import json, os, struct
def frame(**message):
    data = json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data
def everywhere(data):
    for descriptor in range(1, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            pass


# %% a verdict in the pipe
# said: something else where its answers go
def slots(table, n, b):
    everywhere(frame(right=True, points=1, problem='', id=1))
    return [-1] * n


# %% answers in the pipe
# said: wrong
def slots(table, n, b):
    for i in range(1000): everywhere(frame(value=[-1], problem='', printed='', id=i))
    return [-1] * n


# %% a frame that claims four gigabytes
# said: something else where its answers go: a frame of 4294967295 bytes
def slots(table, n, b):
    everywhere(b'\xff' * 16)
    return [-1] * n


# %% a frame that is no JSON
# said: cannot be read
def slots(table, n, b):
    everywhere(b'\0\0\0\1x')


# %% a frame that is too deep
# said: cannot be read (RecursionError)
def slots(table, n, b):
    everywhere(struct.pack('>I', 200000) + b'[' * 200000)


# %% a frame of another kind
# said: the kind 'call'
def slots(table, n, b):
    everywhere(frame(value={'call': 'os'}))


# %% numbers that all have one hash
# said: a whole number of
def slots(table, n, b):
    everywhere(frame(problem='', id=2, value={'set': [k * (2**61 - 1) for k in range(9**4)]}))
    return [-1] * n


# %% a frame one byte at a time
# said: its process was ended
import time

def slots(table, n, b):
    everywhere(struct.pack('>I', 10**6))
    while True:
        try:
            while True: everywhere(b' '); time.sleep(0.05)
        except BaseException: pass


# %% endless data
# said: something else
def slots(table, n, b):
    while True: everywhere(bytes(65536))


# %% a verdict at the end of the process
# said: yours
import atexit
atexit.register(everywhere, frame(right=True, points=1, id=1))

def slots(table, n, b):
    return [-1] * n
