"""What a steward asks of a full-domain search beyond the promise: a loss, weights, level limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tclose.policy.model import SearchSettings


@dataclass(frozen=True)
class Aims:
    """Which loss is to be least, what each column counts, and which levels are allowed.

    >>> Aims().given
    ()
    >>> Aims(loss="discernibility").given
    ('loss',)
    """

    loss: str = "iyengar"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """What a column counts, by its name; 1 where it is not named."""
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The lowest and the highest level of a column, by its name."""
    memory: int = 256 << 20
    """Bytes that groupings may take; not an aim, but of full-domain searches alone as well."""

    @property
    def given(self) -> tuple[str, ...]:
        """The aims that are not the plain ones, by their names in a policy."""
        plain = {"loss": "iyengar", "weights": {}, "levels": {}}
        return tuple(name for name, usual in plain.items() if getattr(self, name) != usual)


def aims_of(search: SearchSettings) -> Aims:
    """The aims that a policy's `[search]` states."""
    return Aims(
        search.loss or "iyengar", dict(search.weights or {}), dict(search.levels or {}),
        search.megabytes << 20,
    )  # fmt: skip
