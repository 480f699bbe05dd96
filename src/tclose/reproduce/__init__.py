"""Published experiments, run again: the results of a paper beside those obtained here.

Numbers that the paper prints are kept apart from those it only draws; every statement gets a
verdict with a sentence that follows from the numbers.
"""
