"""Measures of what a release loses, and of what it is still good for.

Searches minimize the loss of generalization. All other measures compare a release with its
original: the share of its domain that a value covers, the bits needed to restore the original
values, the errors of random counts, the accuracy of a model that learned from the release.
"""
