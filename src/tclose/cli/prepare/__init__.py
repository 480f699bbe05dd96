"""Commands around a release: policies, hierarchies, made-up tables, published experiments."""
