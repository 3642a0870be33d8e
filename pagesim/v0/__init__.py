"""The block layer and the scheduler of vLLM 0.6.4.post1, with the files of its ``vllm/core``."""
