"""Files: where they are, how they are read, and how they are written as a whole or not at all.

Nothing here knows a `Source`: engines read and write with what this room gives them.
"""
