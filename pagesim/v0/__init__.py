"""vLLM 0.6.4.post1's block layer and scheduler, file for file as in its ``vllm/core``."""
