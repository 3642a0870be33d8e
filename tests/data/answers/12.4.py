# %% right: a table
def show_wrong_bytes(tier, num_chunks):
    a = [1, 1]
    full = list(range(2 * num_chunks))
    return {
        "A": ([(0, a), (5, a)], "early"),
        "B": ([(0, a), (1, [2, 2]), (8, a)], "unwatched"),
        "C": ([(0, full), (8, full), (8, [99, 99])], "evicted"),
    }[tier]

# %% right: longer prompts
def show_wrong_bytes(tier, num_chunks):
    x = [1, 2, 3, 4]
    y = [5, 6, 7]
    if tier == "A":
        return [[0, x], [20, x]], "early"
    if tier == "B":
        return [[3, x[:2]], [4, y], [20, x[:2]]], "unwatched"
    x = [7] * (2 * num_chunks)
    return [[1, x], [10, x], [10, y]], "evicted"

# %% right: the other one a step later
def show_wrong_bytes(tier, num_chunks):
    x = [1] * 2 * num_chunks
    if tier == "A":
        return [(0, x), (4, x)], "early"
    if tier == "B":
        return [(0, [1, 1]), (1, [2]), (9, [1, 1])], "unwatched"
    return [(0, x), (9, [5, 5]), (9, x), (20, x)], "evicted"

# %% right: as late as possible
def show_wrong_bytes(tier, num_chunks):
    x, y = [1] * 2 * num_chunks, [2, 2]
    if tier == "A":
        return [(20, x), (30, x)], "early"
    if tier == "B":
        return [(20, [1, 1]), (21, y), (30, [1, 1])], "unwatched"
    return [(20, x), (30, x), (30, y)], "evicted"

# %% right: a fourth request does no harm
def show_wrong_bytes(tier, num_chunks):
    x, y = [1] * 2 * num_chunks, [2, 2]
    if tier == "A":
        return ([(0, x), (9, x), (19, x), (29, x)], "early")
    if tier == "B":
        return ([(0, y), (1, [3, 3]), (9, y), (19, y)], "unwatched")
    return ([(0, x), (9, x), (9, y), (25, [4])], "evicted")

# %% wrong: nothing comes back
# as "a table", but
#-         "A": ([(0, a), (5, a)], "early"),
#+         "A": ([(0, a)], "early"),

# %% wrong: too many requests
# as "a table", but
#-         "A": ([(0, a), (5, a)], "early"),
#+         "A": ([(0, a), (5, a), (6, a), (7, a), (8, a)], "early"),

# %% wrong: a cause that is not in the list
# as "a table", but
#-         "A": ([(0, a), (5, a)], "early"),
#+         "A": ([(0, a), (5, a)], "too early"),

# %% wrong: prompts without steps
# as "a table", but
#-         "A": ([(0, a), (5, a)], "early"),
#+         "A": ([a, a], "early"),

# %% wrong: pending for A
# as "a table", but
#-         "A": ([(0, a), (5, a)], "early"),
#+         "A": ([(0, a), (5, a)], "pending"),

# %% wrong: the other prompt comes much later in B
# as "a table", but
#-         "B": ([(0, a), (1, [2, 2]), (8, a)], "unwatched"),
#+         "B": ([(0, a), (6, [2, 2]), (12, a)], "unwatched"),

# %% wrong: nobody else comes in B
# as "a table", but
#-         "B": ([(0, a), (1, [2, 2]), (8, a)], "unwatched"),
#+         "B": ([(0, a), (8, a)], "unwatched"),

# %% wrong: causes of B and C are swapped
# as "a table", but
#-         "B": ([(0, a), (1, [2, 2]), (8, a)], "unwatched"),
#+         "B": ([(0, a), (1, [2, 2]), (8, a)], "evicted"),

# %% wrong: a prompt longer than the tier
# as "a table", but
#-     full = list(range(2 * num_chunks))
#+     full = list(range(2 * num_chunks + 2))

# %% wrong: half a block is left in C
# as "a table", but
#-     full = list(range(2 * num_chunks))
#+     full = list(range(2 * num_chunks - 2))

# %% wrong: only the requests
# as "a table", but
#-     }[tier]
#+     }[tier][0]

# %% wrong: a step after the last
# as "as late as possible", but
#-         return [(20, x), (30, x)], "early"
#+         return [(20, x), (31, x)], "early"
