"""Studies of many runs: the paper's figures, sharing, prefix hits, sweeps over a grid.

``engines`` compares V0 with V1. ``sweep`` runs a function on the ``cells`` of a grid.
"""
