"""What an attacker could learn from a release, as findings with numbers and sentences.

Each attack is a file. Some need only the release, others the quasi-identifiers of the original, a
population, or a second release; the suite tries all that the given tables allow.
"""
