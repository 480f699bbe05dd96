"""What somebody who means ill could learn from a release, as findings with numbers and words.

Each attack is a file. Some need the release alone, others the quasi-identifiers of the original, a
population, or a second release; the suite tries all that the given tables allow.
"""
