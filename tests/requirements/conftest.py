"""Every requirement by definition: loops over classes and values, in fractions, one at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from tclose.data.encode.cells import Cells, form_classes
from tclose.data.encode.columns import Dictionary, make_attribute
from tclose.distance.divergence import JensenShannon, KullbackLeibler, SmoothedJensenShannon
from tclose.distance.emd import EarthMover
from tclose.hierarchy.build import groups
from tclose.policy.columns import Column
from tclose.requirements.belief.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from tclose.requirements.belief.delta_disclosure import DeltaDisclosure
from tclose.requirements.classes import Classes
from tclose.requirements.closeness.t_closeness import TCloseness
from tclose.requirements.diversity.alpha import AlphaAnonymity
from tclose.requirements.diversity.distinct import DistinctDiversity
from tclose.requirements.diversity.entropy import EntropyDiversity
from tclose.requirements.diversity.probabilistic import ProbabilisticDiversity
from tclose.requirements.diversity.recursive import RecursiveDiversity
from tclose.requirements.identity.k_anonymity import KAnonymity

Number = Fraction | float
Rows = list[tuple[Any, ...]]

# Numbers with gaps, so that rank and value are different distances, and a tree over them.
DOMAIN = ("1", "2", "4", "8", "9")
GROUPS = {"low": ["1", "2"], "high": {"even": ["4", "8"], "odd": ["9"]}}
CHAINS = {
    "1": ("low", "*"), "2": ("low", "*"),
    "4": ("even", "high", "*"), "8": ("even", "high", "*"), "9": ("odd", "high", "*"),
}  # fmt: skip
HEIGHT = {"low": 1, "even": 1, "odd": 1, "high": 2, "*": 3}


@dataclass(frozen=True)
class Scene:
    """A class and the table it lies in: how often each value occurs."""

    mine: Mapping[Any, int]
    whole: Mapping[Any, int]

    @property
    def size(self) -> int:
        return sum(self.mine.values())

    def p(self, value: Any) -> Fraction:
        return Fraction(self.mine.get(value, 0), self.size)

    def q(self, value: Any) -> Fraction:
        return Fraction(self.whole[value], sum(self.whole.values()))

    @property
    def values(self) -> list[Any]:
        return sorted(value for value, count in self.whole.items() if count)


def equal(scene: Scene) -> Fraction:
    return sum((abs(scene.p(v) - scene.q(v)) for v in scene.values), Fraction(0)) / 2


def _line(scene: Scene, places: Sequence[int]) -> Fraction:
    if len(places) < 2:
        return Fraction(0)
    running, total = Fraction(0), Fraction(0)
    for value, (low, high) in zip(scene.values, pairwise(places), strict=False):
        running += scene.p(value) - scene.q(value)
        total += abs(running) * (high - low)
    return total / (places[-1] - places[0])


def ordered(scene: Scene) -> Fraction:
    return _line(scene, range(len(scene.values)))


def numeric(scene: Scene) -> Fraction:
    return _line(scene, [int(value) for value in scene.values])


def hierarchical(scene: Scene) -> Fraction:
    """Li's recursion over the direct children of every group."""
    children: dict[str, set[str]] = {}
    for leaf, chain in CHAINS.items():
        for child, above in pairwise((leaf, *chain)):
            children.setdefault(above, set()).add(child)

    def extra(node: str) -> Fraction:
        if node not in children:
            return scene.p(node) - scene.q(node) if node in scene.values else Fraction(0)
        return sum((extra(child) for child in children[node]), Fraction(0))

    total = Fraction(0)
    for node, below in children.items():
        extras = [extra(child) for child in below]
        surplus = sum((x for x in extras if x > 0), Fraction(0))
        need = -sum((x for x in extras if x < 0), Fraction(0))
        total += Fraction(HEIGHT[node], HEIGHT["*"]) * min(surplus, need)
    return total


def kl(scene: Scene) -> float:
    terms = ((float(scene.p(v)), float(scene.q(v))) for v in scene.values)
    return max(0.0, math.fsum(p * math.log2(p / q) for p, q in terms if p))


