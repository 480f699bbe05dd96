"""What becomes of columns that name a person: dropped, masked, or replaced by a keyed pseudonym."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MASK = "*"


@dataclass(frozen=True)
class Pseudonyms:
    """Replaces a value by a keyed hash of itself: equal values stay equal, for holders of one key.

    Without a key of the steward's own, one is drawn and forgotten: the pseudonyms then link rows
    within this release only.

    >>> names = Pseudonyms(b"a key")
    >>> names.of("Ann") == names.of("Ann") != names.of("Bob")
    True
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def of(self, text: str) -> str:
        """The pseudonym of one value."""
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()[:24]

    def column(self, values: pa.Array) -> pa.Array:
        """The pseudonyms of a column; a missing value stays missing."""
        encoded = _texts(values).dictionary_encode()
        names: list[Any] = [self.of(text) for text in encoded.dictionary.to_pylist()]
        return pa.array(names, pa.string()).take(encoded.indices)


def _texts(values: pa.Array) -> pa.Array:
    """The values as text; what Arrow cannot write, as Python writes it. NaN is missing."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        texts = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.array(texts, pa.string())


def masked(rows: int) -> pa.Array:
    """A column that says nothing."""
    return pa.array([MASK] * rows, pa.string())
