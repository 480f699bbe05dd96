"""Pictures as SVG: axes, ticks, marks and colours."""
