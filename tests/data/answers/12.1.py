# %% right: one dict of lists
def arc(num_chunks, requests):
    lists = {"t1": [], "t2": [], "b1": [], "b2": []}
    target = 0.0

    def take(chunk):
        for row in lists.values():
            if chunk in row:
                row.remove(chunk)

    for request in requests:
        there = lists["t1"] + lists["t2"]
        missing = [c for c in request if c not in there]
        for c in reversed(missing):
            b1, b2 = lists["b1"], lists["b2"]
            if c in b1:
                target = min(num_chunks, target + max(1, len(b2) / len(b1)))
                b1.append(b1.pop(b1.index(c)))
            elif c in b2:
                target = max(0, target - max(1, len(b1) / len(b2)))
                b2.append(b2.pop(b2.index(c)))
        while len(lists["t1"]) + len(lists["t2"]) + len(missing) > num_chunks:
            order = ["t1", "t2"] if len(lists["t1"]) >= int(target) else ["t2", "t1"]
            name, victim = next((n, c) for n in order for c in lists[n] if c not in request)
            lists[name].remove(victim)
            ghosts = lists["b" + name[1]]
            ghosts.append(victim)
            if len(ghosts) > num_chunks:
                ghosts.pop(0)
        for c in reversed(request):
            take(c)
            lists["t1" if c in missing else "t2"].append(c)
    return (*lists.values(), target)

# %% right: victims first, then all of them
def arc(num_chunks, requests):
    t1, t2, b1, b2, target = [], [], [], [], 0.0
    for request in requests:
        was_there = [c in t1 or c in t2 for c in request]
        new = [c for c, was in zip(request, was_there) if not was]
        for c in new[::-1]:
            if c in b1:
                target += max(1, len(b2) / len(b1))
                target = min(target, num_chunks)
                b1.remove(c)
                b1 += [c]
            if c in b2:
                target -= max(1, len(b1) / len(b2))
                target = max(target, 0.0)
                b2.remove(c)
                b2 += [c]
        lack = len(new) - (num_chunks - len(t1) - len(t2))
        for _ in range(lack):
            may1 = [c for c in t1 if c not in request]
            may2 = [c for c in t2 if c not in request]
            from_t1 = bool(may1) and (len(t1) >= int(target) or not may2)
            if from_t1:
                t1.remove(may1[0])
                b1 = (b1 + [may1[0]])[-num_chunks:]
            else:
                t2.remove(may2[0])
                b2 = (b2 + [may2[0]])[-num_chunks:]
        t1 = [c for c in t1 if c not in request] + new[::-1]
        old = [c for c, was in zip(request, was_there) if was]
        t2 = [c for c in t2 if c not in request] + old[::-1]
        b1 = [c for c in b1 if c not in request]
        b2 = [c for c in b2 if c not in request]
    return t1, t2, b1, b2, float(target)

# %% right: without int
# as "one dict of lists", but
#-             order = ["t1", "t2"] if len(lists["t1"]) >= int(target) else ["t2", "t1"]
#+             order = ["t1", "t2"] if len(lists["t1"]) > target - 1 else ["t2", "t1"]

# %% right: the head is put in last
# as "victims first, then all of them", but
#-         t1 = [c for c in t1 if c not in request] + new[::-1]
#+         t1 = [c for c in t1 if c not in request]
#+         for c in new:
#+             t1.insert(len(t1) - new.index(c), c)

# %% right: floor
# as "one dict of lists", but
#-             order = ["t1", "t2"] if len(lists["t1"]) >= int(target) else ["t2", "t1"]
#+             order = ["t2", "t1"] if len(lists["t1"]) < target // 1 else ["t1", "t2"]

# %% wrong: the newest goes
# as "one dict of lists", but
#-             name, victim = next((n, c) for n in order for c in lists[n] if c not in request)
#+             name, victim = next((n, c) for n in order for c in lists[n][::-1] if c not in request)

# %% wrong: t1 always loses
# as "one dict of lists", but
#-             order = ["t1", "t2"] if len(lists["t1"]) >= int(target) else ["t2", "t1"]
#+             order = ["t1", "t2"]

# %% wrong: head to tail
# as "one dict of lists", but
#-         for c in reversed(request):
#-             take(c)
#+         for c in request:
#+             take(c)

# %% wrong: ghosts come back as used twice
# as "one dict of lists", but
#-             take(c)
#-             lists["t1" if c in missing else "t2"].append(c)
#+             was_ghost = c in lists["b1"] + lists["b2"]
#+             take(c)
#+             lists["t1" if c in missing and not was_ghost else "t2"].append(c)

# %% wrong: a chunk in the tier is a ghost still
# as "one dict of lists", but
#-         for row in lists.values():
#+         for row in (lists["t1"], lists["t2"]):

# %% wrong: the fraction the other way round
# as "one dict of lists", but
#-                 target = min(num_chunks, target + max(1, len(b2) / len(b1)))
#+                 target = min(num_chunks, target + max(1, len(b1) / len(b2 or [0])))

# %% wrong: the target has no upper end
# as "one dict of lists", but
#-                 target = min(num_chunks, target + max(1, len(b2) / len(b1)))
#+                 target = target + max(1, len(b2) / len(b1))

# %% wrong: the target may be negative
# as "one dict of lists", but
#-                 target = max(0, target - max(1, len(b1) / len(b2)))
#+                 target = target - max(1, len(b1) / len(b2))

# %% wrong: ghosts of both kinds lower it
# as "one dict of lists", but
#-                 target = min(num_chunks, target + max(1, len(b2) / len(b1)))
#+                 target = max(0, target - max(1, len(b2) / len(b1)))

# %% wrong: evicted chunks leave no ghost
# as "one dict of lists", but
#-             ghosts.append(victim)
#+             ghosts += []

# %% wrong: one ghost list
# as "one dict of lists", but
#-             ghosts = lists["b" + name[1]]
#+             ghosts = lists["b1"]

# %% wrong: needed chunks go
# as "victims first, then all of them", but
#-             may1 = [c for c in t1 if c not in request]
#+             may1 = t1
