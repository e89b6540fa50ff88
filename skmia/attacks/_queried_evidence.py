"""What thresholds that were found by queries say of the candidates."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from ..victims.queried_thresholds import MOST_PASSED, Column, get_slack
from ..victims.split_thresholds import Events
from ._pass_messages import ABSENT, DAMPING, N_PASSES, compute_messages

# Share of the training rows that a bootstrap sample holds.
_IN_SAMPLE = -np.expm1(-1.0)
# Distance, in roundings, to a place without a threshold: what is explained there is chance.
_ASIDE = 8.0
_N_ROUNDS = 20
_LEAST_SHARE = 1e-6
_MOST_ODDS = 500.0


class Steps(NamedTuple):
    """Thresholds, each once, and the rows that are known to be at their nodes.

    Attributes
    ----------
    columns : ndarray of shape (n_thresholds,), dtype int
    lower, upper : ndarray of shape (n_thresholds,)
    of_row, rows : ndarray of shape (n_found,), dtype int
        Threshold that each row was found at.
    """

    columns: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    of_row: np.ndarray
    rows: np.ndarray


def merge_found(found):
    """Thresholds whose intervals overlap are one, met with several rows."""
    order = np.lexsort((found.lower, found.columns))
    columns, lower, upper = (part[order] for part in (found.columns, found.lower, found.upper))
    new = np.ones(len(order), dtype=bool)
    # Intervals are nearly equal or apart, so none reaches beyond the one after it.
    new[1:] = (columns[1:] != columns[:-1]) | (lower[1:] >= upper[:-1])
    first, which = np.flatnonzero(new), np.cumsum(new) - 1
    last = np.append(first[1:], len(order)) - 1 if len(order) else first
    return Steps(columns[first], lower[last], upper[first], which, found.rows[order])


class Sources(NamedTuple):
    """What explains thresholds, and how sure that is.

    Attributes
    ----------
    events : Events
    present : ndarray of shape (n_entries,), dtype bool
        Whether the candidate is known to be at the node of the threshold.
    passed : ndarray of shape (n_pairs,)
        Number of candidates between both values.
    """

    events: Events
    present: np.ndarray
    passed: np.ndarray


def list_sources(steps, values, n_candidates):
    """Find the values of candidates that explain each threshold.

    Parameters
    ----------
    steps : Steps
    values : ndarray of shape (n, n_columns)
        Of the candidates first; others count for themselves alone.
    n_candidates : int

    Returns
    -------
    sources : Sources
    """
    parts, n_slots = [], 0
    sorted_columns = {j: _Sorted(values[:, j], n_candidates) for j in np.unique(steps.columns)}
    for event, (j, low, high) in enumerate(zip(*steps[:3], strict=True)):
        column = sorted_columns[j]
        lower, upper = column.explain(low, high)
        if len(lower):
            first, stop = lower.min(), upper.max() + 1
            entries = slice(column.starts[first], column.starts[stop])
            passed = np.maximum(column.before[upper] - column.before[lower + 1], 0)
            shift = n_slots - first
            n_slots += stop - first
            parts.append((
                column.rows[entries], column.slots[entries] + shift, np.full(stop - first, event),
                lower + shift, upper + shift, np.full(len(lower), event), passed,
                np.full(entries.stop - entries.start, event),
            ))  # fmt: skip
    empty = [np.empty(0, dtype=np.intp)] * 8
    rows, slots, of_slot, lower, upper, of_pair, passed, of_entry = (
        np.concatenate(one) for one in zip(empty, *parts, strict=True)
    )
    n = len(steps.columns)
    events = Events(
        1.0, rows, slots, of_slot, np.zeros(n_slots), lower, upper, of_pair, n, len(parts)
    )
    known = np.unique(steps.of_row * len(values) + steps.rows)
    return Sources(events, np.isin(of_entry * len(values) + rows, known), passed)


class _Sorted:
    """A column by its distinct values: whose they are, and how many candidates come before."""

    def __init__(self, values, n_candidates):
        self._values = Column(values).values
        self._scale = Column(values[:n_candidates]).scale
        rows = np.flatnonzero(np.isfinite(values))
        slots = np.searchsorted(self._values, values[rows])
        order = np.argsort(slots, kind="stable")
        self.rows, self.slots = rows[order], slots[order]
        self.starts = np.searchsorted(self.slots, np.arange(len(self._values) + 1))
        self.before = np.append(0, np.cumsum(self.rows < n_candidates))[self.starts]

    def explain(self, low, high):
        """Places of both values of each explanation, the same twice for a value alone."""
        values, slack = self._values, get_slack(max(abs(low), abs(high)), self._scale)
        low, high = low - slack, high + slack
        split = np.searchsorted(values, (low + high) / 2)
        # Further records that are judged beside the candidates do not shorten the sight.
        start = np.searchsorted(self.before, self.before[split] - MOST_PASSED)
        left = np.arange(min(start, split), split)
        first = np.maximum(np.searchsorted(values, 2 * low - values[left]), split)
        last = np.searchsorted(values, 2 * high - values[left], side="right")
        sizes = np.maximum(last - first, 0)
        lower = np.repeat(left, sizes)
        upper = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        alone = np.arange(*np.searchsorted(values, [low, np.nextafter(high, np.inf)]))
        return np.append(lower, alone), np.append(upper, alone)


class Weights(NamedTuple):
    """How likely kinds of explanations are, learned from all thresholds.

    Attributes
    ----------
    midpoint, value : float
        Share of the thresholds that are midpoints, and values.
    share : float
        Probability that a member is in the sample of a node, if it is not known to be there.
    trust : float
        Probability that an explained threshold was not explained by chance.
    """

    midpoint: float
    value: float
    share: float
    trust: float


def weigh(steps, sources, values, prior):
    """Learn how likely each kind of explanation is.

    Parameters
    ----------
    steps : Steps
    sources : Sources
    values : ndarray of shape (n_candidates, n_columns)
    prior : float

    Returns
    -------
    weights : Weights
    """
    events, n = sources.events, max(len(steps.columns), 1)
    alone = events.lower == events.upper
    kinds = [len(np.unique(events.of_pair[is_kind])) / n for is_kind in (~alone, alone)]
    share = _learn_share(events, sources.passed, np.where(alone, kinds[1], kinds[0]), prior)
    explained, chance = events.n_explained, _count_by_chance(steps, values)
    trust = max(0.0, 1 - chance / explained) if explained else 0.0
    return Weights(*kinds, share, trust)


def _learn_share(events, passed, kind, prior):
    """Most likely share of members in the samples, from how many candidates are passed over."""
    alone, share = events.lower == events.upper, _IN_SAMPLE / 2
    for _ in range(_N_ROUNDS if len(passed) and not alone.all() else 0):
        present = share * prior
        likely = kind * np.where(alone, present, present**2 * (1 - present) ** passed)
        total = np.bincount(events.of_pair, likely, minlength=events.n_thresholds)
        likely = np.where(alone, 0.0, likely / np.maximum(total[events.of_pair], 1e-300))
        ends = 2 * likely.sum()
        share = min(_IN_SAMPLE, ends / max(ends + likely @ passed, 1e-300) / prior)
    return float(share)


def _count_by_chance(steps, values):
    """How many of the thresholds would be explained if they were somewhere else nearby."""
    found = []
    for sign in (-1, 1):
        scale = np.array([Column(values[:, j]).scale for j in range(values.shape[1])])
        aside = sign * _ASIDE * get_slack(steps.upper, scale[steps.columns])
        moved = steps._replace(lower=steps.lower + aside, upper=steps.upper + aside)
        found.append(list_sources(moved, values, len(values)).events.n_explained)
    return float(np.mean(found))


def infer(sources, weights, n_candidates, prior, known=None):
    """Log likelihood ratio of membership of each candidate and further record.

    Parameters
    ----------
    sources : Sources
    weights : Weights
    n_candidates : int
    prior : float
    known : ndarray of shape (n_candidates,), default=None
        Ratios of the candidates, in order to judge the further records.

    Returns
    -------
    ratios : ndarray
        Of the candidates, and of further records as far as something explains a threshold.
    """
    events = sources.events
    alone = events.lower == events.upper
    events = events._replace(weights=np.where(alone, weights.value, weights.midpoint))
    kept = np.where(sources.present, _IN_SAMPLE, max(weights.share, _LEAST_SHARE))
    rows, said = events.candidates, np.zeros(len(kept))
    n = n_candidates if known is None else max(rows.max(initial=-1) + 1, n_candidates)
    total = np.zeros(n)
    for turn in range(N_PASSES):
        if known is not None:
            total[:n_candidates] = known
        before = np.clip(logit(prior) + total[rows] - said, -_MOST_ODDS, _MOST_ODDS)
        share = kept * expit(before)
        odds = np.where(rows < n_candidates, np.log(share) - np.log1p(-share), ABSENT)
        new = compute_messages(events, odds, 0.0)
        new = np.log1p(kept * weights.trust * np.expm1(new))
        said = new if turn == 0 else (1 - DAMPING) * new + DAMPING * said
        total = np.bincount(rows, said, minlength=n)
    return total
