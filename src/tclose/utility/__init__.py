"""What is lost when values are released less precisely, and what is left.

The loss of a generalization is what searches make small; every other measure looks at a release
beside its original: how much of its domain a value covers, how many bits it would take to tell the
original values again, how wrong random counts are, what a model is worth that saw only the release.
"""
