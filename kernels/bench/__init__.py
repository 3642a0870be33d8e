"""`python -m kernels.bench`: how close decoding comes to the memory's speed; needs a GPU."""
