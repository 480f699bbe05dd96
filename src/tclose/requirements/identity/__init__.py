"""Requirements on how many rows, or people of the population, a class could be about."""
