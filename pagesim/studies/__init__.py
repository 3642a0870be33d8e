"""Studies of many runs: the paper's figures, sharing, prefix hits, sweeps over a grid."""
