"""One module per picture; `figures` exports their functions."""
