"""How many people are unique in the population, estimated from the sizes of a sample's classes.

n rows were drawn from a population of N people; S_j classes have j rows. Every estimator answers
how many of the N people are alone with their quasi-identifiers. Estimates: nothing decides by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p
from typing import Any

import numpy as np

from tclose.arrays import Ints
from tclose.data.binding import BoundTable
from tclose.errors import PolicyError, Problem

SMALL_FRACTION = 0.1
"""Up to this share of the population Dankar and others (2012) take Pitman's model."""
STEPS = 90
"""Halvings of an interval, enough for all digits of a float."""


@dataclass(frozen=True)
class PopulationUniques:
    """Estimates of the people who are unique in a population; None where a model has no answer."""

    rows: int
    population_size: int
    sample_uniques: int
    zayatz: float
    pitman: float | None
    slide_negative_binomial: float | None

    @property
    def fraction(self) -> float:
        """The share of the population that is in the table."""
        return self.rows / self.population_size

    @property
    def model(self) -> str:
        """The model to believe by the rule of Dankar and others (2012).

        Of small samples Pitman's; of others the slide negative binomial or Zayatz's, whichever is
        smaller; Zayatz's where the other has no answer.
        """
        if self.fraction <= SMALL_FRACTION:
            return "zayatz" if self.pitman is None else "pitman"
        other = self.slide_negative_binomial
        return "zayatz" if other is None or self.zayatz < other else "slide_negative_binomial"

    @property
    def estimate(self) -> float:
        """How many people of the population are unique, by that model."""
        return float(getattr(self, self.model))

    @property
    def rows_at_risk(self) -> float:
        """How many rows of the table belong to such people."""
        return min(self.estimate * self.fraction, self.sample_uniques)

    @property
    def sentence(self) -> str:
        """The estimate as a sentence."""
        return (
            f"{self.sample_uniques:,} rows are unique in the table; of {self.population_size:,} "
            f"people that it was drawn from, about {self.estimate:,.0f} are estimated to be unique "
            f"({self.model.replace('_', ' ')}), which is {self.rows_at_risk:,.0f} of the rows"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        further = ("model", "estimate", "rows_at_risk")
        return {**vars(self), **{name: getattr(self, name) for name in further}}


def estimate_table(bound: BoundTable) -> PopulationUniques | None:
    """The estimates for a table whose policy says how many people it was drawn from."""
    size = bound.policy.population_size
    if size is None:
        return None
    if size < bound.classes.everyone:
        raise PolicyError([
            Problem("population_size", "the table has more people than that",
                    "it is the number of people that the table was drawn from")
        ])  # fmt: skip
    return estimate_uniques(bound.classes.size, size)


def estimate_uniques(sizes: Ints, population_size: int) -> PopulationUniques:
    """Every estimate, from the sizes of a sample's classes.

    >>> found = estimate_uniques(np.array([1, 1, 1, 2, 5]), 100)
    >>> found.sample_uniques, found.model, found.estimate > 3
    (3, 'pitman', True)
    """
    size, times = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
    spectrum = dict(zip(size.tolist(), times.tolist(), strict=True))
    rows, alone = int(size @ times), spectrum.get(1, 0)
    if alone == 0 or rows >= population_size:
        whole = float(alone)
        return PopulationUniques(rows, max(population_size, rows), alone, whole, whole, whole)
    return PopulationUniques(
        rows,
        population_size,
        alone,
        estimate_zayatz(spectrum, population_size),
        estimate_pitman(spectrum, population_size),
        estimate_slide_negative_binomial(spectrum, population_size),
    )


def estimate_zayatz(spectrum: dict[int, int], population_size: int) -> float:
    """Zayatz (1991): Bayes' rule with the class sizes of the sample as prior.

    P(unique | alone in the sample) = S_1 h(1) / Σ_j S_j h(j), where h(j) is the hypergeometric
    chance that of a class of j people exactly one was drawn.
    """
    rows = sum(size * times for size, times in spectrum.items())
    whole = _log_choose(population_size, rows)

    def chance(size: int) -> float:
        return size * exp(_log_choose(population_size - size, rows - 1) - whole)

    alone = spectrum[1] * chance(1)
    share = alone / sum(times * chance(size) for size, times in spectrum.items())
    return spectrum[1] * share * population_size / rows


def estimate_pitman(spectrum: dict[int, int], population_size: int) -> float | None:
    """Pitman's model (Hoshino 2001), its parameters by maximum likelihood.

    People come one after the other; the (m+1)-th is alike to none before with (θ + uα)/(θ + m), to
    a class of j people with (j - α)/(θ + m). Somebody stays alone with each further person with
    (θ + m - 1 + α)/(θ + m), so E[uniques of N] = N Π_{m=1}^{N-1} (θ + m - 1 + α)/(θ + m).
    """
    rows = sum(size * times for size, times in spectrum.items())
    classes = sum(spectrum.values())
    if classes in (1, rows):
        return None

    def likelihood(alpha: float, theta: float) -> float:
        new = lgamma(theta / alpha + classes) - lgamma(theta / alpha + 1)
        return (classes - 1) * log(alpha) + new - lgamma(theta + rows) + lgamma(theta + 1)

    def likelihood_of_joining(alpha: float) -> float:
        least = lgamma(1 - alpha)
        return sum(times * (lgamma(size - alpha) - least) for size, times in spectrum.items())

    def best_theta(alpha: float) -> float:
        return exp(_maximize(lambda shift: likelihood(alpha, exp(shift) - alpha), -20, 30)) - alpha

    alpha = _maximize(
        lambda a: likelihood(a, best_theta(a)) + likelihood_of_joining(a), 1e-6, 1 - 1e-6
    )
    theta = best_theta(alpha)
    survives = lgamma(theta + alpha + population_size - 1) - lgamma(theta + alpha)
    survives -= lgamma(theta + population_size) - lgamma(theta + 1)
    return population_size * exp(survives)


def estimate_slide_negative_binomial(
    spectrum: dict[int, int], population_size: int
) -> float | None:
    """Class sizes of the population are 1 + a negative binomial (Chen, Keller-McNulty 1998).

    K classes, sizes with generating function z ((1-β)/(1-βz))^α, each person drawn with π = n/N.
    K, α and β are those with which n, the classes and the uniques of the sample are expected:
    P(0) = (1-π) A and P(1) = π A (1 + (1-π) αβ/(1-β(1-π))), A = ((1-β)/(1-β(1-π)))^α. None where
    there are none. K (1-β)^α people are unique.
    """
    rows = sum(size * times for size, times in spectrum.items())
    drawn, classes = rows / population_size, sum(spectrum.values())

    def expect(alpha: float, beta: float) -> tuple[float, float]:
        """The classes and the uniques of the sample."""
        count = population_size / (1 + alpha * beta / (1 - beta))
        rest = 1 - beta * (1 - drawn)
        unseen = exp(alpha * (log1p(-beta) - log(rest)))
        alone = drawn * unseen * (1 + (1 - drawn) * alpha * beta / rest)
        return count * (1 - (1 - drawn) * unseen), count * alone

    def beta_of(alpha: float) -> float:
        odds = _find_root(lambda x: expect(alpha, exp(x) / (1 + exp(x)))[0] - classes, -40, 30)
        return exp(odds) / (1 + exp(odds))

    def surplus(shape: float) -> float:
        return expect(exp(shape), beta_of(exp(shape)))[1] - spectrum[1]

    grid = np.linspace(-12, 12, 49).tolist()
    values = [surplus(shape) for shape in grid]
    pairs = zip(grid, grid[1:], values, values[1:], strict=False)
    ends = next(((a, b) for a, b, left, right in pairs if (left > 0) != (right > 0)), None)
    if ends is None:
        return None
    falls = surplus(ends[0]) > 0
    shape = _find_root(surplus if falls else lambda x: -surplus(x), *ends)
    beta = beta_of(exp(shape))
    count = population_size / (1 + exp(shape) * beta / (1 - beta))
    return count * exp(exp(shape) * log1p(-beta))


def _log_choose(whole: int, part: int) -> float:
    if part < 0 or part > whole:
        return -inf
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)


def _find_root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls crosses zero."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _maximize(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one peak is largest, by golden sections."""
    part = (5**0.5 - 1) / 2
    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(60):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = function(left)
    return (low + high) / 2
