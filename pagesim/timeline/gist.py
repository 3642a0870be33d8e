"""What a recorded run shows, in a line: the title of its page, if its author gave it none."""

from pagesim.journal.effects import ENTER
from pagesim.player.describe import counted
from pagesim.timeline.file import Run


def gist(run: Run) -> str:
    """How many requests share how much memory, and how often it was too little for who ran."""
    start, requests, lost = run.at(0), set(), 0
    for kind, _, _, *rows in run.entries():
        requests |= {row[3] for row in rows if row[0] == ENTER}
        lost += kind == "preempt"
    if not requests:
        return "What happened to the pages"
    blocks = start.num_gpu_blocks - (start.null_block is not None)
    memory = counted(blocks, "block" if start.block_size > 1 else "slot")
    who = f"{counted(len(requests), 'request')} share {memory}"
    times = "once" if lost == 1 else f"{lost} times"
    return f"{who}: {times} none is free, and one must wait again" if lost else who
