"""Independent of everything that proposes: counts a table from scratch and judges it.

An audit measures what a policy promises, of a table in one piece or in parts; a certificate writes
down what was attained, and is checked against a fresh count. Nothing here imports what proposes.
"""
