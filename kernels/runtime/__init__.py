"""How a call runs here: compiled, interpreted or by the reference; and what is checked before."""