def js(scene: Scene) -> float:
    total = []
    for v in scene.values:
        p, q = float(scene.p(v)), float(scene.q(v))
        total += [x * math.log2(2 * x / (p + q)) for x in (p, q) if x]
    return max(0.0, math.fsum(total) / 2)


def recursive(scene: Scene, l: int) -> Number:
    counts = sorted(scene.mine.values(), reverse=True)
    tail = sum(counts[l - 1 :])
    return Fraction(counts[0], tail) if tail else math.inf


def entropy(scene: Scene) -> float:
    return math.exp(-math.fsum(float(scene.p(v)) * math.log(scene.p(v)) for v in scene.mine))


def gain(scene: Scene) -> Fraction:
    return max((scene.p(v) - scene.q(v)) / scene.q(v) for v in scene.values)


def enhanced_gain(scene: Scene) -> Number:
    for v in scene.values:
        grown = (scene.p(v) - scene.q(v)) / scene.q(v)
        if grown > 0 and float(grown) > -math.log(scene.q(v)) + 1e-12:
            return math.inf
    return gain(scene)


def change(scene: Scene, base: float = math.e, ignore: bool = False) -> float:
    shares = [(scene.p(v), scene.q(v)) for v in scene.values]
    if any(p == 0 for p, _ in shares) and not ignore:
        return math.inf
    return max(abs(math.log(p / q)) / math.log(base) for p, q in shares if p)


def top(scene: Scene) -> Fraction:
    return max(scene.p(v) for v in scene.mine)


@dataclass(frozen=True)
class Model:
    """A requirement by definition: what a class attains, and whether that breaks a limit."""

    attains: Callable[[Scene], Number]
    breaks: Callable[[Number, Fraction], bool] = lambda value, limit: value > limit
    small_is_bad: bool = False

    def worst(self, scenes: Sequence[Scene]) -> Number:
        pick = min if self.small_is_bad else max
        return pick(self.attains(scene) for scene in scenes)


def _below(value: Number, limit: Fraction) -> bool:
    return value < limit


MODELS: dict[tuple[str, str | None], Model] = {
    ("k-anonymity", None): Model(lambda s: Fraction(s.size), _below, True),
    ("t-closeness", "equal"): Model(equal),
    ("t-closeness", "ordered"): Model(ordered),
    ("t-closeness", "numeric"): Model(numeric),
    ("t-closeness", "hierarchical"): Model(hierarchical),
    ("t-closeness", "kl"): Model(kl),
    ("t-closeness", "js"): Model(js),
    ("distinct-l-diversity", None): Model(lambda s: Fraction(len(s.mine)), _below, True),
    ("p-sensitive-k-anonymity", None): Model(lambda s: Fraction(len(s.mine)), _below, True),
    ("entropy-l-diversity", None): Model(entropy, _below, True),
    ("recursive-(c,l)-diversity", None): Model(lambda s: recursive(s, 2), lambda v, c: v >= c),
    ("probabilistic-l-diversity", None): Model(lambda s: 1 / top(s), _below, True),
    ("alpha-k-anonymity", None): Model(top),
    ("basic-beta-likeness", None): Model(gain),
    ("enhanced-beta-likeness", None): Model(enhanced_gain),
    ("delta-disclosure", None): Model(change, lambda value, delta: value >= delta),
}


def scenes(rows: Rows, quasi: int, at: int) -> list[Scene]:
    """The classes of a table in the order of their quasi-identifiers; column `at` is sensitive."""
    return scenes_by([row[:quasi] for row in rows], [row[at] for row in rows])


def scenes_by(keys: Sequence[Hashable], values: Sequence[Any]) -> list[Scene]:
    whole = Counter(values)
    found: dict[Any, Counter[Any]] = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, Counter())[value] += 1
    return [Scene(found[key], whole) for key in sorted(found)]


def as_table(rows: Rows, names: Sequence[str]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        {
            name: pa.array(list(column), pa.string())
            for name, column in zip(names, columns, strict=True)
        }
    )


@st.composite
def rows_of(
    draw: st.DrawFn,
    quasi: Sequence[Sequence[str]] = ("ab", "xyz"),
    sensitive: int = 1,
    most: int = 16,
) -> Rows:
    """Random small tables: quasi-identifiers first, then sensitive values of the domain."""
    row = st.tuples(
        *(st.sampled_from(list(letters)) for letters in quasi),
        *(st.sampled_from(DOMAIN) for _ in range(sensitive)),
    )
    return draw(st.lists(row, min_size=1, max_size=most))


