"""How a release is searched for and written, where the policy says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tclose.distance.part import Number, Part, must

Amount = Annotated[
    Number, must("a search is limited by a number, 0 or more", lambda amount: amount >= 0)
]


class Search(Part):
    """How a release is searched for; read by the anonymizing commands."""

    method: str = "auto"
    seconds: Amount | None = Field(None, description="the clock as the limit of the search")
    effort: Amount | None = Field(
        None, description="amount of work: seconds of an ordinary core; equal seeds, equal bytes"
    )
    seed: int = Field(1, ge=0, description="where chance begins")
    suppression: Annotated[
        Number, must("suppression is a share of the rows, in [0, 1]", lambda share: 0 <= share <= 1)
    ] = Fraction(0)
    loss: Literal["iyengar", "precision", "entropy", "discernibility", "class-size"] | None = Field(
        None, description="what a full-domain search makes least; iyengar if not given"
    )
    weights: dict[str, Number] | None = Field(
        None, description="full-domain searches: what a quasi-identifier counts; 1 if not named"
    )
    levels: dict[str, tuple[int, int]] | None = Field(
        None, description="full-domain searches: lowest and highest level of a quasi-identifier"
    )
    megabytes: int = Field(
        256, ge=1, description="full-domain searches: most memory for groupings that are kept"
    )

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: dict[str, Fraction] | None) -> dict[str, Fraction] | None:
        if value and (min(value.values()) < 0 or not any(value.values())):
            raise ValueError("weights are not negative, and not all 0")
        return value

    @field_validator("levels")
    @classmethod
    def _ordered(cls, value: dict[str, tuple[int, int]] | None) -> Any:
        if any(not 0 <= least <= most for least, most in (value or {}).values()):
            raise ValueError("levels are given as [lowest, highest], from 0")
        return value


class Release(Part):
    """How a release is written; read by the anonymizing commands."""

    rows: Literal["keep", "shuffle"] = "keep"
    identifiers: Literal["drop", "mask", "pseudonym"] = "drop"
    recoding: Literal["local", "mean", "median", "mode"] = Field(
        "local", description="local: intervals, ancestors, sets; else a class's central value"
    )
    leftover: Literal["drop", "root", "hide", "generalize"] = Field(
        "drop",
        description="rows that a search leaves out: dropped; released with quasi-identifiers at "
        "the root; or released with sensitive values hidden, or generalized",
    )

    @model_validator(mode="after")
    def _leftover_local(self) -> Release:
        if self.leftover != "drop" and self.recoding != "local":
            raise ValueError('leftover other than "drop" needs recoding = "local"')
        return self
