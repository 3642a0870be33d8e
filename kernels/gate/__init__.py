"""`python -m kernels.gate`: every kernel compiles for every GPU that we name, and well."""
