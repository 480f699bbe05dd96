"""Classes measured: distances of their histograms, what their boxes cover, how near rows come."""

from tclose.kernels.freshness import variant_path

__path__ = variant_path(__path__)
