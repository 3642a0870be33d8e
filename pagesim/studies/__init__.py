"""Studies of many runs: the paper's figures, sharing, prefix hits, sweeps over a grid.

``engines`` compares V0 with V1, and ``per_layer`` compares one block list for all layers with one
for each. ``sweep`` runs a function on the ``cells`` of a grid.
"""
