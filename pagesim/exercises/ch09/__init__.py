"""Today's vLLM: the free queue."""
