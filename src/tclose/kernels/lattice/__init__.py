"""Nodes of the generalization lattice: cells grouped by roll-up, and their classes judged."""

from tclose.kernels import variant_path

__path__ = variant_path(__path__)
