"""Two answers, one prompt

Alice's prompt is stored once, and two answers share it. Which block is copied when bob writes, and
which when alice writes? Let a third answer begin, or write five more words.
"""

import pagesim

story = pagesim.Story(gpu_blocks=12, block_size=4)
prompt = "Alice was beginning to get very"
alice = story.arrive(prompt, name="alice")
bob = alice.fork(name="bob")

bob.write("tired of")
alice.write("sleepy")
bob.leave()

story.run
