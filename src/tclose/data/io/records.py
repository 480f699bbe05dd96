"""Files of plain values with a fixed form: typed, versioned, and described by a JSON Schema.

A record that is read was perhaps edited by anybody, so nothing passes that its form does not name.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import ClassVar, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from tclose.data.io.files import write_text
from tclose.errors import DataError, UsageError
from tclose.version import VERSION

JsonObject = dict[str, JsonValue]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Form = Literal["anatomy", "slicing", "projections"]
FORMS: tuple[Form, ...] = get_args(Form)


class Record(BaseModel):
    """A part of such a file: immutable, strict, and what is not said is left out."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        defer_build=True,
    )

    @model_serializer(mode="wrap")
    def _leave_out_unsaid(self, write: SerializerFunctionWrapHandler) -> JsonObject:
        fields = type(self).model_fields
        unsaid = {
            field.alias or name
            for name, field in fields.items()
            if not field.is_required() and getattr(self, name) is None
        }
        written: JsonObject = write(self)
        return {key: value for key, value in written.items() if key not in unsaid}

    def to_json(self) -> JsonObject:
        """The record as plain values."""
        return self.model_dump(mode="json", by_alias=True)


class VersionedRecord(Record):
    """A whole file; `tclose_<kind>` holds the number of its format."""

    kind: ClassVar[str]
    format: ClassVar[int]
    """The format that is written; all from 1 on are read."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a file; raises UsageError where it is none of this kind."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", where=str(path)) from None
        except (ValueError, RecursionError):
            raise cls._refuse(str(path)) from None
        return cls.from_json(raw, where=str(path))

    @classmethod
    def from_json(cls, raw: object, *, where: str = "") -> Self:
        """The record that was written; raises UsageError where it is none of this kind."""
        key, where = f"tclose_{cls.kind}", where or cls.kind
        version = raw.get(key) if isinstance(raw, dict) else None
        if not isinstance(raw, dict) or type(version) is not int or version < 1:
            raise cls._refuse(where)
        if version > cls.format:
            raise UsageError(
                f"this {cls.kind} has format {version}, which a later version of tclose wrote",
                where=where,
                hint=f"update tclose: {VERSION} reads formats 1 to {cls.format}",
            )
        try:
            upgraded = {**cls.upgrade(raw, version), key: cls.format}
            return cls.model_validate_json(json.dumps(upgraded))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = [".".join(str(step) for step in first["loc"])] if first["loc"] else []
            why = first["msg"].removeprefix("Value error, ")
            raise cls._refuse(where, "".join(f": {part}" for part in (*place, why))) from None

    @classmethod
    def upgrade(cls, raw: JsonObject, version: int) -> JsonObject:
        """What was written in an earlier format, in the words of this one."""
        return raw

    @classmethod
    def _refuse(cls, where: str, why: str = "") -> UsageError:
        return UsageError(
            f"this is not a {cls.kind} of tclose{why}",
            where=where,
            hint=f"`tclose schema {cls.kind}` prints what one holds",
        )

    def save(self, path: str | Path | None) -> None:
        """Writes the record, whole or not at all; nothing where no path is given."""
        if path is not None:
            write_text(path, json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n")

    @classmethod
    def json_schema(cls) -> JsonObject:
        """The JSON Schema of the file."""
        return {"$schema": DRAFT, **cls.model_json_schema(by_alias=True)}


def json_hash(value: JsonValue) -> str:
    """The sha256 of plain values, whatever the order of their keys.

    >>> json_hash({"a": 1, "b": 2}) == json_hash({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
