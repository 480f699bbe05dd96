"""Microaggregation (MDAV) and t-closeness through it (Soria-Comas et al. 2015)."""
