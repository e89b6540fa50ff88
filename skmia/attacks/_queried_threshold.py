"""The attack on a served model of trees by thresholds that are found with queries."""

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator

from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from .._core.randomness import check_random_state
from .._core.sklearn import Interval, at_least
from .._core.types import Seed
from ..victims import (
    MOST_PASSED,
    SearchedColumn,
    SearchedTable,
    SplitEvents,
    bisect_thresholds,
    get_slack,
)
from ._file_attack import CandidatesAttack, expect_auc
from ._split_threshold import ABSENT, DAMPING, N_PASSES, compute_messages

# Share of the training rows that a bootstrap sample holds.
_IN_SAMPLE = -np.expm1(-1.0)
# Distance, in roundings, to a place without a threshold: what is explained there is chance.
_ASIDE = 8.0
_N_ROUNDS = 20
_LEAST_SHARE = 1e-6
_MOST_ODDS = 500.0


class DistinctThresholds(NamedTuple):
    """Thresholds, each once, and the rows that are known to be at their nodes."""

    columns: np.ndarray  # (n_thresholds,)
    lower: np.ndarray  # (n_thresholds,)
    upper: np.ndarray  # (n_thresholds,)
    of_row: np.ndarray  # (n_found,): threshold that each row was found at
    rows: np.ndarray  # (n_found,)


def merge_found(found):
    """Return thresholds whose intervals overlap are one, met with several rows."""
    order = np.lexsort((found.lower, found.columns))
    columns, lower, upper = (part[order] for part in (found.columns, found.lower, found.upper))
    new = np.ones(len(order), dtype=bool)
    # Intervals are nearly equal or apart, so none reaches beyond the one after it.
    new[1:] = (columns[1:] != columns[:-1]) | (lower[1:] >= upper[:-1])
    first, which = np.flatnonzero(new), np.cumsum(new) - 1
    last = np.append(first[1:], len(order)) - 1 if len(order) else first
    return DistinctThresholds(columns[first], lower[last], upper[first], which, found.rows[order])


class ThresholdSources(NamedTuple):
    """What explains thresholds, and how sure that is."""

    events: SplitEvents
    present: np.ndarray  # (n_entries,): whether the candidate is known to be at the node
    passed: np.ndarray  # (n_pairs,): number of candidates between both values


def list_sources(steps, values, n_candidates):
    """Find the values of candidates that explain each threshold.

    Shapes: values (n, n_columns).
    """
    parts, n_slots = [], 0
    sorted_columns = {
        j: _SortedColumn(values[:, j], n_candidates) for j in np.unique(steps.columns)
    }
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
    events = SplitEvents(
        1.0, rows, slots, of_slot, np.zeros(n_slots), lower, upper, of_pair, n, len(parts)
    )
    known = np.unique(steps.of_row * len(values) + steps.rows)
    return ThresholdSources(events, np.isin(of_entry * len(values) + rows, known), passed)


class _SortedColumn:
    """A column by its distinct values: whose they are, and how many candidates come before."""

    def __init__(self, values, n_candidates):
        self._values = SearchedColumn(values).values
        self._scale = SearchedColumn(values[:n_candidates]).scale
        rows = np.flatnonzero(np.isfinite(values))
        slots = np.searchsorted(self._values, values[rows])
        order = np.argsort(slots, kind="stable")
        self.rows, self.slots = rows[order], slots[order]
        self.starts = np.searchsorted(self.slots, np.arange(len(self._values) + 1))
        self.before = np.append(0, np.cumsum(self.rows < n_candidates))[self.starts]

    def explain(self, low, high):
        """Return places of both values of each explanation, the same twice for a value alone."""
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


class ExplanationWeights(NamedTuple):
    """How likely kinds of explanations are, learned from all thresholds."""

    midpoint: float  # share of the thresholds that are midpoints
    value: float  # and that are values
    share: float  # probability that a member is in the sample of a node, if that is not known
    trust: float  # probability that an explained threshold was not explained by chance


