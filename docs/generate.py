"""What the site takes from the program itself: its commands, its Python names, llms.txt."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import typer
from rich.text import Text

import tclose
from tclose.cli import app

PROGRAM = "tclose"


def describe_commands() -> str:
    """Every command with its arguments and options, as Markdown."""
    top = typer.main.get_command(app)
    with typer.Context(top, info_name=PROGRAM) as context:
        return "\n".join(_describe_group(top, context))


def _describe_group(group: Any, context: Any) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command.hidden:
            continue
        with typer.Context(command, info_name=name, parent=context) as inside:
            if hasattr(command, "commands"):
                yield from _describe_group(command, inside)
            else:
                yield from _describe_command(command, inside)


def _describe_command(command: Any, context: Any) -> Iterator[str]:
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    yield f"## {context.command_path.partition(' ')[2]}\n\n```text\n{usage}\n```\n"
    yield f"{_plain(inspect.cleandoc(command.help or ''))}\n"
    panels: dict[str, list[Any]] = {}
    for param in command.get_params(context):
        if not getattr(param, "hidden", False) and "--help" not in param.opts:
            panel = "Argument" if param.param_type_name == "argument" else "Option"
            panels.setdefault(getattr(param, "rich_help_panel", None) or panel, []).append(param)
    for panel, params in panels.items():
        yield f"| {panel} | |\n|---|---|"
        for param in params:
            yield f"| {_spell(param)} | {_explain(param)} |"
        yield ""


def _spell(param: Any) -> str:
    """How a parameter is written: its names, and the word for what it takes."""
    if param.param_type_name == "argument":
        return f"`{param.metavar or param.name.upper()}`"
    names = [f"`{name}`" for name in (*reversed(param.opts), *param.secondary_opts)]
    return ", ".join(names) + (f" `{param.metavar}`" if param.metavar else "")


def _explain(param: Any) -> str:
    words = _plain(param.help or "").replace("|", "\\|")
    if param.param_type_name == "argument" or param.is_flag or param.default in (None, "", (), []):
        return words + (
            " Required." if param.required and param.param_type_name == "option" else ""
        )
    default = param.default() if callable(param.default) else param.default
    return f"{words} Default: `{getattr(default, 'value', default)}`."


def _plain(text: str) -> str:
    """Help without markup for terminals, and nothing that Markdown would take for its own."""
    return Text.from_markup(text).plain.replace("*", "\\*").replace("<", "\\<")


def describe_python() -> str:
    """Every public name, by kind, as directives that read its docstring."""
    named = {name: getattr(tclose, name) for name in sorted(tclose.__all__) if name[0] != "_"}
    errors = [n for n, o in named.items() if inspect.isclass(o) and issubclass(o, Exception)]
    classes = [n for n, o in named.items() if inspect.isclass(o) and n not in errors]
    functions = [n for n, o in named.items() if not inspect.isclass(o)]
    lines: list[str] = []
    for title, kind, names in (
        ("Functions", "function", functions),
        ("Values", "class", classes),
        ("Errors", "exception", errors),
    ):
        lines += [f"## {title}\n", "```{eval-rst}"]
        lines += [f".. auto{kind}:: tclose.{name}" for name in names]
        lines += ["```\n"]
    return "\n".join(lines)


def list_docstrings() -> str:
    """The same as plain text: every public name with its signature and docstring."""
    parts = []
    for name in sorted(tclose.__all__):
        value = getattr(tclose, name)
        if callable(value):
            signature = inspect.signature(value) if inspect.isfunction(value) else ""
            parts.append(f"## tclose.{name}\n\n{name}{signature}\n\n{inspect.getdoc(value)}\n")
    return "\n".join(parts)


KINDS = ("tutorial", "howto", "reference", "explanation", "gallery")


LISTED = re.compile(r"\[[^\]]+\]\(([\w/-]+)\.md\)(?: \||:) ([^|]+?) \|")
"""A row of a page's list of pages: its name, and what it is about."""


def list_pages(titles: dict[str, str], indexes: dict[str, str]) -> str:
    """llms.txt: what this is, and the source of each page by its title and what its index says."""
    project = inspect.cleandoc(tclose.__doc__ or "").partition("\n")[0]
    lines = [f"# {PROGRAM}\n", f"> {project}"]
    about = {
        (folder / page).as_posix(): words
        for name, text in sorted(indexes.items())
        for folder in [PurePosixPath(name).parent]
        for page, words in LISTED.findall(text)
    }
    for kind in KINDS:
        lines.append(f"\n## {kind.capitalize()}\n")
        for name, title in sorted(titles.items()):
            if name.startswith(f"{kind}/") and not name.endswith("README"):
                lines.append(f"- [{title}](_sources/{name}.md.txt): {about[name]}")
    return "\n".join(lines) + "\n"
