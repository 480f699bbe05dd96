"""From classes to released values, and from a kept plan to the classes of new rows.

A search's classes become `values` and a `rewrite` of the rows; a `plan` is what is kept of them
without the data, `assignment` and `insertion` apply it again.
"""
