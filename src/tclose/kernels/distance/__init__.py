"""Whole-number arithmetic on sparse histograms: the work of moving mass, sorting, two beliefs."""

from tclose.kernels import variant_path

__path__ = variant_path(__path__)
