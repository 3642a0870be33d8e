# %% right: counters by engine and medium
from collections import Counter, defaultdict


def longest_prefixes(num_engines, events, hashes):
    index = defaultdict(Counter)
    for engine, event in events:
        kind = event["type"]
        if kind == "AllBlocksCleared":
            index[engine, "GPU"] = Counter()
        elif kind == "BlockStored":
            index[engine, event["medium"]].update(event["block_hashes"])
        else:
            for block in event["block_hashes"]:
                if index[engine, event["medium"]][block]:
                    index[engine, event["medium"]][block] -= 1
    result = []
    for engine in range(num_engines):
        n = 0
        while n < len(hashes) and any(index[engine, m][hashes[n]] for m in ("GPU", "CPU")):
            n += 1
        result.append(n)
    return result

# %% right: lists of copies
def longest_prefixes(num_engines, events, hashes):
    gpu = [[] for _ in range(num_engines)]
    cpu = [[] for _ in range(num_engines)]
    for engine, event in events:
        if event["type"] == "AllBlocksCleared":
            gpu[engine] = []
            continue
        copies = gpu[engine] if event["medium"] == "GPU" else cpu[engine]
        for block in event["block_hashes"]:
            if event["type"] == "BlockStored":
                copies.append(block)
            elif block in copies:
                copies.remove(block)
    found = []
    for engine in range(num_engines):
        missing = [n for n, h in enumerate(hashes) if h not in gpu[engine] + cpu[engine]]
        found.append(missing[0] if missing else len(hashes))
    return found

# %% right: one dict with triples
def longest_prefixes(num_engines, events, hashes):
    count = {}
    for engine, event in events:
        if event["type"] == "AllBlocksCleared":
            count = {key: n for key, n in count.items() if key[:2] != (engine, "GPU")}
            continue
        step = 1 if event["type"] == "BlockStored" else -1
        for block in event["block_hashes"]:
            key = (engine, event["medium"], block)
            count[key] = max(count.get(key, 0) + step, 0)
    found = [0] * num_engines
    for engine in range(num_engines):
        for block in hashes:
            if count.get((engine, "GPU", block), 0) + count.get((engine, "CPU", block), 0) == 0:
                break
            found[engine] += 1
    return found

# %% right: engine by engine
def longest_prefixes(num_engines, events, hashes):
    def prefix(engine):
        copies = {"GPU": {}, "CPU": {}}
        for told_by, event in events:
            if told_by != engine:
                continue
            if event["type"] == "AllBlocksCleared":
                copies["GPU"] = {}
            else:
                sign = {"BlockStored": 1, "BlockRemoved": -1}[event["type"]]
                row = copies[event["medium"]]
                for block in event["block_hashes"]:
                    row[block] = max(0, row.get(block, 0) + sign)
        n = 0
        for block in hashes:
            if not (copies["GPU"].get(block) or copies["CPU"].get(block)):
                return n
            n += 1
        return n

    return [prefix(engine) for engine in range(num_engines)]

# %% right: takewhile
from collections import Counter
from itertools import takewhile


def longest_prefixes(num_engines, events, hashes):
    engines = [{"GPU": Counter(), "CPU": Counter()} for _ in range(num_engines)]
    for number, event in events:
        engine = engines[number]
        if event["type"] == "AllBlocksCleared":
            engine["GPU"].clear()
        elif event["type"] == "BlockStored":
            engine[event["medium"]] += Counter(event["block_hashes"])
        else:
            engine[event["medium"]] -= Counter(event["block_hashes"])
    return [len([*takewhile(lambda h: h in e["GPU"] or h in e["CPU"], hashes)]) for e in engines]

# %% wrong: sets
def longest_prefixes(num_engines, events, hashes):
    there = [set() for _ in range(num_engines)]
    for engine, event in events:
        if event["type"] == "BlockStored":
            there[engine].update(event["block_hashes"])
        elif event["type"] == "BlockRemoved":
            there[engine].difference_update(event["block_hashes"])
        else:
            there[engine].clear()
    found = []
    for engine in range(num_engines):
        n = 0
        while n < len(hashes) and hashes[n] in there[engine]:
            n += 1
        found.append(n)
    return found

# %% wrong: the GPU alone counts
# as "one dict with triples", but
#-             if count.get((engine, "GPU", block), 0) + count.get((engine, "CPU", block), 0) == 0:
#+             if count.get((engine, "GPU", block), 0) == 0:

# %% wrong: both media must have it
# as "engine by engine", but
#-             if not (copies["GPU"].get(block) or copies["CPU"].get(block)):
#+             if not (copies["GPU"].get(block) and copies["CPU"].get(block)):

# %% wrong: all counts of an engine are cleared
# as "one dict with triples", but
#-             count = {key: n for key, n in count.items() if key[:2] != (engine, "GPU")}
#+             count = {key: n for key, n in count.items() if key[0] != engine}

# %% wrong: the GPUs of all engines are cleared
# as "one dict with triples", but
#-             count = {key: n for key, n in count.items() if key[:2] != (engine, "GPU")}
#+             count = {key: n for key, n in count.items() if key[1] != "GPU"}

# %% wrong: below zero
# as "one dict with triples", but
#-             count[key] = max(count.get(key, 0) + step, 0)
#+             count[key] = count.get(key, 0) + step

# %% wrong: counts are not by medium
# as "one dict with triples", but
#-             key = (engine, event["medium"], block)
#+             key = (engine, "GPU", block)

# %% wrong: not a prefix
# as "one dict with triples", but
#-                 break
#+                 continue

# %% wrong: the best engine
# as "engine by engine", but
#-     return [prefix(engine) for engine in range(num_engines)]
#+     return max(range(num_engines), key=prefix)

# %% wrong: the first block is not counted
# as "engine by engine", but
#-                 return n
#-             n += 1
#-         return n
#+                 return max(n - 1, 0)
#+             n += 1
#+         return n

# %% wrong: all copies go at once
# as "lists of copies", but
#-             elif block in copies:
#-                 copies.remove(block)
#+             while event["type"] == "BlockRemoved" and block in copies:
#+                 copies.remove(block)

# %% wrong: engines that never spoke are left out
# as "engine by engine", but
#-     return [prefix(engine) for engine in range(num_engines)]
#+     return [prefix(engine) for engine in sorted({engine for engine, _ in events})]
