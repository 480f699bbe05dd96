"""Searches whose classes are close to the table by the way they are made."""
