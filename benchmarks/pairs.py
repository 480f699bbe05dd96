"""How often a stricter t loses less than a milder one, in separate runs and from one to the next.

    python benchmarks/pairs.py [--tables 10] [--rows 1500] [--two] [--ts 0.1,0.2] [--effort 0.5]

Made-up tables, one seed. Every t is searched by itself by `auto`, and once more from
the best partition of the smaller ones, as `anonymize --start-from` does. For all pairs of t it
prints how often, and by how much at most, the milder one lost more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import combinations

import tclose
from search import make_up
from tclose.search import Budget, Outcome, SearchProblem, method_named, problem_of


def main() -> None:
    """Measures all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--two", action="store_true", help="promise t of an ordered column, too")
    parser.add_argument("--effort", type=float, default=0.5)
    parser.add_argument("--ts", default="0.1,0.15,0.2,0.25,0.3")
    chosen = parser.parse_args()
    ts = chosen.ts.split(",")
    alone: list[list[float]] = []
    chained: list[list[float]] = []
    begun = time.process_time()
    for number in range(chosen.tables):
        problems = [make_problem(chosen.rows, number, t, two=chosen.two) for t in ts]
        separate = [search(problem, chosen.effort) for problem in problems]
        alone.append([outcome.loss for outcome in separate])
        chained.append(list(follow(problems, chosen.effort)))
        print(number, *(f"{loss:.4f}" for loss in (*alone[-1], *chained[-1])), flush=True)
    for name, losses in (("separate runs", alone), ("each from the plan before", chained)):
        print(f"{name}: {count_pairs(losses)}")
    saved = [1 - after / before for one, two in zip(alone, chained, strict=True)
             for before, after in zip(one[1:], two[1:], strict=True)]  # fmt: skip
    print(f"from the plan before, a run loses {sum(saved) / len(saved):.2%} less on the average")
    print(f"{time.process_time() - begun:.0f} processor seconds")


def make_problem(rows: int, number: int, t: str, *, two: bool) -> SearchProblem:
    table, policy = make_up(rows + number, 3 + number % 3, 40, 4 + number % 5, 0.3, t)
    if two:
        policy["columns"]["q0"] = {"role": "sensitive", "distance": "ordered", "t": t}
    return problem_of(tclose.check(table, policy))


def search(problem: SearchProblem, effort: float, start: Outcome | None = None) -> Outcome:
    label = None if start is None else start.label
    return method_named("auto").run(problem, Budget(effort=effort, seed=1), label)


def follow(problems: Sequence[SearchProblem], effort: float) -> Iterator[float]:
    """The losses of searches of which each starts from the one before."""
    last = None
    for problem in problems:
        last = search(problem, effort, last)
        yield last.loss


def count_pairs(losses: Sequence[Sequence[float]]) -> str:
    """In how many pairs of t the milder one lost more, and by how much at most."""
    pairs = [pair for each in losses for pair in combinations(each, 2)]
    worse = [mild / strict - 1 for strict, mild in pairs if mild > strict]
    return f"{len(worse)} of {len(pairs)} pairs, by at most {max(worse, default=0):.2%}"


if __name__ == "__main__":
    main()
