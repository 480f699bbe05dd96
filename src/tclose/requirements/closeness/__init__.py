"""How near the distribution of a class is to that of the table, or of a large part of it."""
