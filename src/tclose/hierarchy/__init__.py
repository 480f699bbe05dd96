"""Generalization trees: what a value becomes when it is released less precisely.

Labels are text. Level 0 is the value itself; levels grow towards the root. Errors name the column,
the line and the level, never a label, because labels are values of the table.
"""
