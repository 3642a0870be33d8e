"""Several kinds of memory."""
