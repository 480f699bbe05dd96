"""The estimator: `fit` learns a plan that satisfies the requirements, `transform` recodes by it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from tclose.data.binding import BoundTable
from tclose.data.opening import open_source
from tclose.learn.containers import GivenRows, take_rows, take_target
from tclose.learn.recoder import LocatedRows, Recoder
from tclose.learn.roles import LEAST, RefusedError, make_policy, refusing
from tclose.policy.model import Policy
from tclose.recode.plan import Plan
from tclose.recode.regions import spread_classes
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate, Origin, certify
from tclose.workflows.anonymize import anonymize
from tclose.workflows.inputs import PolicyLike, check
from tclose.workflows.release.task import list_versions

OUTSIDE = ("refuse", "cover")
METHOD = "mondrian"
"""The default search: its cuts assign any row to a class."""


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recodes quasi-identifiers so that the fitted table satisfies requirements such as k and t.

    `fit` searches for classes, and then counts the fitted rows as `transform` releases them; it
    raises an error if they break a requirement. **`transform` recodes each row by itself, and does
    not check the requirements on the rows it is given**, unless `verify` is true: ten new rows can
    be in ten different classes. Use `audit` to check them.

    Parameters
    ----------
    policy : file, dict or Policy; the roles of the columns and the requirements.
    quasi, sensitive, insensitive : without a policy, the columns of each role, by name or number.
        Columns that are not named are quasi-identifiers, if `quasi` names none; otherwise every
        column needs a role. Those that are not quasi-identifiers are passed through.
    target : the name of `y` as a sensitive column; None ignores y.
    k : least size of a class; by default that of the policy, or 5 without one.
    t : closeness of every sensitive column to the table; by default that of the policy.
    method : "mondrian" (default), or another search whose classes are defined by cuts or levels.
    effort : the effort of the search; see `tclose.anonymize`.
    recoding : "local" (default; intervals, groups and sets, as text), or "mean", "median", "mode":
        the central value of the class, numbers as floats.
    outside : what to do with a row that belongs to no class of the plan (a number beyond all fitted
        ones, an unknown value): "refuse" raises an error; "cover" releases all of its
        quasi-identifiers as `*`, or as the central value of the whole fitted table.
    verify : whether `transform` raises an error if its rows break a requirement.

    Attributes
    ----------
    plan_ : the classes, without the data; `tclose.apply` accepts it as well.
    certificate_ : what was counted on the transformed fitted rows.
    policy_ : the policy that was used.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    >>> import numpy as np
    >>> ages = np.array([[21], [22], [23], [44], [45], [46]])
    >>> model = Anonymizer(k=3).fit(ages)
    >>> model.transform([[22], [40]]).ravel().tolist()
    ['[21, 33]', '[34, 46]']
    >>> model.certificate_.k
    3
    """

    def __init__(
        self,
        policy: PolicyLike | None = None,
        *,
        quasi: Any = None,
        sensitive: Any = None,
        insensitive: Any = None,
        target: str | None = None,
        k: Any = None,
        t: Any = None,
        method: str | None = None,
        effort: float | None = None,
        recoding: Literal["local", "mean", "median", "mode"] | None = None,
        outside: Literal["refuse", "cover"] = "refuse",
        verify: bool = False,
    ) -> None:
        self.policy = policy
        self.quasi = quasi
        self.sensitive = sensitive
        self.insensitive = insensitive
        self.target = target
        self.k = k
        self.t = t
        self.method = method
        self.effort = effort
        self.recoding = recoding
        self.outside = outside
        self.verify = verify

    def fit(self, X: Any, y: Any = None) -> Anonymizer:
        """Learns classes that satisfy the requirements, and verifies them on the fitted rows."""
        for name in ("plan_", "policy_", "certificate_", "_recoder"):
            self.__dict__.pop(name, None)  # a failure must not leave an earlier fit
        with refusing():
            self._refuse_parameters(y)
            k = LEAST if self.policy is None and self.k is None else self.k
            least = max(int(k), 1) if isinstance(k, Integral) else 1
            given = take_rows(self, X, reset=True, least=least)
            policy = make_policy(self, given.table.column_names)
            table = self._with_target(given, y)
            plan, bound = _make_plan(table, policy, self.method, self.effort)
            recoder, located = Recoder.learn(bound, plan, policy, self.target)
            self._refuse_outside(located)
            audit = recoder.audit(table, located)
            _refuse_broken(audit, "the fitted rows as they would be transformed")
        self._recoder, self.plan_, self.policy_ = recoder, plan, policy
        self.certificate_ = _certify(audit, recoder, located)
        return self

    def transform(self, X: Any) -> Any:
        """Recodes each row by the plan; the rows keep their number and their order.

        The requirements are not checked on these rows, unless `verify` is true.
        """
        check_is_fitted(self)
        with refusing():
            given, located = self._locate(X)
            if self.verify:
                _refuse_broken(self._recoder.audit(given.table, located), "these rows")
            names = self.get_feature_names_out().tolist()
            return given.replace_columns(self._recoder.columns(located), names, self)

    def audit(self, X: Any, y: Any = None) -> Audit:
        """Counts how far some rows satisfy the requirements once they are transformed.

        `y` is needed if a requirement is about the target.

        >>> import numpy as np
        >>> model = Anonymizer(k=3).fit(np.array([[21], [22], [23], [44], [45], [46]]))
        >>> model.audit([[22], [40]]).holds
        False
        """
        check_is_fitted(self)
        with refusing():
            given, located = self._locate(X)
            return self._recoder.audit(self._with_target(given, y), located)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Returns the names of the columns of `transform`: all but dropped identifiers."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        fitted = _check_feature_names_in(self, None)
        kept = [at for at, name in enumerate(fitted) if name not in self._recoder.dropped]
        return np.asarray(names, dtype=object)[kept]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = self.target is not None
        numbers = self.recoding in ("mean", "median", "mode")
        tags.transformer_tags.preserves_dtype = ["float64"] if numbers else []
        return tags

    # --- what the methods share

    def _refuse_parameters(self, y: Any) -> None:
        if self.outside not in OUTSIDE:
            hint = " or ".join(OUTSIDE)
            raise RefusedError("unknown value", where="outside", hint=hint)
        if self.verify and self.target is not None:
            what = "transform has no y, so requirements on it cannot be verified there"
            raise RefusedError(what, where="verify", hint="use audit(X, y)")
        if y is None and self.target is not None:
            raise RefusedError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )

    def _with_target(self, given: GivenRows, y: Any) -> pa.Table:
        if self.target is None:
            return given.table
        if y is None:
            raise RefusedError("a requirement is about y, which is not given", where="y")
        return given.table.append_column(self.target, take_target(y, given.table.num_rows))

    def _locate(self, X: Any) -> tuple[GivenRows, LocatedRows]:
        given = take_rows(self, X, reset=False)
        located = self._recoder.locate(given.table)
        self._refuse_outside(located)
        return given, located

    def _refuse_outside(self, located: LocatedRows) -> None:
        """Raises RefusedError if a row has no class and that is not allowed."""
        if located.outside and self.outside == "refuse":
            faulty = [f"{name!r} ({rows:,} rows)" for name, rows in located.faults.items() if rows]
            rows = f"{located.outside:,} of {len(located.label):,} rows"
            raise RefusedError(
                f"{rows} are outside of the fitted classes",
                where=f"columns {', '.join(faulty)}" if faulty else "X",
                hint='outside="cover" releases such rows as the root',
            )


