"""Loss against t or k: one problem searched for many thresholds."""
