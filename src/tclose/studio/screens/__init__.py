"""One file for each page: what it shows, and what its forms change."""

from __future__ import annotations

from tclose.studio.screens import (
    columns,
    comparing,
    explore,
    jobs,
    opening,
    release,
    risk,
    search,
    values,
)

PAGES = (jobs, opening, columns, values, risk, search, explore, comparing, release)
ROUTES = tuple(route for page in PAGES for route in page.ROUTES)
