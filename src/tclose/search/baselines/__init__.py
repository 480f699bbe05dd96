"""Published methods kept for comparison."""
