"""One file for each page: what it shows, and what its forms change."""

from __future__ import annotations

from tclose.studio.screens import (
    columns,
    comparing,
    explore,
    opening,
    release,
    risk,
    search,
    values,
)

LIST_ROUTES = tuple(
    page.list_routes
    for page in (opening, columns, values, risk, search, explore, comparing, release)
)
