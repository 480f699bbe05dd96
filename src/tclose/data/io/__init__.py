"""Files and what they need: where they are, how they are written, and how they appear whole.

Nothing here knows a `Source`: engines read and write with what this room gives them.
"""
