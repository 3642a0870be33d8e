"""Blocks, their allocators and block tables: vLLM's ``vllm/core/block``."""
