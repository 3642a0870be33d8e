"""The second tier: full chunks of blocks are copied to the CPU while they are still on the GPU.

A request that waits may load them instead of computing them again. Nothing is swapped out. Begin
with ``manager``; then ``lru``, and ``arc``, in which chunks that several requests use stay longer.
"""
