"""The attack on a served model of trees by thresholds that are found with queries."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from .._core.randomness import check_random_state
from .._core.sklearn import Interval, at_least
from .._core.types import Seed
from ..victims.queried_thresholds import Table, bisect_thresholds
from ._candidates import CandidatesAttack, expect_auc
from ._queried_evidence import infer, list_sources, merge_found, weigh


class QueriedThresholdAttack(CandidatesAttack):
    r"""Find members by the thresholds of a served model of trees, which queries locate.

    A tree of scikit-learn splits halfway between two values of its training rows, so a threshold
    whose place is known exactly says whose values they are, see :class:`SplitThresholdAttack`. A
    service does not show its thresholds, but its answers change in steps at them: the attack varies
    one value of a candidate at a time and bisects each step, see
    :func:`~skmia.victims.bisect_thresholds`. It only uses the answers of the victim, trains nothing
    and needs no known member.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`, or a service in a
        :class:`~skmia.victims.CallableVictim`, which returns class probabilities, decision values
        or the predictions of a regressor.
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
        AUC to be expected, known before any member is: the one that follows if the scores are log
        likelihood ratios. It was up to 0.07 too high where only one column has many distinct
        values, and up to 0.11 too low for histogram boosting and XGBoost.
    offset_ : float
        Threshold of the score; without ``membership`` the smallest number above 0, so that a record
        without evidence is not called a member.
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
    The candidates are all records given to ``fit``, which needs no membership: the score of a
    record depends on them. A record that is scored later is judged as one more candidate by the
    thresholds already found, without further queries. Labels are not used.

    A found threshold lies in an interval of a few roundings of single precision. All pairs of
    candidate values with a midpoint in it, and all values in it, explain it; the latter are the
    thresholds of XGBoost and most edges of histogram boosting. Let :math:`q_i` be the probability
    that candidate i is in the sample of the node. A pair of values :math:`a < b` has the weight

    .. math:: (1 - e_a)(1 - e_b) \prod_{a < g < b} e_g, \qquad e_g = \prod_{x_i = g} (1 - q_i),

    as in :class:`SplitThresholdAttack`. Queries do not tell which candidates are at the node,
    except for the one whose value was varied. A member is in the sample with probability
    :math:`1 - 1/e`, as in a forest, if it is known to be at the node, and otherwise with a
    probability that ``fit`` learns from the number of values that the explanations pass over. How
    many explanations are due to chance is counted at places beside the thresholds.

    A threshold takes about ten queries, and about half of the later ones find a threshold that is
    known. Integers, codes and categories have few distinct values: half of a whole number says
    nothing about single records, and such columns are left out. Thresholds behind a scaler that
    shifts and stretches each column are midpoints in the table as well, up to rounding; behind
    other transformers most are not. Rounded probabilities hide small steps only: with one decimal,
    an AUC of 0.99 of a random forest fell to 0.88, and with three decimals it hardly changed. The
    attack queries for numbers that no record has, such as halves of whole numbers, so a service
    that only answers known records cannot be attacked.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import QueriedThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import CallableVictim
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> forest = RandomForestClassifier(20, min_samples_leaf=10, random_state=0)
    >>> victim = CallableVictim(forest.fit(members.X, members.y).predict_proba, forest.classes_)
    >>> attack = QueriedThresholdAttack(victim, max_queries=5000, random_state=0).fit(records)
    >>> attack.n_queries_ <= 5000, attack.n_thresholds_ > 100
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
        values = Table(records.X).values
        sources = list_sources(self._steps, values, len(values))
        self._weights = weigh(self._steps, sources, values, self.prior)
        self.n_thresholds_ = len(self._steps.columns)
        self.explained_ = sources.events.n_explained / max(self.n_thresholds_, 1)
        self._found = infer(sources, self._weights, len(values), self.prior)
        self.expected_auc_ = expect_auc(posterior_of(self._found, self.prior))
        return self._found

    def _judge_further(self, records):
        n, known, further = len(self._found), Table(self._X).values, Table(records.X).values
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
