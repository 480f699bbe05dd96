"""What each command says of its result on a terminal: short, the worst first.

A summary is a list of the same parts that a report is made of, so that one renderer shows both.
"""
