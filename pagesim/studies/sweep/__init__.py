"""Sweeps: a function on every cell of a grid, on any executor.

``cells`` makes the cells and runs one, ``runner`` keeps an executor busy with them, ``output`` is
the file for the results and ``writer`` its lock, and ``study`` combines them. ``simulations`` turns
a cell into a simulation.
"""

from pagesim.studies.sweep.cells import CellResult
from pagesim.studies.sweep.simulations import simulate_cell
from pagesim.studies.sweep.study import Sweep, sweep

__all__ = ["CellResult", "Sweep", "simulate_cell", "sweep"]
