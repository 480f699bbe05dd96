"""tclose policy: print the schema, check a policy, confirm a draft."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, print_json, progress, say
from tclose.errors import PolicyError

app = typer.Typer(help="Print the schema of policies, check or confirm one.", no_args_is_help=True)

PolicyArgument = Annotated[
    Path, typer.Argument(metavar="POLICY", help="The policy (TOML or JSON).", show_default=False)
]
SUGGESTED = re.compile(r"""(["'])(identifier|quasi|sensitive|insensitive)\?\1""")


@app.command()
@guarded
def schema() -> None:
    """Print the JSON Schema of a policy, for editors that check while one types."""
    from tclose.policy import policy_schema

    print_json(policy_schema())


@app.command()
@guarded
def check(
    policy: PolicyArgument,
    file: Annotated[
        options.Place | None,
        typer.Argument(
            metavar="FILE",
            help="The table it is meant for.",
            show_default=False,
            parser=options.place,
        ),
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Report everything that is wrong with a policy, by itself or for a table."""
    import tclose
    from tclose.policy import load_policy

    if file is None:
        load_policy(policy)
    else:
        with progress() as step:
            step("comparing the policy with the table")
            tclose.check(file, policy, reading=reading)
    if as_json:
        print_json({"policy": str(policy), "problems": []})
    else:
        typer.echo(f"{policy}: no problem found" + (f" with {file}" if file else ""))


@app.command()
@guarded
def confirm(policy: PolicyArgument) -> None:
    """Confirm every role that is still only suggested: removes the question marks."""
    from tclose.data.io.files import write_text
    from tclose.policy.load import parse_policy, read_raw

    read_raw(policy)
    text, count = SUGGESTED.subn(r"\1\2\1", policy.read_text(encoding="utf-8"))
    write_text(policy, text)
    say(f"{policy}: {count} suggested role{'' if count == 1 else 's'} confirmed")
    confirmed, problems = parse_policy(read_raw(policy))
    if problems or confirmed is None:
        raise PolicyError(problems)
    bare = [name for name in confirmed.sensitive if confirmed.columns[name].t is None]
    if bare:
        say(f"no t is promised yet for {', '.join(bare)}; it is yours to choose")
