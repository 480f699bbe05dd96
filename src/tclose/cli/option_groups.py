"""Groups of options: stated once, as the parameters of a function, and used by many commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Group:
    """Marks a parameter of a command that `make` puts together from options, its own parameters."""

    make: Callable[..., Any]

    @property
    def options(self) -> list[inspect.Parameter]:
        """The options of the group."""
        return list(inspect.signature(self.make, eval_str=True).parameters.values())


def ungrouped(command: F) -> F:
    """The command as typer is to read it: the options of each group in the place of the group.

    >>> from typing import Annotated
    >>> def area(wide: int = 1, high: int = 1) -> int:
    ...     return wide * high
    >>> @ungrouped
    ... def describe(name: str, *, size: Annotated[int, Group(area)]) -> str:
    ...     return f"{name}: {size}"
    >>> inspect.signature(describe)
    <Signature (*, name: str, wide: int = 1, high: int = 1) -> str>
    >>> describe(name="a room", wide=4, high=3)
    'a room: 12'
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: group
        for name, parameter in signature.parameters.items()
        for group in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(group, Group)
    }
    if not groups:
        return command
    options = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        for option in (groups[name].options if name in groups else [parameter])
    ]

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {
            name: group.make(**{option.name: given.pop(option.name) for option in group.options})
            for name, group in groups.items()
        }
        return command(**given, **made)

    run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run  # type: ignore[return-value]
