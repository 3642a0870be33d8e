"""`python -m pagesim.kernels.gate`: every kernel compiles, and well, for all supported GPUs."""
