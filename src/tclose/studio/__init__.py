"""The web page on this machine for the whole work: open, columns, values, risk, search, release.

`guard` answers every request first and lets only this user's own browser in; `project` is the
state, a folder; `jobs` run workflows in threads while pages poll; `screens` has one file for each
page. Nothing here counts, searches or certifies: `workflows` does, with the project's policy, so
that everything that is clicked is also a policy file and a command.
"""
