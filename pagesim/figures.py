"""The course's figures: each function draws a run or a file, to be shown or saved.

    from pagesim import figures
    figures.save(figures.memory_waste("trace.csv"), "waste.pdf")

They take runs: a `pagesim.Simulation`, its WasteLog or the means in percent, a `pagesim.Timeline`,
a Comparison of `studies.paper`, the path of a file (a timeline, or the output of ``--json``), or
several of these in a list or by name. Or they take a trace of requests (Workload or file), which is
simulated under ``policies`` with ``options`` of `simulate`, with all requests arriving at the
start. Data that cannot be drawn raise TypeError or UsageError. Every function takes ``title=``,
``notes=`` to print below the figure, and ``theme="dark"`` or "light"; by default an SVG follows its
page.

The functions are in `charts`, their inputs in `sources`, their look in `style`, and what they draw
on in `sheet`. `pictures` lists the gallery, `book` has the pictures that explain, and `film` makes
a GIF of a run.
"""

from pagesim import starting

__path__ = starting.beside(__file__)

from pagesim.figures.charts.access_map import access_map
from pagesim.figures.charts.batch_size import batch_size
from pagesim.figures.charts.beside import beside
from pagesim.figures.charts.block_layout import block_layout
from pagesim.figures.charts.block_size_sweep import block_size_sweep
from pagesim.figures.charts.copies import copies
from pagesim.figures.charts.decision import decision
from pagesim.figures.charts.engine_metrics import engine_metrics
from pagesim.figures.charts.hit_rates import hit_rates
from pagesim.figures.charts.kv_groups import kv_groups
from pagesim.figures.charts.kv_size import kv_size
from pagesim.figures.charts.load_or_compute import load_or_compute
from pagesim.figures.charts.memory_waste import memory_waste
from pagesim.figures.charts.occupancy_timeline import occupancy_timeline
from pagesim.figures.charts.pool_map import pool_map
from pagesim.figures.charts.prefix_hits import prefix_hits
from pagesim.figures.charts.race import race
from pagesim.figures.charts.roofline import roofline
from pagesim.figures.charts.sharing import sharing
from pagesim.figures.charts.spread import spread
from pagesim.figures.charts.thread_map import thread_map
from pagesim.figures.display import alt_text, save, show
from pagesim.figures.film import film
from pagesim.figures.style import Picture

__all__ = ["Picture", "alt_text", "film", "save", "show"]
__all__ += ["access_map", "block_layout", "decision", "pool_map", "roofline", "thread_map"]
__all__ += [
    "batch_size",
    "beside",
    "block_size_sweep",
    "copies",
    "engine_metrics",
    "hit_rates",
    "kv_groups",
]
__all__ += ["kv_size", "load_or_compute", "memory_waste", "occupancy_timeline", "prefix_hits"]
__all__ += ["race", "sharing", "spread"]

if __name__ == "__main__":  # python -m pagesim.figures
    from pagesim.figures.__main__ import main

    main()
