import numpy as np


# %% right: a list
def waste(prompt, answer, stored, row):
    return [stored, prompt + answer - stored, row - prompt - answer]

# %% right: an array
def waste(prompt, answer, stored, row):
    return np.diff([0, stored, prompt + answer, row])

# %% right: slot by slot
def waste(prompt, answer, stored, row):
    token = reserved = internal = 0
    for slot in range(row):
        if slot < stored:
            token += 1
        elif slot < prompt + answer:
            reserved += 1
        else:
            internal += 1
    return token, reserved, internal

# %% right: NumPy integers, the last from the sum
def waste(prompt, answer, stored, row):
    token = np.int64(stored)
    reserved = answer - (token - prompt)
    return token, reserved, row - token - reserved

# %% right: lengths of ranges
def waste(prompt, answer, stored, row):
    end = prompt + answer
    return len(range(stored)), len(range(stored, end)), len(range(end, row))

# %% wrong: the whole answer is reserved
def waste(prompt, answer, stored, row):
    return stored, answer, row - stored - answer

# %% wrong: all that is empty is reserved
def waste(prompt, answer, stored, row):
    return stored, row - stored, 0

# %% wrong: all that is empty is internal
def waste(prompt, answer, stored, row):
    return stored, 0, row - stored

# %% wrong: the prompt does not count
def waste(prompt, answer, stored, row):
    return stored - prompt, prompt + answer - stored, row - prompt - answer

# %% wrong: only the prompt counts
def waste(prompt, answer, stored, row):
    return prompt, answer, row - prompt - answer

# %% wrong: the answer's last token is never stored, so its slot is internal
def waste(prompt, answer, stored, row):
    return stored, prompt + answer - stored - 1, row - (prompt + answer) + 1

# %% wrong: internal and reserved exchanged
def waste(prompt, answer, stored, row):
    return stored, row - (prompt + answer), prompt + answer - stored

# %% wrong: internal counted twice
def waste(prompt, answer, stored, row):
    return stored, row - stored, row - (prompt + answer)

# %% wrong: stored counts the answer alone
def waste(prompt, answer, stored, row):
    return prompt + stored, answer - stored, row - (prompt + answer)

# %% wrong: shares instead of slots
def waste(prompt, answer, stored, row):
    return stored / row, (prompt + answer - stored) / row, (row - prompt - answer) / row
