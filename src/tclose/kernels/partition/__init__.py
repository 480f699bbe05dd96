"""A partition of the cells into classes, and what improves it: merges, swaps, repairs."""

from tclose.kernels.freshness import variant_path

__path__ = variant_path(__path__)
