"""A table that is too large for one place: how it is cut, and how each piece is searched."""
