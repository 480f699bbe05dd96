"""What the files of a release in several tables hold: which columns are in which."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from tclose.data.io.records import Record

Form = Literal["anatomy", "slicing", "projections"]
FORMS: tuple[Form, ...] = get_args(Form)


class LayoutFile(Record):
    """One file: what it is for, and the sensitive columns that it tells about."""

    file: str = Field(pattern=r"^[^./\\][^/\\]*$", description="its name, without a folder")
    role: Literal["quasi", "sensitive", "sliced", "projection"]
    columns: tuple[str, ...]


class Layout(Record):
    """The files of a release, and the columns that were added to tie them together.

    >>> file = LayoutFile(file="sliced.csv", role="sliced", columns=("ill",))
    >>> sliced = Layout(form="slicing", group="group", parts=(file,), sets=(("ill",),))
    >>> sliced.to_json()["name"]
    'slicing'
    """

    form: Form = Field(alias="name")
    group: str = Field("", description="the column with each row's group; none in projections")
    count: str = Field("", description="Anatomy: the column that says for how many rows one stands")
    parts: tuple[LayoutFile, ...] = Field(alias="files", min_length=1)
    sets: tuple[tuple[str, ...], ...] = Field(
        description="the columns that are published together, each in one set"
    )
