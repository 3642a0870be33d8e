"""Studies of many runs: the paper's figures, sharing, prefix hits, sweeps over a grid.

``engines`` compares V0 with V1. ``group_hits`` and ``group_waste`` are about layers with windows
beside full attention: what a prefix cache finds, and what one block list for all layers wastes.
``watermark`` counts the preemptions of vLLM's own sweep again. ``crossover``, ``second_tier`` and
``eviction`` are about a tier on the CPU: when loading beats computing, what V1's tier does where V0
swapped, and what it keeps. ``sweep`` runs a function on the ``cells`` of a grid,
and ``sweep_file`` keeps what it returned.
"""
