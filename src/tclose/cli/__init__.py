"""The command line: commands that `judge` a table, `examine` it, `explore` what could be promised,
make a `release`, or `prepare` one.

Whatever is slow to import, a command imports when it runs, so that help is there at once.
"""

from __future__ import annotations

import sys

import typer

from tclose.cli import (
    console,
    examine,
    explore,
    hierarchy,
    judge,
    prepare,
    release,
    reproduce,
    studio,
)
from tclose.cli.plain_help import PlainGroup
from tclose.version import VERSION

app = typer.Typer(
    name="tclose",
    help="Audit and anonymize tables about people: k-anonymity, t-closeness and related models.",
    epilog="Exit codes: 0: the promise holds, 1: it does not, 2: usage or data error, 70: crash.",
    no_args_is_help=True,
    cls=PlainGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    prepare.demo,
    prepare.init,
    judge.audit,
    release.anonymize,
    release.split,
    judge.verify,
    judge.sign,
    release.apply,
    examine.measure,
    examine.attack,
    judge.compose,
    explore.lattice,
    explore.frontier,
    explore.methods,
    explore.distances,
    examine.explain,
    prepare.schema,
    prepare.generate,
    studio.studio,
):
    app.command()(command)
# Its name before it was that of the function; understood in this version.
app.command("utility", hidden=True, deprecated=True)(examine.measure)
app.add_typer(hierarchy.app, name="hierarchy")
app.add_typer(prepare.policies, name="policy")
app.add_typer(reproduce.app, name="reproduce")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tclose {VERSION}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Audit and anonymize tables about people: k-anonymity, t-closeness and related models."""


class _HiddenPandas:
    """Has pandas taken for one that is not installed.

    Commands read files, never frames, but pyarrow looks for pandas as soon as it makes an array,
    and pandas takes longer to import than a small table to audit. Only Spark cannot do without it.
    (A `None` in `sys.modules` would not do: pyarrow is compiled, and takes that for the module.)
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("hidden from the command line", name=name)


def main() -> None:
    """Runs the command line; whatever it complains about, no password is seen."""
    from tclose.data.io.paths import conceal

    sys.argv[1:] = conceal(sys.argv[1:])
    if not any("spark" in word for word in sys.argv):
        sys.meta_path.insert(0, _HiddenPandas)
    with console.tidy_ending():
        app(prog_name="tclose")
