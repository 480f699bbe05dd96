"""Classes as boxes over an original's values: which rows they cover, or how near they come."""

from tclose.kernels import variant_path

__path__ = variant_path(__path__)
