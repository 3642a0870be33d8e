"""The same beginning

Three prompts begin with the same eight words. With caching, the blocks of these words are computed
once. Put a word before the last prompt: how many tokens are still found?
"""

import pagesim

story = pagesim.Story(8, block_size=4, caching=True)
system = "You are a rabbit and you are late"

one = story.arrive(system + " What time is it", "one")
two = story.arrive(system + " Where is my glove", "two")
one.leave()
two.leave()

last = story.arrive(system + " Who took my tarts", "last")
print("tokens found:", last.num_cached_tokens)

story.run
