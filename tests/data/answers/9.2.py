# %% right: two halves: out and in
def relink(after, before, op, block):
    end = len(after) - 1
    if op == "popleft":
        block = after[end]
    if op == "popleft" or op == "remove":
        a, b = before[block], after[block]
        after[a] = b
        before[b] = a
        after[block] = None
        before[block] = None
    elif op == "append":
        last = before[end]
        after[last] = block
        before[block] = last
        after[block] = end
        before[end] = block
    else:
        first = after[end]
        before[first] = block
        after[block] = first
        before[block] = end
        after[end] = block
    return block

# %% right: match, all links of an operation at once
def relink(after, before, op, block):
    match op:
        case "popleft":
            return relink(after, before, "remove", after[-1])
        case "remove":
            after[before[block]], before[after[block]] = after[block], before[block]
            after[block] = before[block] = None
        case "append":
            place = before[-1]
            before[block], after[block] = place, len(after) - 1
            after[place] = before[-1] = block
        case "prepend":
            place = after[-1]
            after[block], before[block] = place, len(after) - 1
            before[place] = after[-1] = block
    return block

# %% right: functions by name
def relink(after, before, op, block):
    sentinel = len(after) - 1

    def between(left, right):
        after[left], before[right] = block, block
        before[block], after[block] = left, right
        return block

    def out(which):
        left, right = before[which], after[which]
        after[left], before[right] = right, left
        before[which], after[which] = None, None
        return which

    return {
        "popleft": lambda: out(after[sentinel]),
        "remove": lambda: out(block),
        "append": lambda: between(before[sentinel], sentinel),
        "prepend": lambda: between(sentinel, after[sentinel]),
    }[op]()

# %% right: prepend is append seen from the other side
def _put(after, before, block):
    end = len(after) - 1
    last = before[end]
    after[last], after[block] = block, end
    before[end], before[block] = block, last


def relink(after, before, op, block):
    if op in ("append", "prepend"):
        _put(*((after, before) if op == "append" else (before, after)), block)
        return block
    if block is None:
        block = after[len(after) - 1]
    left = before[block]
    right = after[block]
    after[left] = right
    before[right] = left
    after[block] = before[block] = None
    return block

# %% right: pop and insert of single entries by slices of length one
def relink(after, before, op, block):
    end = len(before) - 1
    if op == "popleft":
        block = after[end]
    if op in {"popleft", "remove"}:
        left, right = before[block], after[block]
        new = {"after": right, "before": left, "mine": (None, None)}
    else:
        left = end if op == "prepend" else before[end]
        right = after[end] if op == "prepend" else end
        new = {"after": block, "before": block, "mine": (left, right)}
    before[block], after[block] = new["mine"]
    after[left] = new["after"]
    before[right] = new["before"]
    return block

# %% wrong: a loop looks for the last block
# as "two halves: out and in", but
#-         last = before[end]
#+         last = end
#+         while after[last] != end:
#+             last = after[last]

# %% wrong: index looks for the neighbour
# as "two halves: out and in", but
#-         a, b = before[block], after[block]
#+         a, b = after.index(block), after[block]

# %% wrong: the queue is written out as a list, changed, and linked anew
def relink(after, before, op, block):
    end = len(after) - 1
    queue, place = [], after[end]
    while place != end:
        queue.append(place)
        place = after[place]
    if op == "popleft":
        block = queue.pop(0)
    elif op == "remove":
        queue.remove(block)
    elif op == "append":
        queue.append(block)
    else:
        queue.insert(0, block)
    for b in range(end):
        after[b] = before[b] = None
    ring = [end, *queue, end]
    for left, right in zip(ring, ring[1:]):
        after[left], before[right] = right, left
    return block

# %% wrong: the links of what was taken stay
# as "two halves: out and in", but
#-         after[block] = None
#-         before[block] = None

# %% wrong: remove forgets the way back
# as "two halves: out and in", but
#-         before[b] = a

# %% wrong: append forgets the sentinel
# as "two halves: out and in", but
#-         before[end] = block

# %% wrong: append and prepend exchanged
# as "two halves: out and in", but
#-     elif op == "append":
#+     elif op == "prepend":

# %% wrong: popleft takes the last
# as "two halves: out and in", but
#-         block = after[end]
#+         block = before[end]

# %% wrong: nothing is returned by append and prepend
# as "two halves: out and in", but
#-     return block
#+     return block if op in ('popleft', 'remove') else None

# %% wrong: new lists instead of the given ones
# as "two halves: out and in", but
#  def relink(after, before, op, block):
#+     after, before = list(after), list(before)
