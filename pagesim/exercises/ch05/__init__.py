"""Growing and sharing."""
