"""Learning: how good is a model that learned from the release, tested on raw rows?

Three models learn to predict a target column from the quasi-identifiers, once from raw rows and
once from released ones. They are always tested on raw rows that none of them saw, as far as rows
are linked. Numbers and dates are features by their value or the middle of their interval,
standardized; everything else by an indicator for each of the commonest values, split evenly if a
released value covers several. Needs scikit-learn: the extra `learn`.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.data.alignment import encode_rows, locate_rows
from tclose.data.encode.columns import Dictionary
from tclose.errors import DataError, UsageError
from tclose.plain import describe_sample
from tclose.utility.pair import Measure, Pair

LEARNING = "learning"
MOST_ROWS = 40_000
MOST_VALUES = 20
MOST_INDICATORS = 48
BOOSTED_TREES = 100
"""Trees of the gradient-boosted model, divided by the number of the target's values if several."""
FEWEST_ROUNDS = 10
MEANING = "accuracy lost by learning from the release instead of the raw table"


def measure_learning(pair: Pair, target: str, *, seed: int = 1) -> Measure:
    """Measures accuracy and AUC of models from the release, from raw rows, and of the majority."""
    refuse_target(pair, target)
    seen = encode_target(pair, target)
    mine, other, cell, classes = seen.raw, seen.released, seen.cell, seen.classes
    models = _make_models(seed, classes)
    if len(np.unique(mine)) < 2:
        what = "there is nothing to learn: all rows agree in the target"
        raise DataError(what, where=f"column {target!r}", hint="choose another target")
    rng = np.random.default_rng(seed)
    test, train = _split_rows(rng, len(mine))
    raw = make_raw_features(pair, pair.covering.places(pair.original.cells))
    held_out = pair.linked is not None and len(other) == len(mine)
    rows = train if held_out else _split_rows(rng, len(other))[1]
    rows = rows[other[rows] >= 0]
    number = seen.class_of_row[rows]
    coarse = make_released_features(pair, pair.covering.key[number])
    numbers = {"majority": float((mine[test] == np.bincount(mine[train]).argmax()).mean())}
    best: dict[str, list[float]] = {"raw": [], "release": []}
    for name, model in models.items():
        training = {"raw": (raw[cell[train]], mine[train]), "release": (coarse, other[rows])}
        for source, (features, answer) in training.items():
            accuracy, auc = _score_model(
                model, features, answer, raw[cell[test]], mine[test], classes
            )
            numbers[f"{name}, {source}: accuracy"] = accuracy
            numbers[f"{name}, {source}: AUC"] = auc
            best[source].append(accuracy)
    note = "" if held_out else "released versions of test rows could not be held out"
    if len(mine) > MOST_ROWS:
        note = "; ".join(filter(None, [note, describe_sample(MOST_ROWS, len(mine), seed).strip()]))
    if pair.original.policy.columns[target].role == "sensitive":
        note = "; ".join(filter(None, [note, "closeness hides this column by design"]))
    return Measure(
        LEARNING, max(best["raw"]) - max(best["release"]), MEANING, numbers=numbers, note=note
    )


def measure_auc(truth: Flags, score: Floats) -> float:
    """Returns the chance that a row with the value scores above one without; ties count half.

    >>> measure_auc(np.array([True, False, True]), np.array([0.9, 0.5, 0.5]))
    0.75
    """
    _, rank, count = np.unique(score, return_inverse=True, return_counts=True)
    upper = np.cumsum(count)
    place = (upper - (count - 1) / 2)[rank]
    with_it = int(truth.sum())
    without = len(truth) - with_it
    if not with_it or not without:
        return 0.5
    return float((place[truth].sum() - with_it * (with_it + 1) / 2) / (with_it * without))


class EncodedTarget(NamedTuple):
    """The target column of every row of both tables, as codes."""

    raw: Ints
    """[raw rows]: the code of the target."""
    released: Ints
    """[released rows]: the code of the target; −1 if the original does not have the value."""
    cell: Ints
    """[raw rows]: the cell."""
    class_of_row: Ints
    """[released rows]: the class."""
    classes: int


def encode_target(pair: Pair, target: str) -> EncodedTarget:
    """Reads the target of every row of both tables, with values grouped by `group_target`."""
    dictionary, codes = encode_rows(pair.original.source, target)
    theirs, other = encode_rows(pair.release.source, target)
    meaning = group_target(dictionary, np.bincount(codes, minlength=dictionary.known + 1))
    known = {label: int(at) for label, at in zip(dictionary.labels, meaning, strict=False)}
    lacking = int(meaning[-1])
    translated = np.array([*(known.get(label, -1) for label in theirs.labels), lacking])
    number = pair.release.classes.cell_class[locate_rows(pair.release)]
    classes = int(meaning.max()) + 1
    return EncodedTarget(
        meaning[codes], translated[other], locate_rows(pair.original), number, classes
    )


