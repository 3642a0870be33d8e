import numpy as np


# %% right: what would be left
def may_return(needed, free, total, watermark_blocks):
    def answer(highest):
        if free - needed >= watermark_blocks:
            return "OK"
        return "LATER" if needed <= highest else "NEVER"

    return answer(total), answer(total - watermark_blocks)

# %% right: a list
def may_return(needed, free, total, watermark_blocks):
    if needed + watermark_blocks <= free:
        return ["OK"] * 2
    return [
        "NEVER" if needed > total else "LATER",
        "NEVER" if needed + watermark_blocks > total else "LATER",
    ]

# %% right: all others leave one after the other
def may_return(needed, free, total, watermark_blocks):
    now = free - needed >= watermark_blocks
    some_day = any(f - needed >= watermark_blocks for f in range(free, total + 1))
    right = "OK" if now else "LATER" if some_day else "NEVER"
    return ("LATER" if right == "NEVER" and needed <= total else right), right

# %% right: never before now in the order of the questions
def may_return(needed, free, total, watermark_blocks):
    if needed > total:
        return "NEVER", "NEVER"
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    if total - needed >= watermark_blocks:
        return "LATER", "LATER"
    return "LATER", "NEVER"

# %% right: NumPy's strings
def may_return(needed, free, total, watermark_blocks):
    ok = free >= needed + watermark_blocks
    limits = np.array([total, total - watermark_blocks])
    return np.where(ok, "OK", np.where(needed > limits, "NEVER", "LATER"))

# %% wrong: the watermark is not asked for now
def may_return(needed, free, total, watermark_blocks):
    if free >= needed:
        return "OK", "OK"
    vllm = "NEVER" if needed > total else "LATER"
    return vllm, "NEVER" if needed > total - watermark_blocks else "LATER"

# %% wrong: strictly more must stay free
# as "the watermark is not asked for now", but
#-     if free >= needed:
#+     if free - needed > watermark_blocks:

# %% wrong: right as vLLM has it
def may_return(needed, free, total, watermark_blocks):
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    vllm = "NEVER" if needed > total else "LATER"
    return vllm, vllm

# %% wrong: vLLM as it would be right
def may_return(needed, free, total, watermark_blocks):
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    right = "NEVER" if needed > total - watermark_blocks else "LATER"
    return right, right

# %% wrong: exactly all blocks is never, for vLLM
def may_return(needed, free, total, watermark_blocks):
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    vllm = "NEVER" if needed >= total else "LATER"
    return vllm, "NEVER" if needed > total - watermark_blocks else "LATER"

# %% wrong: exactly all but the watermark is never
# as "right as vLLM has it", but
#-     return vllm, vllm
#+     return vllm, "NEVER" if needed >= total - watermark_blocks else "LATER"

# %% wrong: the two exchanged
# as "right as vLLM has it", but
#-     return vllm, vllm
#+     return ("NEVER" if needed > total - watermark_blocks else "LATER"), vllm

# %% wrong: the watermark only keeps newcomers out, so the right answer does without
def may_return(needed, free, total, watermark_blocks):
    later = "NEVER" if needed > total else "LATER"
    vllm = "OK" if free - needed >= watermark_blocks else later
    return vllm, "OK" if free >= needed else later

# %% wrong: never whenever it does not fit now and nothing is used
# as "right as vLLM has it", but
#-     return vllm, vllm
#+     return vllm, "NEVER" if free == total else "LATER"

# %% wrong: NO for NEVER
def may_return(needed, free, total, watermark_blocks):
    if free - needed >= watermark_blocks:
        return "OK", "OK"
    return ("NO" if needed > total else "LATER"), (
        "NO" if needed > total - watermark_blocks else "LATER"
    )

# %% wrong: the watermark counts twice
# as "right as vLLM has it", but
#-     return vllm, vllm
#+     return vllm, "NEVER" if needed > total - 2 * watermark_blocks else "LATER"
