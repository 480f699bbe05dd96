"""Full-domain generalization: every value of a column recoded to one level of its hierarchy."""
