"""Distances between distributions: mathematics on arrays, exact wherever a decision depends on it.

`ground` has the ground distances, `emd` the earth mover's distance over them, `divergence` and
`matrix` the other distances, `registry` lists all of them for policies, and `numbers` has the exact
arithmetic.
"""
