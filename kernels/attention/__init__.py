"""The attention kernels, and what they share: tiles, partitions, configurations, numerics."""