def _make_models(seed: int, classes: int = 2) -> dict[str, Any]:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        what = "learning needs scikit-learn, which is not installed"
        hint = "pip install 'tclose[learn]', or leave out the target"
        raise UsageError(what, where="target", hint=hint) from None
    rounds = max(BOOSTED_TREES // (classes if classes > 2 else 1), FEWEST_ROUNDS)
    return {
        "linear": LogisticRegression(max_iter=1000),
        "tree": DecisionTreeClassifier(min_samples_leaf=20, max_depth=12, random_state=seed),
        "boosted": HistGradientBoostingClassifier(
            max_iter=rounds, early_stopping=False, random_state=seed
        ),
    }


def refuse_target(pair: Pair, target: str) -> None:
    """Raises UsageError if the target cannot be learned, before anything else is measured."""
    _make_models(seed=1)
    column = pair.original.policy.columns.get(target)
    if column is not None and column.role in ("quasi", "identifier"):
        what = f"the release does not keep this {column.role} column as it is"
        hint = "choose a sensitive or an insensitive column as target"
        raise UsageError(what, where=f"column {target!r}", hint=hint)


def group_target(dictionary: Dictionary, rows: Ints | Floats) -> Ints:
    """Returns what is learned for each code: its value; if there are many, a half or the commonest.

    Many numbers are divided into a lower and an upper half; of many other values the commonest
    MOST_VALUES are learned and the others count as one.
    """
    known = dictionary.known
    if known <= MOST_VALUES:
        return np.arange(known + 1)
    if dictionary.positions is not None:
        below = np.cumsum(rows[:known]) <= rows[:known].sum() / 2
        return np.append((~below).astype(np.int64), 2)
    return np.append(_number_commonest(rows[:known], MOST_VALUES), MOST_VALUES)


def _split_rows(rng: np.random.Generator, rows: int) -> tuple[Ints, Ints]:
    """Draws rows, at most MOST_ROWS: a third of them to test on and the rest to learn from."""
    order = rng.permutation(rows)[:MOST_ROWS]
    third = max(len(order) // 3, 1)
    return order[:third], order[third:]


def _score_model(
    model: Any, features: Floats, answer: Ints, test: Floats, truth: Ints, classes: int
) -> tuple[float, float]:
    """Measures accuracy and AUC of a model on raw rows that it did not see."""
    if len(np.unique(answer)) < 2:
        guess = answer[0] if len(answer) else -1
        return float((truth == guess).mean()), 0.5
    from threadpoolctl import threadpool_limits

    # One thread, so that the model does not depend on the number of cores and none waits.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of models that have not quite converged
        model.fit(features, answer)
        chance = np.zeros((len(truth), classes))
        chance[:, model.classes_] = model.predict_proba(test)
    right = float((chance.argmax(axis=1) == truth).mean())
    present = np.unique(truth)
    share = np.array([(truth == value).mean() for value in present])
    each = np.array([measure_auc(truth == value, chance[:, value]) for value in present])
    return right, float(share @ each)


def make_raw_features(pair: Pair, places: Ints) -> Floats:
    """Returns the features of rows of the original, given by their places."""
    columns = [_describe_places(pair, at)[code] for at, code in enumerate(places.T)]
    return np.concatenate(columns, axis=1)


def make_released_features(pair: Pair, labels: Ints) -> Floats:
    """Returns the features of released rows, given by the released value of each column."""
    columns = [_describe_labels(pair, at)[code] for at, code in enumerate(labels.T)]
    return np.concatenate(columns, axis=1)


def _describe_places(pair: Pair, at: int) -> Floats:
    """Returns the features of each place of a column."""
    boxes = pair.covering.columns[at]
    missing = (np.arange(boxes.values) >= boxes.known).astype(np.float64)
    if boxes.number is not None:
        return np.stack([pair.standardize(at)[0], missing], axis=1)
    group = _number_commonest(pair.counts[at], MOST_INDICATORS)
    return np.concatenate([np.eye(group.max(initial=0) + 1)[group], missing[:, None]], axis=1)


def _describe_labels(pair: Pair, at: int) -> Floats:
    """Returns the features of each released value of a column."""
    boxes = pair.covering.columns[at]
    width = np.maximum(boxes.width, 1)
    features = np.ascontiguousarray(_describe_places(pair, at).T)
    table = np.stack([boxes.total(each) / width for each in features], axis=1)
    if boxes.number is not None:
        _, mean, spread = pair.standardize(at)
        middle = (boxes.ends.mean(axis=1) - mean) / spread
        table[:, 0] = np.where(np.isnan(middle), 0.0, middle)
    return table


def _number_commonest(rows: Ints | Floats, most: int) -> Ints:
    """Numbers the values: each of the commonest has its own number, all others share the last."""
    group = np.full(len(rows), min(most, len(rows) - 1), dtype=np.int64)
    common = np.argsort(-rows, kind="stable")[:most]
    group[common] = np.arange(len(common))
    return group
