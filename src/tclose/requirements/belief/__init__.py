"""Requirements on how much knowing the class changes the belief in a value."""
