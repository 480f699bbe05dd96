"""Commands that look at a table or a release: audit, verify, explain, attack, utility."""
