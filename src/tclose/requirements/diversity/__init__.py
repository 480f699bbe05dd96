"""Requirements on how varied the values of a class are, so that no class gives a value away."""
