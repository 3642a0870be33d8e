from pagesim.exercises.ch08.cheapest import PRICES
from pagesim.sizing import ModelSpec, size_v1
from pagesim.sizing.hardware import CARDS


# %% right: all combinations
from pagesim.errors import UsageError


def cheapest(chats, tokens):
    model = ModelSpec.preset("llama-3.1-70b")
    best = None
    for card in PRICES:
        for gpus in [2, 4, 8, 16]:
            memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
            for kind in ["auto", "fp8"]:
                try:
                    size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
                except UsageError:
                    continue
                if size.max_concurrency(tokens) < chats:
                    continue
                cost = PRICES[card] * gpus
                if best is None or cost < best[0]:
                    best = cost, (card, gpus, kind)
    return best[1]

# %% right: from the cheapest on, fp8 first
import itertools


def cheapest(chats, tokens):
    model = ModelSpec.preset("llama-3.1-70b")
    choices = itertools.product(PRICES, (2, 4, 8, 16), ("fp8", "auto"))
    for card, gpus, kind in sorted(choices, key=lambda c: PRICES[c[0]] * c[1]):
        memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
        if memory < 10**9:
            continue
        size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
        if size.max_concurrency(tokens) >= chats:
            return card, gpus, kind

# %% right: fp8 alone, since it holds more at the same price; a list
def cheapest(chats, tokens):
    model = ModelSpec.preset("llama-3.1-70b")
    found = []
    for card, price in PRICES.items():
        for gpus in (2, 4, 8, 16):
            memory = int(CARDS[card].memory_bytes) * 9 // 10 - 141_200_000_000 // gpus - 2 * 10**9
            if memory > 10**8:
                size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype="fp8")
                if size.max_concurrency(tokens) >= chats:
                    found.append([price * gpus, card, gpus])
    _, card, gpus = min(found)
    return [card, gpus, "fp8"]

# %% right: its own account of the blocks
import math


def cheapest(chats, tokens):
    def holds(card, gpus, number_bytes):
        memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
        block = 80 * 2 * max(1, 8 // gpus) * 128 * 16 * number_bytes
        return max(0, memory // block) / math.ceil(tokens / 16)

    good = [
        (gpus * PRICES[card], card, gpus, kind)
        for card in PRICES
        for gpus in (2, 4, 8, 16)
        for kind, number_bytes in (("auto", 2), ("fp8", 1))
        if holds(card, gpus, number_bytes) >= chats
    ]
    return min(good)[1:]

# %% right: a dictionary of prices, the answer looked up
def cheapest(chats, tokens):
    model = ModelSpec.preset("llama-3.1-70b")
    prices = {}
    for card in PRICES:
        for gpus in (2, 4, 8, 16):
            for kind in ("auto", "fp8"):
                memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
                if memory < 5 * 10**8:
                    continue
                size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
                if size.max_concurrency(tokens) >= chats:
                    prices[card, gpus, kind] = gpus * PRICES[card]
    return min(prices, key=prices.get)

# %% wrong: auto alone
# as "all combinations", but
#-             for kind in ["auto", "fp8"]:
#+             for kind in ["auto"]:

# %% wrong: all of the memory
# as "all combinations", but
#-             memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
#+             memory = int(CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)

# %% wrong: each card holds all weights
# as "all combinations", but
#-             memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
#+             memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 - 2e9)

# %% wrong: the memory of all cards together
# as "all combinations", but
#-             memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
#+             memory = int(gpus * 0.9 * CARDS[card].memory_bytes - 141.2e9 - 2e9)

# %% wrong: the price of one card
# as "all combinations", but
#-                 cost = PRICES[card] * gpus
#+                 cost = PRICES[card]

# %% wrong: the fewest cards first
# as "all combinations", but
#-                 cost = PRICES[card] * gpus
#+                 cost = (gpus, PRICES[card])

# %% wrong: one chat too few is enough
# as "all combinations", but
#-                 if size.max_concurrency(tokens) < chats:
#+                 if size.max_concurrency(tokens) * 1.5 < chats:

# %% wrong: the weights forgotten
# as "all combinations", but
#-             memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
#+             memory = int(0.9 * CARDS[card].memory_bytes - 2e9)

# %% wrong: tensor_parallel_size forgotten
# as "all combinations", but
#-                     size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
#+                     size = size_v1(model, memory, tensor_parallel_size=1, kv_cache_dtype=kind)

# %% wrong: gpus in front of the card
# as "all combinations", but
#-                     best = cost, (card, gpus, kind)
#+                     best = cost, (gpus, card, kind)
