"""Long sequences."""
