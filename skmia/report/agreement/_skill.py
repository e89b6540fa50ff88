"""How well answers fit the labels: two numbers with their standard errors."""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from ...metrics import placements

# Bounds are one-sided with an error of 1%.
Z = 2.33

# Classes that the rank is averaged over, the most frequent ones.
_MOST_CLASSES = 50
_OF_RANKS = 1.06  # variance of Fisher's transformation of a rank correlation, times the records


class SkillMeasure(NamedTuple):
    """A number with its standard error."""

    value: float
    error: float

    @property
    def low(self):
        return self.value - Z * self.error

    @property
    def high(self):
        return self.value + Z * self.error


class AnswerSkill(NamedTuple):
    """How well answers fit the labels; both numbers are 1 if they do so perfectly, 0 by chance."""

    # 2 AUC - 1 of each class against the others, or Spearman's correlation.
    rank: SkillMeasure
    # Cohen's kappa, or one minus the mean absolute error divided by that of the median.
    decision: SkillMeasure
    # Share of the records that are predicted correctly, or the mean absolute error.
    plain: float


class AnswerScores(NamedTuple):
    """Answers as numbers: of a classifier one per class with the predicted class."""

    values: np.ndarray  # (n, n_classes), or (n,) of a regressor
    predicted: np.ndarray | None = None  # (n,): number of the predicted class

    def take(self, rows):
        """Return the answers for some rows."""
        predicted = None if self.predicted is None else self.predicted[rows]
        return AnswerScores(self.values[rows], predicted)

    def make_empty(self):
        """Return the answers of the same form that are all 0."""
        predicted = None if self.predicted is None else np.zeros_like(self.predicted)
        return AnswerScores(np.zeros_like(self.values), predicted)

    def find_spread(self):
        """Return the class whose numbers vary most; all numbers of a regressor."""
        if self.predicted is None:
            return self.values
        return self.values[:, np.argmax(self.values.std(axis=0))]

    @property
    def are_constant(self):
        return bool((self.values == self.values[:1]).all())


def make_scores(outputs, classes, as_labels=False):
    """Return answers in the order of some classes, as predicted labels alone if asked for."""
    codes = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    if outputs.kind == "label" or as_labels:
        labels = outputs.as_labels().values.tolist()
        predicted = np.array([codes.get(label, 0) for label in labels], dtype=np.intp)
        return AnswerScores(np.eye(len(classes), dtype=np.float32)[predicted], predicted)
    given = np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values
    given = np.asarray(given, dtype=np.float64)
    lowest = 0.0 if outputs.kind != "decision" else given.min(initial=0.0) - 1
    values = np.full((len(given), len(classes)), lowest)
    for k, label in enumerate(np.asarray(outputs.classes).tolist()):
        if label in codes:
            values[:, codes[label]] = given[:, k]
    return AnswerScores(values, values.argmax(axis=1))


def measure_skill(scores, truth, units):
    """Return how well answers fit the truth: numbers of the classes, or targets.

    units (n,): records of one unit count as one for the errors.
    """
    names, units = np.unique(units, return_inverse=True)
    n_units = len(names)
    if scores.predicted is None:
        return _measure_numbers(scores.values, truth, n_units, units)
    floor = 2 / max(n_units, 1)
    agree = scores.predicted == truth
    return AnswerSkill(
        _measure_rank(scores.values, truth, units, floor),
        _measure_kappa(scores.predicted, agree, truth, units, floor),
        float(agree.mean()) if len(agree) else np.nan,
    )


def _sum_influence(influence, units, floor):
    """Return the standard error of a number to which each record adds so much.

    units (n,): numbered from 0, each of which a record has.
    """
    of_units = np.bincount(units, influence)
    return max(float(np.sqrt((of_units**2).sum())), floor)


def _measure_rank(values, truth, units, floor):
    n, (classes, counts) = len(truth), np.unique(truth, return_counts=True)
    classes = classes[np.argsort(-counts, kind="stable")][:_MOST_CLASSES]
    total, weights, influence = 0.0, 0.0, np.zeros(n)
    for one in classes:
        inside = truth == one
        m, rest = int(inside.sum()), n - int(inside.sum())
        if not m or not rest:
            continue
        weight = float(m) * rest
        # Shares of the other side that lie below a record, or above it; ties count half.
        above, below = placements(inside, values[:, one])
        auc = above.mean()
        total, weights = total + weight * auc, weights + weight
        influence[inside] += weight * (above - auc) / m
        influence[~inside] += weight * (below - auc) / rest
    if not weights:
        return SkillMeasure(0.0, 1.0)
    return SkillMeasure(
        2 * total / weights - 1, _sum_influence(2 * influence / weights, units, floor)
    )


def _measure_kappa(predicted, agree, truth, units, floor):
    n, n_classes = len(truth), 1 + max(predicted.max(initial=0), truth.max(initial=0))
    if not n:
        return SkillMeasure(0.0, 1.0)
    of_truth, of_answers = (np.bincount(one, minlength=n_classes) / n for one in (truth, predicted))
    chance, share = float(of_truth @ of_answers), float(agree.mean())
    if chance >= 1:
        return SkillMeasure(0.0, 1.0)
    kappa = (share - chance) / (1 - chance)
    moved = of_answers[truth] + of_truth[predicted] - 2 * chance
    influence = (agree - share) / (1 - chance) - moved * (1 - share) / (1 - chance) ** 2
    return SkillMeasure(kappa, _sum_influence(influence / n, units, floor))


def correlate_ranks(first, second):
    """Return Spearman's correlation; 0 where one of them is constant."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    ranks = rankdata(first), rankdata(second)
    return float(np.corrcoef(*ranks)[0, 1])


def _measure_numbers(values, truth, n_units, units):
    n = len(truth)
    if n < 5 or n_units < 5:
        return AnswerSkill(SkillMeasure(0.0, 1.0), SkillMeasure(0.0, 1.0), np.nan)
    rank = correlate_ranks(values, truth)
    error = max(_OF_RANKS * (1 - rank**2) / np.sqrt(n_units - 3), 2 / n_units)
    off, away = np.abs(truth - values), np.abs(truth - np.median(truth))
    if away.mean() == 0:
        return AnswerSkill(SkillMeasure(rank, error), SkillMeasure(0.0, 1.0), float(off.mean()))
    ratio = off.mean() / away.mean()
    influence = (off - off.mean() - ratio * (away - away.mean())) / away.mean() / n
    decision = SkillMeasure(1 - ratio, _sum_influence(influence, units, 2 / n_units))
    return AnswerSkill(SkillMeasure(rank, error), decision, float(off.mean()))


def is_surely_below(one, other, share=1.0):
    """Return whether a number is below a share of another one beyond chance."""
    return one.high < share * other.low


def is_far_below(one, other):
    """Whether both numbers are surely below half of others, and the rank not above a tenth."""
    pairs = (one.rank, other.rank), (one.decision, other.decision)
    below = all(is_surely_below(first, second, 0.5) for first, second in pairs)
    return below and not one.rank.low > 0.1
