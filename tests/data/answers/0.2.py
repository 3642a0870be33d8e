from collections import deque


# %% right: a small function says who owns the block at a step
def owners(run, block):
    def owner(step):
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                return name
        return None

    changes = [(k, owner(k)) for k in range(1, len(run) + 1) if owner(k) != owner(k - 1)]
    writers = [
        e.table
        for k in range(len(run))
        for e in run[k].effects
        if e.kind == "write" and e.block == block
    ]
    return changes, writers[-1] if writers else None

# %% right: lists in a list
def owners(run, block):
    changes, before, writer = [], None, None
    for k in range(len(run)):
        for e in run[k].effects:
            if (e.kind, e.block) == ("write", block):
                writer = e.table
        here = [n for n, t in run.at(k + 1).tables.items() if block in list(t.block_ids)]
        now = here[0] if here else None
        if now != before:
            changes.append([k + 1, now])
        before = now
    return [changes, writer]

# %% right: asks the run for its events
def owners(run, block):
    changes = [(k + 1, run[k].subject) for k in run.find(block=block, kind="take")]
    changes += [(k + 1, None) for k in run.find(block=block, kind="free")]
    writer = None
    for k in run.find(block=block, kind="write"):
        for e in run[k].effects:
            if e.kind == "write" and e.block == block:
                writer = e.table
    return sorted(changes, key=lambda change: change[0]), writer

# %% right: the writer from the back
def owners(run, block):
    states = [
        next((n for n, t in run.at(k).tables.items() if block in t.block_ids), None)
        for k in range(len(run) + 1)
    ]
    changes = tuple((k, b) for k, (a, b) in enumerate(zip(states, states[1:]), 1) if a != b)
    for k in reversed(range(len(run))):
        for e in reversed(list(run[k].effects)):
            if e.kind == "write" and e.block == block:
                return changes, e.table
    return changes, None

# %% right: a deque of changes, a dict from blocks to owners
def owners(run, block):
    changes, last, writer = deque(), None, None
    for step in range(1, len(run) + 1):
        owner_of = {b: name for name, table in run.at(step).tables.items() for b in table.block_ids}
        if owner_of.get(block) != last:
            last = owner_of.get(block)
            changes.append((step, last))
        for effect in run[step - 1].effects:
            if effect.kind == "write" and effect.block == block:
                writer = effect.table
    return changes, writer

# %% wrong: names the event, not the step that shows it
def owners(run, block):
    changes, owner, writer = [], None, None
    for step in range(1, len(run) + 1):
        for e in run[step - 1].effects:
            if e.kind == "write" and e.block == block:
                writer = e.table
        now = None
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                now = name
        if now != owner:
            changes.append((step - 1, now))
            owner = now
    return changes, writer

# %% wrong: begins with a change to free at step 0
# as "names the event, not the step that shows it", but
#-     changes, owner, writer = [], None, None
#+     changes, owner, writer = [(0, None)], None, None
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now))

# %% wrong: never looks at the last step
# as "names the event, not the step that shows it", but
#-     for step in range(1, len(run) + 1):
#-         for e in run[step - 1].effects:
#+     for step in range(len(run)):
#+         for e in run[step].effects:
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now))

# %% wrong: takes the last owner for the last writer
def owners(run, block):
    changes, owner, writer = [], None, None
    for step in range(1, len(run) + 1):
        now = None
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                now = writer = name
        if now != owner:
            changes.append((step, now))
            owner = now
    return changes, writer

# %% wrong: the writer is the owner at the end
def owners(run, block):
    changes, owner = [], None
    for step in range(1, len(run) + 1):
        now = None
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                now = name
        if now != owner:
            changes.append((step, now))
            owner = now
    return changes, owner

# %% wrong: the first writer
# as "names the event, not the step that shows it", but
#-             if e.kind == "write" and e.block == block:
#+             if e.kind == "write" and e.block == block and writer is None:
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now))

# %% wrong: a write to any block counts
# as "names the event, not the step that shows it", but
#-             if e.kind == "write" and e.block == block:
#+             if e.kind == "write":
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now))

# %% wrong: takes s0 for nobody, because 0 is false
# as "names the event, not the step that shows it", but
#-                 writer = e.table
#+                 writer = e.table or writer
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now if now else None))

# %% wrong: the last block of each table only
# as "names the event, not the step that shows it", but
#-             if block in table.block_ids:
#+             if table.block_ids[-1] == block:
#
#-             changes.append((step - 1, now))
#+             changes.append((step, now))

# %% wrong: never says that the block is free again
def owners(run, block):
    changes, owner, writer = [], None, None
    for step in range(1, len(run) + 1):
        for e in run[step - 1].effects:
            if e.kind == "write" and e.block == block:
                writer = e.table
        for name, table in run.at(step).tables.items():
            if block in table.block_ids and name != owner:
                changes.append((step, name))
                owner = name
    return changes, writer

# %% wrong: every step at which somebody owns it
def owners(run, block):
    changes, writer = [], None
    for step in range(1, len(run) + 1):
        for e in run[step - 1].effects:
            if e.kind == "write" and e.block == block:
                writer = e.table
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                changes.append((step, name))
    return changes, writer
