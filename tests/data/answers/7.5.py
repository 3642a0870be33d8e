# %% right: a stream for each
def show_it(scheduler, num_blocks):
    if scheduler == "A":
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
    if scheduler == "B":
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "oldest"

# %% right: tried at random until one differs
import random

from pagesim.exercises.ch07.find_the_bug import side_by_side


def show_it(scheduler, num_blocks):
    rng = random.Random(1)
    cause = {"A": "back", "B": "overtake", "C": "oldest"}[scheduler]
    while True:
        stream = []
        for _ in range(3):
            prompt = rng.randint(1, 4 * num_blocks - 6)
            stream.append((prompt, rng.randint(2, 6)))
        if "differs" in side_by_side(scheduler, stream, num_blocks):
            return stream, cause

# %% right: tuples all the way, a larger prompt in front
def show_it(scheduler, num_blocks):
    slots = 4 * num_blocks
    streams = {
        "A": ((slots - 8, 6), (8, 4), (4, 4)),
        "B": ((slots - 8, 2), (12, 2), (3, 2)),
        "C": ((slots - 16, 4), (6, 4), (6, 4)),
    }
    causes = {"A": "back", "B": "overtake", "C": "oldest"}
    return streams[scheduler], causes[scheduler]

# %% right: only two requests where two are enough
def show_it(scheduler, num_blocks):
    n = 4 * num_blocks
    match scheduler:
        case "A":
            return [(n - 8, 5), (8, 3), (4, 3)], "back"
        case "B":
            return [(n - 4, 2), (8, 2), (4, 2)], "overtake"
        case "C":
            return [(n - 16, 9), (5, 9), (5, 9)], "oldest"

# %% right: lists
def show_it(scheduler, num_blocks):
    whole = num_blocks * 4
    if scheduler == "A":
        requests, cause = [[whole - 8, 5], [8, 3], [4, 3]], "back"
    elif scheduler == "B":
        requests, cause = [[whole - 8, 3], [12, 3], [4, 3]], "overtake"
    else:
        requests, cause = [[whole - 16, 3], [5, 3], [5, 3]], "oldest"
    return [requests, cause]

# %% wrong: the causes of A and C exchanged
def show_it(scheduler, num_blocks):
    if scheduler == "A":
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "oldest"
    if scheduler == "B":
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "back"

# %% wrong: three small requests, for which there is room
def show_it(scheduler, num_blocks):
    cause = {"A": "back", "B": "overtake", "C": "oldest"}[scheduler]
    return [(4, 3), (4, 3), (4, 3)], cause

# %% wrong: right for 6 blocks alone
def show_it(scheduler, num_blocks):
    if scheduler == "A":
        return [(16, 5), (8, 3), (4, 3)], "back"
    if scheduler == "B":
        return [(16, 3), (12, 3), (4, 3)], "overtake"
    return [(8, 3), (5, 3), (5, 3)], "oldest"

# %% wrong: always the cause back
def show_it(scheduler, num_blocks):
    if scheduler == "A":
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
    if scheduler == "B":
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "back"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "back"

# %% wrong: four requests
def show_it(scheduler, num_blocks):
    if scheduler == "A":
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3), (4, 3)], "back"
    if scheduler == "B":
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3), (1, 1)], "oldest"

# %% wrong: the cause as a sentence
# as "a stream for each", but
#-         return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
#+         return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "A preempted request goes to the end of waiting, not to its front."

# %% wrong: a prompt that fills the pool and leaves no room for its answer
# as "a stream for each", but
#-         return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
#+         return [(4 * num_blocks, 5), (8, 3), (4, 3)], "back"

# %% wrong: cause and requests exchanged
# as "a stream for each", but
#-         return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
#+         return "back", [(4 * num_blocks - 8, 5), (8, 3), (4, 3)]

# %% wrong: B: the second fits as well, so nothing overtakes
# as "a stream for each", but
#-         return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
#+         return [(4 * num_blocks - 16, 3), (8, 3), (4, 3)], "overtake"

# %% wrong: C: nothing is preempted, since the answers are short
# as "a stream for each", but
#-     return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "oldest"
#+     return [(4 * num_blocks - 16, 1), (5, 1), (5, 1)], "oldest"
