"""Makes a policy from a transformer's parameters; errors are of the kind scikit-learn expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tclose.errors import PolicyError, Problem, UsageError, nearest
from tclose.policy.load import policy_from
from tclose.policy.model import Policy
from tclose.workflows.inputs import resolve_policy

if TYPE_CHECKING:
    from tclose.learn.anonymizer import Anonymizer

LEAST = 5
"""The default size of classes, without a policy and without k."""


class RefusedError(UsageError, ValueError):
    """A parameter or input that a transformer refuses: a UsageError, and a ValueError as well."""

    refused: UsageError | None = None
    """The error of tclose that is raised as a ValueError here, if it is one."""

    @classmethod
    def of(cls, error: UsageError) -> RefusedError:
        """Returns an error of tclose as a ValueError that says the same."""
        found = cls(error.what, where=error.where, hint=error.hint)
        found.refused = error
        return found

    def describe(self) -> str:
        """The whole message."""
        return super().describe() if self.refused is None else self.refused.describe()


@contextmanager
def refusing() -> Iterator[None]:
    """Raises mistakes of the caller as ValueErrors; other errors are unchanged.

    >>> with refusing():
    ...     raise UsageError("no such column", where="quasi")
    Traceback (most recent call last):
    tclose.learn.roles.RefusedError: quasi: no such column
    """
    try:
        yield
    except ValueError:
        raise
    except UsageError as error:
        raise RefusedError.of(error) from error


def make_policy(model: Anonymizer, columns: Sequence[str]) -> Policy:
    """Makes the policy for a table with these columns and, if there is one, the target.

    Parameters name columns by name or by number.
    """
    if model.target is not None and model.target in columns:
        raise RefusedError("X has a column of this name", where="target", hint="choose another one")
    raw, base = _declare(model, columns)
    if model.k is not None:
        raw["k"] = int(model.k) if isinstance(model.k, Integral) else model.k
    if model.t is not None:
        _add_closeness(model, raw)
    if model.recoding is not None:
        raw["release"] = {**raw.get("release", {}), "recoding": model.recoding}
    policy = policy_from(raw, base)
    _refuse_unsuited(policy)
    return policy


def _declare(model: Anonymizer, columns: Sequence[str]) -> tuple[dict[str, Any], Any]:
    """Returns the declarations about columns as plain values, and the base of relative paths."""
    if model.policy is None:
        return {"k": LEAST, "columns": _name_roles(model, columns)}, "."
    if any(names is not None for names in (model.quasi, model.sensitive, model.insensitive)):
        what = "give a policy or name the columns, not both"
        raise RefusedError(what, where="quasi, sensitive, insensitive")
    given = resolve_policy(model.policy)
    if model.target is not None and model.target not in given.sensitive:
        hint = nearest(model.target, given.sensitive) or "make it sensitive in the policy"
        raise RefusedError("the policy has no such sensitive column", where="target", hint=hint)
    return given.to_json(), given.base


def _name_roles(model: Anonymizer, columns: Sequence[str]) -> dict[str, Any]:
    """Returns the role of every column; if no quasi-identifiers are named, all others are."""
    roles: dict[str, Any] = {}
    for role in ("sensitive", "insensitive", "quasi"):
        named = _list_columns(getattr(model, role), columns, role)
        if role == "quasi" and model.quasi is None:
            named = [name for name in columns if name not in roles]
        for name in named:
            if name in roles:
                raise RefusedError(f"named both as {roles[name]} and as {role}", where=name)
            roles[name] = role
    lacking = [
        Problem(name, "this column has no role", "name it as quasi, sensitive or insensitive")
        for name in columns
        if name not in roles
    ]
    if lacking:
        raise PolicyError(lacking)
    return roles | ({} if model.target is None else {model.target: "sensitive"})


def _add_closeness(model: Anonymizer, raw: dict[str, Any]) -> None:
    """Adds closeness of every sensitive attribute."""
    columns = {
        name: {"role": column} if isinstance(column, str) else dict(column)
        for name, column in raw["columns"].items()
    }
    sensitive = [name for name, column in columns.items() if column["role"] == "sensitive"]
    if not sensitive:
        what = "nothing is sensitive, so nothing can be close to the table"
        raise RefusedError(what, where="t", hint="name a column as sensitive, or y as the target")
    raw["columns"] = columns | {name: {**columns[name], "t": model.t} for name in sensitive}


def _list_columns(names: Any, columns: Sequence[str], role: str) -> list[str]:
    """Lists the columns that a parameter names: one or several, by name or by number."""
    if names is None:
        return []
    listed = [names] if isinstance(names, str | Integral) else list(names)
    result = []
    for name in listed:
        if isinstance(name, Integral) and -len(columns) <= int(name) < len(columns):
            result.append(columns[int(name)])
        elif isinstance(name, str) and name in columns:
            result.append(name)
        else:
            raise RefusedError("X has no such column", where=role, hint=nearest(str(name), columns))
    return result


def _refuse_unsuited(policy: Policy) -> None:
    """Raises RefusedError if a policy has settings that no transformer supports."""
    release = policy.release
    shuffles = release.rows != "keep" and "rows" in release.model_fields_set
    for is_set, where, what in (
        (shuffles, "release.rows", "keeps the order of the rows"),
        (release.identifiers == "pseudonym", "release.identifiers", "keeps no key for pseudonyms"),
        (release.add, "release.add", "adds no columns"),
        (policy.subject, f"columns.{policy.subject}", "keeps no key for the pseudonyms of persons"),
        (release.suppresses_cells, "release.recoding",
         "cannot tell which cells of other rows would be suppressed"),
        (policy.search.masking != "none", "search.masking", "does not change sensitive values"),
        (release.leftover not in ("drop", "root"), "release.leftover",
         "does not change sensitive values"),
    ):  # fmt: skip
        if is_set:
            raise RefusedError(f"a transformer {what}", where=where)
