"""Charts as SVG that open offline; axes, marks and colours are each drawn in one place."""
