"""Why pages."""
