"""The table as integers: everything above this room sees codes, cells and classes, never a value.

Values become codes of a dictionary in their natural order, distinct tuples become cells with their
number of rows, and cells with equal quasi-identifiers become classes. Released values are read back
here too, as runs of an original's values.
"""
