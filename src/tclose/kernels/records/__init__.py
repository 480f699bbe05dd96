"""Records taken one by one: the box of a growing class, records along a curve, quotas, pools."""

from tclose.kernels.freshness import variant_path

__path__ = variant_path(__path__)
