"""Releases in several tables: which columns go together, and a release for each set of them."""
