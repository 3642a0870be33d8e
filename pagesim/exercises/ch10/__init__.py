"""Today's vLLM: a step ahead."""
