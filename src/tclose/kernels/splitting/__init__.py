"""Classes split in two, from the top down: Mondrian's cuts, and stratified splits."""

from tclose.kernels.freshness import variant_path

__path__ = variant_path(__path__)
