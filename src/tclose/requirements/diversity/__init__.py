"""How various the values of a class are: no class gives a value away by having little else."""
