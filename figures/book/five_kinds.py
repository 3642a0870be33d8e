"""Chapter 1: where the slots of contiguous memory are, in the paper's words."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, bracket, drawing, note, say
from pagesim.figures.style import Box
from pagesim.simulation.baselines import BuddyAllocator
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.waste import PARTS
from pagesim.workload import Request

POOL = 32
SLOT = 624 / POOL
MEANS = {
    "token": "holds the key and\nvalue of a token",
    "reserved": "the output will\nstill need it",
    "internal": "asked for, will\nnever be used",
    "external": "given beyond what\nwas asked: lost",
    "free": "for the next\nrequest",
}
REQUESTS = {"A": (Request("A", 0.0, 3, 5), 3), "B": (Request("B", 0.0, 2, 3), 1)}
"""Each with the tokens of its answer so far."""


def kinds() -> tuple[list[str], dict[str, range]]:
    """The kind of every slot, and the row that each request was given."""
    policy = ContiguousPolicy(POOL, POOL, "pow2", BuddyAllocator(POOL, POOL))
    request, written = REQUESTS["A"]
    late, begun = REQUESTS["B"]
    policy.admit(request)
    for _ in range(written - begun):
        policy.step()
    policy.admit(late)
    for _ in range(begun):
        policy.step()
    found, rows = ["free"] * POOL, {}
    for name, (one, answer) in REQUESTS.items():
        rows[name] = row = policy.held(name)
        asked = policy._sizing(one, POOL)
        ends = (one.prompt_tokens + answer, one.prompt_tokens + one.output_tokens, asked, len(row))
        begin = 0
        for kind, end in zip(PARTS, ends, strict=False):
            found[row.start + begin : row.start + end] = [kind] * (end - begin)
            begin = end
    assert tuple(map(found.count, PARTS[:4])) == policy.usage(False)
    return found, rows


@drawing("Contiguous memory: of five kinds of slots, only one holds tokens", 226)
def five_kinds(axes: Axes) -> str:
    """One strip of slots with two requests, and what each kind means."""
    found, rows = kinds()
    top = 74.0
    for name, row in rows.items():
        _, written = REQUESTS[name]
        text = f"allocation of request {name}" + (
            f", {written} words written" if name == "A" else ""
        )
        x = MARGIN + SLOT * row.start
        bracket(axes, x + 1, x + SLOT * len(row) - 1, top - 5, text)
    for place, kind in enumerate(found):
        style.part(axes, Box(MARGIN + SLOT * place, top, SLOT, 40), kind)
        style.rectangle(axes, Box(MARGIN + SLOT * place, top, SLOT, 40), fill=None, width=0.5)
    for row in (*rows.values(), range(max(r.stop for r in rows.values()), POOL)):
        box = Box(MARGIN + SLOT * row.start, top, SLOT * len(row), 40)
        style.rectangle(axes, box, fill=None, width=2)
    first = rows["A"]
    for kind in PARTS:
        places = [
            i for i in (first if kind in found[: len(first)] else range(POOL)) if found[i] == kind
        ]
        low, high = MARGIN + SLOT * places[0], MARGIN + SLOT * (places[-1] + 1)
        bracket(axes, low + 1.5, high - 1.5, top + 45, kind, up=False)
    for place, (kind, means) in enumerate(MEANS.items()):
        x = MARGIN + 126 * place
        style.part(axes, Box(x, 162, 20, 14), kind)
        style.rectangle(axes, Box(x, 162, 20, 14), fill=None, width=0.8)
        say(axes, x + 27, 169, f"{kind}: {found.count(kind)}", ha="left", bold=True)
        note(axes, x, 195, means)
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in PARTS)
    return (
        f"A strip of {POOL} slots with the rows of two requests. Of the slots {counts}. Token: "
        "holds a key and a value. Reserved: the output will need it. Internal: asked for, and "
        "never used. External: given beyond what was asked, and lost. Free: for the next request."
    )
