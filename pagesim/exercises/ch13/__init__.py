"""The whole kernel."""
