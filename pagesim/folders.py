"""Where pagesim.kernels and pagesim.figures are, whose folders stand at the top of a clone.

In a clone ``kernels/`` lies beside ``pagesim/``; a wheel has it inside. The folder holds no
``__init__.py``, and what would stand there is ``pagesim/kernels.py``. So Python never takes the
folder for a package of its own: in a clone too, ``import kernels`` finds the distribution of that
name if there is one (transformers uses it).
"""

from pathlib import Path


def beside(module: str) -> list[str]:
    """The ``__path__`` of the package whose ``__init__`` is the file ``module``."""
    inside = Path(module).with_suffix("")
    return [str(inside if inside.is_dir() else inside.parents[1] / inside.name)]
