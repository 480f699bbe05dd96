"""Searches that start from quick splits and improve them: `hybrid`, the default, and `cover`.

Beside them, what belongs to their outcomes: a loss that no release can be below, and classes that
are divided further by masking sensitive values.
"""
