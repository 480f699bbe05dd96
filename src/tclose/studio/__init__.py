"""The whole work on a page of this machine: open, columns, values, risk, search, explore, release.

`guard` stands before everything and lets only this user's own browser in; `project` is the state, a
folder; `jobs` run workflows in threads while pages poll; `screens` answer, one file for each page.
Nothing here counts, searches or certifies: `workflows` does, with the project's policy, so that
everything that is clicked is also a policy file and a command.
"""
