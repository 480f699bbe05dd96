"""Published experiments, run again: what a paper reports beside what comes out here.

What the paper prints is kept apart from what it only draws; every statement gets a verdict with a
sentence that follows from the numbers.
"""
