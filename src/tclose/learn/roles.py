"""The parameters of a transformer as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from tclose.errors import PolicyError, Problem, nearest
from tclose.learn.refusing import RefusedError
from tclose.policy.load import policy_from
from tclose.policy.model import Policy
from tclose.workflows.inputs import PolicyLike, resolve_policy

LEAST = 5
"""The size of classes where neither a policy nor a parameter says one."""
METHOD = "mondrian"
"""The search where neither says one: its cuts tell of any row where it belongs."""


@dataclass(frozen=True)
class Roles:
    """Which columns of a table play which part; columns go by name, or by number."""

    policy: PolicyLike | None
    quasi: Any
    sensitive: Any
    insensitive: Any
    target: str | None
    k: Any
    t: Any
    recoding: str | None

    def settled(self, columns: Sequence[str]) -> Policy:
        """The policy for a table with these columns and, if there is one, the target."""
        if self.target is not None and self.target in columns:
            raise RefusedError(
                "X has a column of this name", where="target", hint="choose another one"
            )
        raw, base = self._declared(columns)
        if self.k is not None:
            raw["k"] = _plain(self.k)
        if self.t is not None:
            self._closer(raw)
        if self.recoding is not None:
            raw["release"] = {**raw.get("release", {}), "recoding": self.recoding}
        settled = policy_from(raw, base)
        _refuse_unsuited(settled)
        return settled

    def _declared(self, columns: Sequence[str]) -> tuple[dict[str, Any], Any]:
        """What is declared about the columns, as plain values, and where relative paths start."""
        if self.policy is None:
            return {"k": LEAST, "columns": self._named(columns)}, "."
        if any(one is not None for one in (self.quasi, self.sensitive, self.insensitive)):
            raise RefusedError(
                "give a policy or name the columns, not both", where="quasi, sensitive, insensitive"
            )
        given = resolve_policy(self.policy)
        if self.target is not None and self.target not in given.sensitive:
            hint = nearest(self.target, given.sensitive) or "make it sensitive in the policy"
            raise RefusedError("the policy has no such sensitive column", where="target", hint=hint)
        return given.to_json(), given.base

    def _named(self, columns: Sequence[str]) -> dict[str, Any]:
        """Every column's role; those that are not named are quasi-identifiers, if none is."""
        roles: dict[str, Any] = {}
        for role in ("sensitive", "insensitive", "quasi"):
            asked = _listed(getattr(self, role), columns, role)
            if role == "quasi" and self.quasi is None:
                asked = [name for name in columns if name not in roles]
            for name in asked:
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
        return roles | ({} if self.target is None else {self.target: "sensitive"})

    def _closer(self, raw: dict[str, Any]) -> None:
        """Promises closeness of every sensitive attribute."""
        told = {name: _long(one) for name, one in raw["columns"].items()}
        sensitive = [name for name, one in told.items() if one["role"] == "sensitive"]
        if not sensitive:
            raise RefusedError(
                "nothing is sensitive, so nothing can be close to the table",
                where="t",
                hint="name a column as sensitive, or y as the target",
            )
        raw["columns"] = told | {name: {**told[name], "t": self.t} for name in sensitive}


def method_of(policy: Policy, asked: str | None) -> str:
    """The search that is asked for: by a parameter, by the policy, or neither."""
    said = policy.search.method if "method" in policy.search.model_fields_set else METHOD
    return asked or said


def without(policy: Policy, name: str | None) -> Policy:
    """The policy without a column: that of rows whose target is not known."""
    columns = {one: column for one, column in policy.columns.items() if one != name}
    return policy.model_copy(update={"columns": columns}).at(policy.base)


def _plain(number: Any) -> Any:
    """A whole number of any library as one of Python's."""
    return int(number) if isinstance(number, Integral) else number


def _long(column: Any) -> dict[str, Any]:
    return {"role": column} if isinstance(column, str) else dict(column)


def _listed(names: Any, columns: Sequence[str], role: str) -> list[str]:
    """The columns that a parameter names: one or several, by name or by number."""
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
    """Raises where a policy asks for what no transformer can do."""
    release = policy.release
    for wrong, where, what in (
        (release.rows != "keep", "release.rows", "a transformer keeps the order of the rows"),
        (
            release.identifiers == "pseudonym",
            "release.identifiers",
            "a transformer keeps no key for pseudonyms",
        ),
        (
            policy.subject is not None,
            f"columns.{policy.subject}",
            "a transformer keeps no key for the pseudonyms of persons",
        ),
        (
            policy.subject is not None,
            f"columns.{policy.subject}",
            "a transformer keeps no key for the pseudonyms of persons",
        ),
        (
            release.leftover not in ("drop", "root"),
            "release.leftover",
            "a transformer does not change sensitive values",
        ),
    ):
        if wrong:
            raise RefusedError(what, where=where)
