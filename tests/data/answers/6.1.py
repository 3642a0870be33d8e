# %% right: the digest of the block before, and the tokens with a comma
import hashlib


def chain(tokens, block_size):
    hashes = []
    previous = ""
    for i in range(len(tokens) // block_size):
        block = tokens[i * block_size : (i + 1) * block_size]
        data = previous + ":" + ",".join(str(t) for t in block)
        previous = hashlib.sha256(data.encode()).hexdigest()
        hashes.append(previous)
    return hashes

# %% right: the whole beginning in each hash
import hashlib


def chain(tokens, block_size):
    ends = range(block_size, len(tokens) + 1, block_size)
    return [hashlib.sha256(repr(list(tokens[:end])).encode()).hexdigest() for end in ends]

# %% right: one hash that goes on, eight bytes a token
import hashlib


def chain(tokens, block_size):
    running = hashlib.sha256()
    found = []
    for place, token in enumerate(tokens, start=1):
        running.update(token.to_bytes(8, "little"))
        if place % block_size == 0:
            found.append(running.copy().hexdigest())
    return found

# %% right: NumPy's bytes, a tuple
import hashlib

import numpy as np


def chain(tokens, block_size):
    full = len(tokens) // block_size
    blocks = np.array(tokens[: full * block_size], dtype=np.int64).reshape(full, block_size)
    parent, out = b"root", ()
    for block in blocks:
        parent = hashlib.sha256(parent + block.tobytes()).digest()
        out += (parent.hex(),)
    return out

# %% right: pickle of a pair, recursively
import hashlib
import pickle


def chain(tokens, block_size):
    if len(tokens) < block_size:
        return []
    before = chain(tokens[: (len(tokens) - 1) // block_size * block_size], block_size)
    if len(tokens) % block_size:
        return before
    last = before[-1] if before else None
    data = pickle.dumps((last, tuple(tokens[-block_size:])))
    return before + [hashlib.sha256(data).hexdigest()]

# %% wrong: only the block's own tokens
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = ",".join(str(t) for t in block)

# %% wrong: digits without anything between them
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = previous + ":" + "".join(str(t) for t in block)

# %% wrong: tokens as bytes, the lowest eight bits alone
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#-         previous = hashlib.sha256(data.encode()).hexdigest()
#+         data = previous.encode() + bytes(t % 256 for t in block)
#+         previous = hashlib.sha256(data).hexdigest()

# %% wrong: two bytes a token, modulo 65,536
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#-         previous = hashlib.sha256(data.encode()).hexdigest()
#+         data = previous.encode() + b"".join((t & 0xFFFF).to_bytes(2, "little") for t in block)
#+         previous = hashlib.sha256(data).hexdigest()

# %% wrong: bytes(), which fails above 255
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#-         previous = hashlib.sha256(data.encode()).hexdigest()
#+         data = previous.encode() + bytes(block)
#+         previous = hashlib.sha256(data).hexdigest()

# %% wrong: the tokens in sorted order
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = previous + ":" + ",".join(str(t) for t in sorted(block))

# %% wrong: the block that is not full too
# as "the digest of the block before, and the tokens with a comma", but
#-     for i in range(len(tokens) // block_size):
#+     for i in range(-(-len(tokens) // block_size)):

# %% wrong: only the tokens of the block before, not its hash
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = str(tokens[max(0, (i - 1) * block_size) : i * block_size]) + ":" + ",".join(str(t) for t in block)

# %% wrong: the sum of the tokens
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = previous + ":" + str(sum(block))

# %% wrong: the place of the block instead of what is before it
# as "the digest of the block before, and the tokens with a comma", but
#-         data = previous + ":" + ",".join(str(t) for t in block)
#+         data = str(i) + ":" + ",".join(str(t) for t in block)