def learn_explanation_weights(steps, sources, values, prior):
    """Learn how likely each kind of explanation is.

    Shapes: values (n_candidates, n_columns).
    """
    events, n = sources.events, max(len(steps.columns), 1)
    alone = events.lower == events.upper
    kinds = [len(np.unique(events.of_pair[is_kind])) / n for is_kind in (~alone, alone)]
    share = _learn_share(events, sources.passed, np.where(alone, kinds[1], kinds[0]), prior)
    explained, chance = events.n_explained, _count_by_chance(steps, values)
    trust = max(0.0, 1 - chance / explained) if explained else 0.0
    return ExplanationWeights(*kinds, share, trust)


def _learn_share(events, passed, kind, prior):
    """Most likely share of members in the samples, from how many candidates are passed over."""
    alone, share = events.lower == events.upper, _IN_SAMPLE / 2
    for _ in range(0 if alone.all() else _N_ROUNDS):
        present = share * prior
        likely = kind * np.where(alone, present, present**2 * (1 - present) ** passed)
        total = np.bincount(events.of_pair, likely, minlength=events.n_thresholds)
        likely = np.where(alone, 0.0, likely / np.maximum(total[events.of_pair], 1e-300))
        ends = 2 * likely.sum()
        share = min(_IN_SAMPLE, ends / max(ends + likely @ passed, 1e-300) / prior)
    return float(share)


def _count_by_chance(steps, values):
    """Return how many of the thresholds would be explained if they were somewhere else nearby."""
    found = []
    for sign in (-1, 1):
        scale = np.array([SearchedColumn(values[:, j]).scale for j in range(values.shape[1])])
        aside = sign * _ASIDE * get_slack(steps.upper, scale[steps.columns])
        moved = steps._replace(lower=steps.lower + aside, upper=steps.upper + aside)
        found.append(list_sources(moved, values, len(values)).events.n_explained)
    return float(np.mean(found))


def infer(sources, weights, n_candidates, prior, known=None):
    """Return the log likelihood ratio of membership of each candidate and further record."""
    events = sources.events
    alone = events.lower == events.upper
    events = events._replace(weights=np.where(alone, weights.value, weights.midpoint))
    kept = np.where(sources.present, _IN_SAMPLE, max(weights.share, _LEAST_SHARE))
    rows, said = events.candidates, np.zeros(len(kept))
    total = np.bincount(rows, said, minlength=n_candidates)
    for turn in range(N_PASSES):
        if known is not None:
            total[:n_candidates] = known
        before = np.clip(logit(prior) + total[rows] - said, -_MOST_ODDS, _MOST_ODDS)
        share = kept * expit(before)
        odds = np.where(rows < n_candidates, np.log(share) - np.log1p(-share), ABSENT)
        new = compute_messages(events, odds, 0.0)
        new = np.log1p(kept * weights.trust * np.expm1(new))
        said = new if turn == 0 else (1 - DAMPING) * new + DAMPING * said
        total = np.bincount(rows, said, minlength=n_candidates)
    return total


