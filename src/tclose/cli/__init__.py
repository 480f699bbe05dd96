"""The command line: one command per file, in `judge`, `release` and `prepare`.

Whatever is slow to import, a command imports when it runs, so that help is there at once.
"""

from __future__ import annotations

import sys

import typer

from tclose.cli.judge import attack, audit, explain, utility, verify
from tclose.cli.prepare import demo, generate, hierarchy, init, policy, reproduce, schema
from tclose.cli.release import anonymize, apply, frontier, lattice, methods, split
from tclose.version import VERSION

app = typer.Typer(
    name="tclose",
    help="Publish tables about people without giving the people away.",
    epilog="Exit codes: 0 the promise holds, 1 it does not, 2 a usage or data error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("audit")(audit.audit)
app.command("anonymize")(anonymize.anonymize)
app.command("split")(split.split)
app.command("verify")(verify.verify)
app.command("apply")(apply.apply)
app.command("utility")(utility.utility)
app.command("attack")(attack.attack)
app.command("lattice")(lattice.lattice)
app.command("frontier")(frontier.frontier)
app.command("methods")(methods.methods)
app.command("explain")(explain.explain)
app.command("schema")(schema.schema)
app.command("generate")(generate.generate)
app.add_typer(hierarchy.app, name="hierarchy")
app.add_typer(policy.app, name="policy")
app.add_typer(reproduce.app, name="reproduce")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tclose {VERSION}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Publish tables about people without giving the people away."""


def main() -> None:
    """Runs the command line; whatever it complains about, no password is seen."""
    from tclose.data.io.paths import conceal

    sys.argv[1:] = conceal(sys.argv[1:])
    app(prog_name="tclose")
