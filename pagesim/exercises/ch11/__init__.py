"""vLLM today."""
