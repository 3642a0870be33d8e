"""One module a picture; `figures` itself has their functions."""
