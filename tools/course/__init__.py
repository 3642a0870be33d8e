"""Runs, compares and publishes the chapters.

python -m tools.course.execute                        run all chapters, exit 1 on a difference
python -m tools.course.execute --write 02_*.ipynb     run and write the outputs
python -m tools.course.site                           write site/: the course and all documentation

``canonical`` is the form in which a notebook is committed, and ``clean`` finds what must not be in
it. ``run`` runs a notebook and ``compare`` compares its outputs. ``pictures`` puts the book's
pictures into the chapters. ``book`` has the parts of the site.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