def limits(low: Fraction, high: Fraction) -> Any:
    """Thresholds with small denominators, so that equality with what is attained is common."""
    return st.fractions(low, high, max_denominator=12)


def agrees(found: float, expected: Number) -> bool:
    return found == pytest.approx(float(expected), abs=1e-9)


def first_worst(model: Model, all_scenes: Sequence[Scene]) -> int:
    worst = model.worst(all_scenes)
    values = [model.attains(scene) for scene in all_scenes]
    if isinstance(worst, Fraction):
        return values.index(worst)
    return next(i for i, value in enumerate(values) if value == worst or abs(value - worst) < 1e-11)


def classes_of(
    rows: Rows,
    quasi: Sequence[str],
    sensitive: Mapping[str, Mapping[str, Any]],
    *,
    wild: Sequence[str] = (),
    weight: Any = None,
) -> Classes:
    """The classes of a table that holds the quasi-identifiers first, then the sensitive columns.

    A row stands for as many as its weight says.
    """
    names = [*quasi, *sensitive]
    encoded = {
        name: Dictionary.encode(pa.chunked_array([pa.array([r[at] for r in rows], pa.string())]))
        for at, name in enumerate(names)
    }
    if weight is None:
        weight = np.ones(len(rows), dtype=np.int64)
    cells = Cells({n: d for n, (d, _) in encoded.items()}, {n: c for n, (_, c) in encoded.items()},
                  weight)  # fmt: skip
    attributes = {}
    for name, spec in sensitive.items():
        column = Column.model_validate({"role": "sensitive", **spec})
        tree = groups(GROUPS, name) if column.hierarchy is not None else None
        dictionary = cells.dictionaries[name]
        attributes[name] = make_attribute(name, column, dictionary, tree, Path())
    return form_classes(cells, quasi, attributes, wild)


def promises(classes: Classes, name: str = "s") -> dict[str, Any]:
    """Every requirement about one attribute (and k), nothing promised."""
    attribute = classes.attributes[name]
    found: dict[str, Any] = {
        "k": KAnonymity(),
        "distinct": DistinctDiversity(name),
        "entropy": EntropyDiversity(name),
        "recursive 1": RecursiveDiversity(name, 1),
        "recursive 2": RecursiveDiversity(name, 2),
        "recursive 3": RecursiveDiversity(name, 3),
        "probabilistic": ProbabilisticDiversity(name),
        "alpha": AlphaAnonymity(name),
        "alpha of the first": AlphaAnonymity(name, values=attribute.labels[:1]),
        "basic beta": BasicBetaLikeness(name),
        "enhanced beta": EnhancedBetaLikeness(name),
        "delta": DeltaDisclosure(name),
        "kl": TCloseness(name, KullbackLeibler()),
        "js": TCloseness(name, JensenShannon()),
    }
    for ground in attribute.suitable:
        metric = attribute.ground(ground)
        found[ground] = TCloseness(name, EarthMover(metric))
        smoothed = SmoothedJensenShannon(metric, Fraction(2, 5))
        found[f"smoothed over {ground}"] = TCloseness(name, smoothed)
    return found


def badness(requirement: Any, classes: Classes) -> Number:
    """What a table attains, larger being worse, exactly where it can be."""
    measured = requirement.measure(classes)
    value = measured.achieved if measured.exact is None else measured.exact
    small_is_bad = {"k-anonymity", "k-map", "distinct-l-diversity", "entropy-l-diversity",
                    "probabilistic-l-diversity"}  # fmt: skip
    return -value if requirement.name in small_is_bad else value


@pytest.fixture(scope="session")
def brute() -> Any:
    """The definitions and strategies of this module, for the tests of this folder."""
    return _Brute(**{name: thing for name, thing in globals().items() if name[0].isalpha()})


class _Brute(SimpleNamespace):
    """The module as an object that failing tests can show in one word."""

    def __repr__(self) -> str:
        return "brute"
