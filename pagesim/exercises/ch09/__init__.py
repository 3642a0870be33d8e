"""Prefix caching."""
