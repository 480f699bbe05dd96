"""A problem compiled for the kernels: requirements as constraints, and everything as arrays."""
