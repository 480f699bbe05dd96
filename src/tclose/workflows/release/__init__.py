"""Publishing a release: proposes it part by part if the table is too large for one place, writes
it, recounts it and certifies it.
"""
