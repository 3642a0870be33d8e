"""Inside the CUDA kernel."""
