"""What surprises people in vLLM, as scenes that run: ``pagesim quirks``, ``pagesim.quirks.show``.

A quirk is a page, as an exercise is. The docstring of its module says what one would expect, what
vLLM does, why, and what to do about it; ``scenario()`` is the smallest scene that shows it, and
``ANSWER`` is what the scene finds. This is a whole page::

    \"\"\"# w08 A head that never fits

    V1 · scheduling

    A prompt that is larger than the pool waits forever, and so does everything behind it.

    ## Expected
    ...
    ## What happens
    ...
    ## Why
    ...
    ## What to do
    ...
    ## Threads
    * [vllm#39734](https://github.com/vllm-project/vllm/issues/39734): what was met there.
    \"\"\"

    from pagesim.quirks.scene import Scene
    from pagesim.story import Engine


    def scenario() -> Scene:
        engine = Engine("v1", gpu_blocks=4)
        engine.add("large", 13)
        engine.add("small", 2)
        steps = engine.steps(3)
        return Scene(engine.run, steps=steps, waiting=engine.waiting)


    ANSWER = {"steps": [{}, {}, {}], "waiting": ["large", "small"]}

The second line has the engine, the subject, and, if there are any, "beside" and the id of a scene
with the same requests on the other engine, and "mended" if pagesim does better than vLLM. A scene
without a public thread says "None found." The file is called after the id: ``w08_never_fits.py``.
"""

from pagesim.quirks.registry import Quirk, get, quirks
from pagesim.quirks.scene import Scene

__all__ = ["Quirk", "Scene", "get", "quirks", "show"]


def show(quirk_id: str) -> Quirk:
    """A quirk as a notebook shows it: what happens and why, and the scene in the player."""
    return get(quirk_id)
