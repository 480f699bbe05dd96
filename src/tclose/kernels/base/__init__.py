"""What every kernel shares: the coded table, its compiled constraints, random numbers, sorting."""

from tclose.kernels.freshness import variant_path

__path__ = variant_path(__path__)
