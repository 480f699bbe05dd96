"""Top-down cuts of the table into classes (LeFevre 2006)."""
