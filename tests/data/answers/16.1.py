# %% right: a set of lost places, and a walk
def harmed(facts, starts, page, block_size):
    per_page = block_size // 4
    lost = {a for a, b in facts[page * per_page : (page + 1) * per_page]}
    way = dict(facts)
    wrong = []
    for start in starts:
        here = start
        while here != ".":
            if here in lost:
                wrong.append(start)
                break
            here = way[here]
    return wrong

# %% right: the damaged map
def harmed(facts, starts, page, block_size):
    whole = dict(facts)
    damaged = {
        a: b for i, (a, b) in enumerate(facts) if not page * block_size <= 4 * i < (page + 1) * block_size
    }

    def walk(way, place):
        places = []
        while place in way:
            places.append(place)
            place = way[place]
        return places

    return [start for start in starts if walk(whole, start) != walk(damaged, start)]

# %% right: recursion, a tuple
def harmed(facts, starts, page, block_size):
    way = {a: (b, 4 * i // block_size) for i, (a, b) in enumerate(facts)}

    def needs(place):
        if place == ".":
            return False
        to, its_page = way[place]
        return its_page == page or needs(to)

    return tuple(filter(needs, starts))

# %% right: backwards: who leads to what is lost
def harmed(facts, starts, page, block_size):
    first = page * block_size // 4
    bad = {place for place, _ in facts[first : first + block_size // 4]}
    grown = True
    while grown:
        more = {a for a, b in facts if b in bad} - bad
        bad |= more
        grown = bool(more)
    return [each for each in starts if each in bad]

# %% right: the pages of each walk, with the text of the prompt
def harmed(facts, starts, page, block_size):
    prompt = "".join(a + ">" + b + ";" for a, b in facts)
    wrong = []
    for start in starts:
        place, pages = start, set()
        while place != ".":
            at = prompt.index(place + ">")
            pages.add(at // block_size)
            place = prompt[at + 2]
        if page in pages:
            wrong += [start]
    return wrong

# %% wrong: only the start's own fact
def harmed(facts, starts, page, block_size):
    n = block_size // 4
    lost = [a for a, _ in facts[page * n : (page + 1) * n]]
    return [s for s in starts if s in lost]

# %% wrong: a fact a page, whatever its size
# as "a set of lost places, and a walk", but
#-     per_page = block_size // 4
#+     per_page = 1

# %% wrong: a fact has three tokens
# as "a set of lost places, and a walk", but
#-     per_page = block_size // 4
#+     per_page = block_size // 3

# %% wrong: the end of a walk needs no fact
# as "a set of lost places, and a walk", but
#-         while here != ".":
#+         while way[here] != ".":

# %% wrong: what a lost fact leads to is lost
# as "a set of lost places, and a walk", but
#-     lost = {a for a, b in facts[page * per_page : (page + 1) * per_page]}
#+     lost = {b for a, b in facts[page * per_page : (page + 1) * per_page]}

# %% wrong: everyone behind the page in the prompt
def harmed(facts, starts, page, block_size):
    order = [a for a, _ in facts]
    return [s for s in starts if order.index(s) * 4 >= page * block_size]

# %% wrong: in the order of the facts
# as "a set of lost places, and a walk", but
#-     for start in starts:
#+     for start in [a for a, _ in facts if a in starts]:

# %% wrong: those that stay right
# as "a set of lost places, and a walk", but
#-     return wrong
#+     return [start for start in starts if start not in wrong]

# %% wrong: two steps of each walk
# as "a set of lost places, and a walk", but
#-         while here != ".":
#+         for _ in range(2):
#+             if here == ".":
#+                 break

# %% wrong: the next page
# as "a set of lost places, and a walk", but
#-     lost = {a for a, b in facts[page * per_page : (page + 1) * per_page]}
#+     lost = {a for a, b in facts[(page + 1) * per_page : (page + 2) * per_page]}
