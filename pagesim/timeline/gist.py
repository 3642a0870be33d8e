"""What a recorded run shows, in a sentence: the title of its page, if its author gave it none.

No sentence names a block or a step: for these, the player's button "Predict" asks.
"""

from pagesim.timeline.file import Run
from pagesim.timeline.gist_served import SERVED
from pagesim.timeline.gist_story import STORY, filmed
from pagesim.timeline.seen import Seen

UNTOLD = "What happened to the pages"


def gist(run: Run) -> str:
    """The most telling sentence that is true; none of a run that asks its reader questions."""
    if run.notes.questions:
        return UNTOLD
    seen = Seen(run)
    tells = (filmed, *(SERVED if seen.requests else STORY))
    return next((said for tell in tells if (said := tell(seen))), UNTOLD)
