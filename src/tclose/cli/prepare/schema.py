"""tclose schema: what the files of tclose hold, as JSON Schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tclose.cli.console import guarded, print_json


class FileKind(StrEnum):
    """The files that have a schema."""

    CERTIFICATE = "certificate"
    PLAN = "plan"
    POLICY = "policy"


@guarded
def schema(
    kind: Annotated[FileKind, typer.Argument(help="Which file.", show_default=False)],
) -> None:
    """Print the JSON Schema of a certificate, a plan or a policy."""
    if kind is FileKind.CERTIFICATE:
        from tclose.verify import Certificate

        print_json(Certificate.json_schema())
    elif kind is FileKind.PLAN:
        from tclose.recode.plan.model import Plan

        print_json(Plan.json_schema())
    else:
        from tclose.policy import policy_schema

        print_json(policy_schema())