class QueriedThresholdAttack(CandidatesAttack):
    r"""Find members by the thresholds of a served model of trees, which queries locate.

    A tree of scikit-learn splits halfway between two values of its training rows, so a threshold
    whose place is known exactly says whose values they are, see :class:`SplitThresholdAttack`. A
    service does not reveal its thresholds, but its outputs change in steps at them: the attack
    varies one value of a candidate at a time and bisects each step, see
    :func:`~skmia.victims.bisect_thresholds`. It only queries the victim, and needs no shadow models
    or known members.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack, or a service in a :class:`~skmia.victims.CallableVictim`, which returns
        class probabilities, decision values or the predictions of a regressor.
    max_queries : int, default=40_000
        Maximum number of queries by ``fit``. A query is the prediction for one row.
    columns : sequence, default=None
        Columns that are varied, by name if the records are a DataFrame, otherwise by place. If
        None, all numeric columns with at least a quarter as many distinct values as there are
        candidates.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls which candidates and columns are queried first. Pass an int for reproducible
        results.

    Attributes
    ----------
    n_queries_ : int
        Number of queries that were made, at most ``max_queries``.
    n_thresholds_ : int
        Number of thresholds that were found, each counted once. If it is 0, because the answers
        change continuously or not at all, all scores are 0.
    explained_ : float
        Share of these thresholds that values of the candidates explain. It is near 1 if nearly all
        training rows are among the candidates, and near 0 if thresholds are not computed from
        values, as in extra trees.
    columns_ : tuple of int
        Places of the columns that were varied.
    expected_auc_ : float
        Expected AUC, which does not require membership: the AUC that follows if the scores are log
        likelihood ratios. It was up to 0.07 too high if only one column has many distinct values,
        and up to 0.11 too low for histogram boosting and XGBoost.
    offset_ : float
        Threshold of the score. Without ``membership``, the smallest threshold above 0 that at most
        5% of the non-members reach if the scores are log likelihood ratios.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the victim returns labels, or if no column has enough distinct values.

    See Also
    --------
    SplitThresholdAttack : Reads the thresholds from the file of a model.
    LiRA : Likelihood-ratio attack with shadow models and one query per candidate.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership; a record that is
    scored later is judged as one more candidate by the thresholds already found, without further
    queries. Labels are not used.

    A found threshold lies in an interval of a few roundings of single precision. All pairs of
    candidate values with a midpoint in it, and all values in it, explain it; the latter are the
    thresholds of XGBoost and most edges of histogram boosting. Pairs have the weights of
    :class:`SplitThresholdAttack`. Queries do not tell which candidates are at the node, except for
    the one whose value was varied: a member is in the sample with probability :math:`1 - 1/e`, as
    in a forest, if it is known to be at the node, and otherwise with a probability that ``fit``
    learns from the number of values that the explanations pass over. How many explanations are due
    to chance is counted at places beside the thresholds.

    Thresholds behind a scaler that shifts and stretches each column are midpoints in the table as
    well, up to rounding; behind other transformers most are not. The attack queries for numbers
    that no record has, such as halves of whole numbers.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import QueriedThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import CallableVictim
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> forest = RandomForestClassifier(5, min_samples_leaf=10, random_state=0)
    >>> victim = CallableVictim(forest.fit(members.X, members.y).predict_proba, forest.classes_)
    >>> attack = QueriedThresholdAttack(victim, max_queries=3000, random_state=0).fit(records)
    >>> attack.n_queries_ <= 3000, attack.n_thresholds_ > 30
    (True, True)
    >>> bool(attack.expected_auc_ > 0.7), bool(attack.score(records, membership) > 0.3)
    (True, True)
    """

    _parameter_constraints = {
        **CandidatesAttack._parameter_constraints,
        "max_queries": [at_least(1)],
        "columns": ["array-like", None],
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    _needed = "a model to query"

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        max_queries: int = 40_000,
        columns: Sequence | None = None,
        prior: float = 0.5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.max_queries = max_queries
        self.columns = columns
        self.prior = prior
        self.random_state = random_state

    def _needs(self):
        return Needs(ANY - {"label"}, access=frozenset({"queries"}))

    def _judge_candidates(self, records):
        found = bisect_thresholds(
            self.victim,
            records.X,
            max_queries=self.max_queries,
            columns=self.columns,
            random_state=check_random_state(self.random_state),
        )
        self.n_queries_, self.columns_ = found.n_queries, found.searched
        self._X, self._steps = records.X, merge_found(found)
        values = SearchedTable(records.X).values
        sources = list_sources(self._steps, values, len(values))
        self._weights = learn_explanation_weights(self._steps, sources, values, self.prior)
        self.n_thresholds_ = len(self._steps.columns)
        self.explained_ = sources.events.n_explained / max(self.n_thresholds_, 1)
        self._found = infer(sources, self._weights, len(values), self.prior)
        self.expected_auc_ = expect_auc(posterior_of(self._found, self.prior))
        return self._found

    def _judge_further(self, records):
        n, known, further = (
            len(self._found),
            SearchedTable(self._X).values,
            SearchedTable(records.X).values,
        )
        if further.shape[1] != known.shape[1]:
            raise ValueError(
                f"The records have {further.shape[1]} columns; the candidates given to fit have "
                f"{known.shape[1]}."
            )
        values = np.concatenate([known, further])
        sources = list_sources(self._steps, values, n)
        ratios = np.zeros(len(values))
        found = infer(sources, self._weights, n, self.prior, self._found)
        ratios[: len(found)] = found
        return ratios[n:]
