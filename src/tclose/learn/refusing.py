"""Errors of the house as the kind that scikit-learn expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclose.errors import UsageError


class RefusedError(UsageError, ValueError):
    """What a transformer cannot do as asked: an error of the house, and a ValueError as well."""


@contextmanager
def refusing() -> Iterator[None]:
    """What the caller can mend is raised as a ValueError; a bug stays what it is.

    >>> with refusing():
    ...     raise UsageError("no such column", where="quasi")
    Traceback (most recent call last):
    tclose.learn.refusing.RefusedError: quasi: no such column
    """
    try:
        yield
    except ValueError:
        raise
    except UsageError as error:
        raise RefusedError(str(error)) from error
