"""Help in the words of a command, without the names of Python's types."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class PlainGroup(TyperGroup):
    """Commands whose help shows a plain word, or nothing, for the type of an option."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters of the group itself."""
        params = super().get_params(ctx)
        for param in params:
            _simplify(param)
        return params

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, whose help is plain."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _simplify_command(found, ctx)
        return found


def _simplify_command(command: Any, context: Any) -> None:
    for param in (*command.params, command.get_help_option(context)):
        if param is not None:
            _simplify(param)
    for further in getattr(command, "commands", {}).values():
        _simplify_command(further, context)


def _simplify(param: Any) -> None:
    """Removes the type of flags and arguments from the help."""
    if param.param_type_name == "argument":
        if not getattr(getattr(param, "type_descriptor", None), "is_choice", False):
            param.display_type = lambda ctx: ""
    elif param.metavar is None:
        param.metavar = "" if getattr(param, "is_flag", False) else "VALUE"
