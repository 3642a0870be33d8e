"""To the CPU and back

The pool is full, so alice's blocks are swapped to the CPU, and another conversation, the queen,
takes their place. What is in alice's table when she is back? Let her write one more word at the end, and see what happens.
"""

import pagesim

story = pagesim.Story(4, cpu_blocks=4, block_size=4)
prompt = "Alice was beginning to get very tired"
alice = story.arrive(prompt, name="alice")
riddle = "Why is a raven like a writing-desk"
hatter = story.arrive(riddle, name="hatter")

alice.swap_out()
order = "Off with her head said the Queen"
queen = story.arrive(order, name="queen")
hatter.leave()
alice.swap_in()
alice.write("of")

story.run
