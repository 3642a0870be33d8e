"""The block layer: blocks, allocators, block tables. One file for each of vLLM's."""
