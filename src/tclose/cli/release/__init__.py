"""Commands that search for a release, or for what one would lose."""
