# %% right: contents first, then one launch or as many as needed, by dicts
def in_order(pairs):
    launches, sources = [], {}
    for a, b in pairs:
        origin = sources.get(a, a)
        if origin == b:
            sources.pop(b, None)
            continue
        if b in sources.values():
            launches.append([(s, t) for t, s in sources.items()])
            sources, origin = {}, a
        sources[b] = origin
    return launches + [[(s, t) for t, s in sources.items()]] if sources else launches

# %% right: a launch as a list of lists
def in_order(pairs):
    launches, launch = [], []
    for source, target in pairs:
        origin = source
        for a, b in launch:
            if b == source:
                origin = a
        if origin == target:
            launch = [p for p in launch if p[1] != target]
            continue
        if any(a == target for a, _ in launch):
            launches.append(launch)
            launch, origin = [], source
        launch = [p for p in launch if p[1] != target] + [[origin, target]]
    if launch:
        launches.append(launch)
    return launches

# %% right: as kernels.copy_blocks does
def in_order(pairs):
    from pagesim.kernels.block_copy import batches

    return [[(a, b) for b, a in batch.items()] for batch in batches(pairs)]

# %% right: tuples
def in_order(pairs):
    done, now = (), {}
    for source, target in pairs:
        if now.get(source, source) == target:
            continue
        if target in set(now.values()):
            done += (tuple((a, b) for b, a in now.items()),)
            now = {target: source}
        else:
            now[target] = now.get(source, source)
    return done + (tuple((a, b) for b, a in now.items()),) if now else done

# %% right: closes a launch and begins another, in a function of its own
def in_order(pairs):
    launches = [{}]
    for source, target in pairs:
        here = launches[-1]
        origin = here[source] if source in here else source
        if origin == target:
            continue
        if target in here.values():
            launches.append({target: source})
        else:
            here[target] = origin
    return [[(here[b], b) for b in here] for here in launches if here]

# %% wrong: all at once
def in_order(pairs):
    return [list(pairs)]

# %% wrong: one launch for every copy
def in_order(pairs):
    return [[pair] for pair in pairs]

# %% wrong: a new launch whenever a block was written before
def in_order(pairs):
    launches, launch = [], []
    for a, b in pairs:
        if any(a in p or b in p for p in launch):
            launches.append(launch)
            launch = []
        launch.append((a, b))
    return [*launches, launch]

# %% wrong: overwritten sources are not thought of
def in_order(pairs):
    launch = {}
    for a, b in pairs:
        launch[b] = launch.get(a, a)
    return [[(a, b) for b, a in launch.items() if a != b]]

# %% wrong: sources are not followed
def in_order(pairs):
    launches, launch = [], {}
    for a, b in pairs:
        if b in launch.values():
            launches.append([(s, t) for t, s in launch.items()])
            launch = {}
        launch[b] = a
    return [*launches, [(s, t) for t, s in launch.items()]]

# %% wrong: the old origin is kept in the new launch
def in_order(pairs):
    launches, launch = [], {}
    for a, b in pairs:
        origin = launch.get(a, a)
        if b in launch.values() and origin != b:
            launches.append([(s, t) for t, s in launch.items()])
            launch = {}
        if origin != b:
            launch[b] = origin
    return [*launches, [(s, t) for t, s in launch.items()]] if launch else launches

# %% wrong: a block written twice stays twice
def in_order(pairs):
    launches, launch, origin_of = [], [], {}
    for a, b in pairs:
        origin = origin_of.get(a, a)
        if b in origin_of.values() and origin != b:
            launches.append(launch)
            launch, origin_of, origin = [], {}, a
        if origin != b:
            launch.append((origin, b))
            origin_of[b] = origin
    return [*launches, launch] if launch else launches

# %% wrong: in reverse, so that nothing is overwritten before it is read
def in_order(pairs):
    return [[pair] for pair in reversed(pairs)]

# %% wrong: the last launch is forgotten when it was just begun
# as "the old origin is kept in the new launch", but
#-             launch = {}
#+             launch, origin = {}, a
#
#-     return [*launches, [(s, t) for t, s in launch.items()]] if launch else launches
#+     if len(launch) > 1 or not launches:
#+         launches.append([(s, t) for t, s in launch.items()])
#+     return launches

# %% wrong: a copy back to where it came from makes a launch of its own
def in_order(pairs):
    launches, launch = [], {}
    for a, b in pairs:
        origin = launch.get(a, a)
        if b in launch.values():
            launches.append([(s, t) for t, s in launch.items()])
            launch, origin = {}, a
        launch[b] = origin
    return [*launches, [(s, t) for t, s in launch.items()]]

# %% wrong: follows a source in the whole past, also into closed launches
def in_order(pairs):
    launches, launch, past = [], {}, {}
    for a, b in pairs:
        origin = past.get(a, a)
        if b in launch.values() and origin != b:
            launches.append([(s, t) for t, s in launch.items()])
            launch = {}
        if origin != b:
            launch[b] = past[b] = origin
    return [*launches, [(s, t) for t, s in launch.items()]] if launch else launches
