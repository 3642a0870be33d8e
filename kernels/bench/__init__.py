"""`python -m kernels.bench`: how near to the memory's speed decoding comes; needs a GPU."""
