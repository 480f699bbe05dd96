"""Pictures as SVG that open offline: one way to draw an axis, a mark and a colour."""
