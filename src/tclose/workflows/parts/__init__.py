"""Tables that are too large for one place: cut into fragments, each of them searched alone."""
