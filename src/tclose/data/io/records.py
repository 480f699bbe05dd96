"""Files of plain values with a fixed form: typed, versioned, and described by a JSON Schema.

A record that is read was perhaps edited by anybody, so nothing passes that its form does not name.
"""

from __future__ import annotations

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
from tclose.plain import json_text, parse_json
from tclose.small_files import read_small_file
from tclose.version import VERSION

JsonObject = dict[str, JsonValue]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Form = Literal["anatomy", "slicing", "projections"]
FORMS: tuple[Form, ...] = get_args(Form)


class Record(BaseModel):
    """A part of such a file: immutable, strict, and without the fields that are not set."""

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
        unsaid = {
            field.alias or name
            for name, field in type(self).model_fields.items()
            if not field.is_required() and getattr(self, name) is None
        }
        written: JsonObject = write(self)
        return {key: value for key, value in written.items() if key not in unsaid}

    def to_json(self) -> JsonObject:
        """The record as plain values."""
        return self.model_dump(mode="json", by_alias=True)


class SupersetRecord(Record):
    """A part of the table that classes are close to: the smallest box over the quasi-identifiers
    that covers some classes. No value is named, and the classes in it can be counted."""

    attribute: str = Field(description="of which (n, t)-closeness is promised")
    spans: tuple[int, ...] = Field(
        min_length=1, description="classes whose smallest common box it is"
    )
    classes: tuple[int, ...] = Field(description="the classes that are close to it")


class VersionedRecord(Record):
    """A whole file; `tclose_<kind>` holds the number of its format."""

    kind: ClassVar[str]
    format: ClassVar[int]
    """The format that is written; all from 1 on are read."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a file; raises UsageError where it is none of this kind."""
        try:
            raw = parse_json(read_small_file(path, may_be_pipe=True).decode("utf-8"))
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
            what = f"this {cls.kind} has format {version}, which a later version of tclose wrote"
            hint = f"update tclose: {VERSION} reads formats 1 to {cls.format}"
            raise UsageError(what, where=where, hint=hint)
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
        """Converts a file of an earlier format to this one."""
        return raw

    @classmethod
    def _refuse(cls, where: str, why: str = "") -> UsageError:
        hint = f"`tclose schema {cls.kind}` prints what one holds"
        return UsageError(f"this is not a {cls.kind} of tclose{why}", where=where, hint=hint)

    def save(self, path: str | Path) -> None:
        """Writes the record, whole or not at all."""
        write_text(path, json_text(self.to_json()))

    @classmethod
    def json_schema(cls) -> JsonObject:
        """The JSON Schema of the file."""
        return {"$schema": DRAFT, **cls.model_json_schema(by_alias=True)}


class LayoutFile(Record):
    """One file: its purpose, and the sensitive columns it holds."""

    file: str = Field(pattern=r"^[^./\\][^/\\]*$", description="its name, without a folder")
    role: Literal["quasi", "sensitive", "sliced", "projection"]
    columns: tuple[str, ...]


class Layout(Record):
    """The files of a release, and the columns that were added to tie them together."""

    form: Form = Field(alias="name")
    group: str = Field("", description="the column with each row's group; none in projections")
    count: str = Field("", description="Anatomy: the column that says for how many rows one stands")
    parts: tuple[LayoutFile, ...] = Field(alias="files", min_length=1)
    sets: tuple[tuple[str, ...], ...] = Field(
        description="the columns that are published together, each in one set"
    )
