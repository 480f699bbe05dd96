"""The table as integers: dictionaries, cells, weights and persons, classes."""
