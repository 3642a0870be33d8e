"""`python -m pagesim.kernels.bench`: decoding against the memory's speed; needs a GPU."""
