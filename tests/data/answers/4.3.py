FREED = "a shared block is freed with its first owner"
COUNT = "a fork does not raise the count"
LATE = "the copy is made after the write"


# %% right: prompts of one token
def find_the_bug(machine, block_size):
    if machine == "A":
        return [("arrive", 0, 1), ("fork", 0, 1), ("leave", 1), ("arrive", 2, 1)], FREED
    if machine == "B":
        return [("arrive", 0, 1), ("fork", 0, 1), ("write", 0, 1), ("write", 1, 1)], COUNT
    return [("arrive", 0, 1), ("fork", 0, 1), ("write", 1, 1)], LATE

# %% right: lists, other names
def find_the_bug(machine, block_size):
    begin = [["arrive", 7, 2 * block_size + 1], ["fork", 7, 9]]
    rest = {
        "A": ([["leave", 9], ["arrive", 3, 3 * block_size]], FREED),
        "B": ([["write", 9, 1], ["write", 7, 1]], COUNT),
        "C": ([["write", 7, 1]], LATE),
    }
    story, cause = rest[machine]
    return [begin + story, cause]

# %% right: longer than needed, but not longer than allowed
def find_the_bug(machine, block_size):
    story = [("arrive", 0, block_size + 1), ("fork", 0, 1), ("fork", 0, 2)]
    if machine == "A":
        return [*story, ("leave", 2), ("leave", 1), ("arrive", 3, 2 * block_size)], FREED
    if machine == "B":
        return [*story, ("write", 2, 1), ("write", 1, 1), ("write", 0, 1)], COUNT
    return [*story, ("write", 1, 1), ("write", 0, 1)], LATE

# %% right: tuples of tuples
def find_the_bug(machine, block_size):
    story = (("arrive", 0, block_size - 1), ("fork", 0, 1))
    if machine == "A":
        return (*story, ("leave", 0), ("arrive", 5, block_size)), FREED
    if machine == "B":
        return (*story, ("write", 1, 1), ("write", 0, 1)), COUNT
    return (*story, ("write", 1, 1)), LATE

# %% right: a full block, then one shared in part
def find_the_bug(machine, block_size):
    story = [("arrive", 1, block_size), ("write", 1, 1), ("fork", 1, 2)]
    if machine == "C":
        return story + [("write", 2, 1)], LATE
    if machine == "B":
        return story + [("write", 2, 1), ("write", 1, 1)], COUNT
    return story + [("leave", 1), ("arrive", 4, 1), ("write", 4, 1)], FREED

# %% wrong: prompts that fill the block, where blocks have two slots
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 2), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("arrive", 2, 1)], FREED
    if machine == "B":
        return [*begin, ("write", 0, 1), ("write", 1, 1)], COUNT
    return [*begin, ("write", 0, 1)], LATE

# %% wrong: prompts of three tokens, which only fit blocks of four
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 3), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("arrive", 2, 1)], FREED
    if machine == "B":
        return [*begin, ("write", 0, 2), ("write", 1, 1)], COUNT
    return [*begin, ("write", 0, 1)], LATE if block_size == 4 else COUNT

# %% wrong: A and B exchanged
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 1), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("arrive", 2, 1)], COUNT
    if machine == "B":
        return [*begin, ("write", 0, 1), ("write", 1, 1)], FREED
    return [*begin, ("write", 0, 1)], LATE

# %% wrong: one owner writes, which B does well
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 1), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("arrive", 2, 1)], FREED
    if machine == "B":
        return [*begin, ("write", 1, 1)], COUNT
    return [*begin, ("write", 0, 1)], LATE

# %% wrong: nobody takes the freed block
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 1), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("write", 1, 1)], FREED
    if machine == "B":
        return [*begin, ("write", 0, 1), ("write", 1, 1)], COUNT
    return [*begin, ("write", 0, 1)], LATE

# %% wrong: a cause in words of its own
# as "nobody takes the freed block", but
#-         return [*begin, ("leave", 0), ("write", 1, 1)], FREED
#+         return [*begin, ("leave", 0), ("arrive", 2, 1)], "the block is freed too early"

# %% wrong: nine acts
# as "one owner writes, which B does well", but
#-         return [*begin, ("write", 1, 1)], COUNT
#+         more = [("write", 0, 1)] * 5
#+         return [*begin, *more, ("write", 1, 1), ("write", 1, 1)], COUNT

# %% wrong: the story and the cause exchanged
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 1), ("fork", 0, 1)]
    if machine == "A":
        return FREED, [*begin, ("leave", 0), ("arrive", 2, 1)]
    if machine == "B":
        return COUNT, [*begin, ("write", 0, 1), ("write", 1, 1)]
    return LATE, [*begin, ("write", 0, 1)]

# %% wrong: a decoy for C
def find_the_bug(machine, block_size):
    begin = [("arrive", 0, 1), ("fork", 0, 1)]
    if machine == "A":
        return [*begin, ("leave", 0), ("arrive", 2, 1)], FREED
    if machine == "B":
        return [*begin, ("write", 0, 1), ("write", 1, 1)], COUNT
    return [*begin, ("write", 0, 1)], "a full block is also copied"

# %% wrong: the same story for all, which A does well
def find_the_bug(machine, block_size):
    story = [("arrive", 0, 1), ("fork", 0, 1), ("write", 0, 1), ("write", 1, 1)]
    return story, {"A": FREED, "B": COUNT, "C": LATE}[machine]

# %% wrong: a full block is shared, so nothing is copied
# as "prompts that fill the block, where blocks have two slots", but
#-     begin = [("arrive", 0, 2), ("fork", 0, 1)]
#+     begin = [("arrive", 0, block_size), ("fork", 0, 1)]

# %% wrong: the story for blocks of four whatever they are
# as "prompts that fill the block, where blocks have two slots", but
#-     begin = [("arrive", 0, 2), ("fork", 0, 1)]
#+     begin = [("arrive", 0, 6), ("fork", 0, 1)]