def _make_plan(
    table: pa.Table, policy: Policy, method: str | None, effort: float | None
) -> tuple[Plan, BoundTable]:
    """Makes a plan that assigns a class to any row; also returns the table it was made from."""
    words = policy.release.model_copy(update={"recoding": "local", "leftover": "drop"})
    local = policy.model_copy(update={"release": words})
    stated = "method" in policy.search.model_fields_set
    chosen = method or (policy.search.method if stated else METHOD)
    source = open_source(table)
    plan = anonymize(source, local, method=chosen, effort=effort).plan
    if plan is None or plan.way == "classes":
        raise RefusedError(
            f"the classes of {chosen!r} do not define which other rows belong to them",
            where="method",
            hint='use "mondrian", "mondrian-median", "nt-mondrian", "optimal" or "incognito"',
        )
    bound = check(source, local)
    return (spread_classes(plan, bound) if plan.way == "cuts" else plan), bound


def _refuse_broken(audit: Audit, rows: str) -> None:
    if audit.holds is False:
        broken = f"the promise does not hold on {rows}: {audit.broken}"
        raise RefusedError(broken, hint="see `audit`")


def _certify(audit: Audit, recoder: Recoder, located: LocatedRows) -> Certificate:
    """Certifies what was counted on the fitted rows, without any of them."""
    plan = recoder.plan
    origin = Origin(
        method=plan.method,
        seed=plan.seed,
        input_rows=len(located.label),
        outside=located.outside,
        versions=list_versions(),
    )
    return certify(audit, recoder.policy, origin, sizes=False)
