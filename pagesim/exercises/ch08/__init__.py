"""How big is the cache."""
