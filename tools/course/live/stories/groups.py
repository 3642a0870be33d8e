"""Two kinds of memory

Some layers see every word, others only the last eight. The layers of each kind form a group with
a table of its own. Which blocks does the second table give back? Let the window be four words wide.
"""

import pagesim

groups = ["full", ("window", 8)]
story = pagesim.Story(
    gpu_blocks=16, engine="v1", groups=groups
)
prompt = "Alice was beginning to get very tired of"
alice = story.arrive(prompt, name="alice")
alice.write("sitting by her sister on the bank and")
print(alice.tables)
alice.leave()

story.run
