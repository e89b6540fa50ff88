"""The attack on a released model of trees by the thresholds that it splits at."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from .._core.records import Records
from .._core.sklearn import Interval
from .._core.validation import check_records
from ..victims.split_thresholds import read_split_thresholds, replay_samples
from ._candidates import CandidatesAttack, expect_auc
from ._locate_rows import locate
from ._pass_messages import judge, pass_messages

# Share of thresholds that complete candidates explain, at least.
_LEAST_EXPLAINED = 0.98


class SplitThresholdAttack(CandidatesAttack):
    r"""Find the candidates from whose values the thresholds of a tree model were computed.

    A tree of scikit-learn splits halfway between two consecutive values of its training rows. If
    only one pair of candidate values has a threshold as its midpoint, both values were in the
    training data, and no training row at that node has a value between them. Edges of histogram
    boosting and thresholds of XGBoost, LightGBM and CatBoost are training values, or midpoints of
    two. The attack weighs all explanations of each threshold by what the other thresholds say of
    the candidates. It makes no query, trains nothing and needs no known member. It reads neither
    counts nor leaf values, so it also applies to files from which these were removed.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked, in a :class:`~sklearn.frozen.FrozenEstimator`: a decision
        tree, random forest, bagged decision trees, AdaBoost of decision trees, gradient boosting,
        histogram gradient boosting, XGBoost, LightGBM or CatBoost model, a Pipeline that ends in
        one or a search that has chosen one.
    outsiders : float, default=0.0
        Share of the training rows that are not among the candidates, in [0, 1). They are taken to
        have values as often as candidates do.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1).

    Attributes
    ----------
    n_thresholds_ : int
        Number of thresholds that were read; the same one among the same candidates counts once.
    explained_ : float
        Share of the thresholds that values of the candidates explain. It is near 1 if no training
        row is missing among them. On columns with few distinct values it is also near 1 if some
        are missing.
    expected_auc_ : float
        AUC to be expected, known before any member is: the one that follows if the scores are log
        likelihood ratios. It was within 0.05 of the AUC on real tables with complete candidates,
        and up to 0.1 too high where a fifth of the training rows were missing among them.
    offset_ : float
        Threshold of the score; without ``membership`` the smallest number above 0, so that a record
        without evidence is not called a member.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is of another kind.
    ValueError
        If its thresholds were not computed from values, as in extra trees.

    Warns
    -----
    UserWarning
        If fewer than 98% of the thresholds are explained and ``outsiders`` is 0.

    See Also
    --------
    NodeEquationsAttack : Reads what the nodes count.
    StoredValuesAttack : Looks for values that are stored as they were.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership: the score of a
    record depends on them. A record that is scored later and was not among them is judged as one
    more candidate beside them. Labels are not used.

    The score is the log likelihood ratio of membership, without the prior. Let :math:`q_i` be the
    probability that candidate i of a node is in the sample that the tree was grown on, and
    :math:`e_g` the product of :math:`1 - q_i` over the candidates with the value g. A pair of
    values :math:`a < b` whose midpoint is the threshold has the weight

    .. math:: (1 - e_a)(1 - e_b) \prod_{a < g < b} e_g,

    and what the threshold says of a candidate is the ratio of the sums of these weights if it is in
    the sample and if it is not. It is at most 8 in absolute value. Each probability comes from all
    other thresholds, in four passes over the trees. A tree that was grown on a sample says
    :math:`\log(\kappa e^l + 1 - \kappa)` of a training row that is in the sample with probability
    :math:`\kappa`.

    Splits on categories have no threshold; columns of numbers beside them are read.

    Values are compared as the trees compare them, trees of scikit-learn, XGBoost and CatBoost in
    single precision: candidates must be exact.

    Where fewer than a tenth of the midpoints are explained, as after
    :func:`~skmia.defenses.move_thresholds`, each threshold is taken as a uniform draw from the gap
    between two training values instead. All gaps around it are weighed: no training row at the node
    lies inside the gap. ``expected_auc_`` is too high then, by up to 0.2.

    Strength depends on the number of thresholds on columns with many distinct values; a column with
    few of them says nearly nothing. On 1,000 candidates of real tables, half of them members,
    random forests grown to the end gave AUCs of 0.88 to 1.00, with 10 rows per leaf 0.62 to 0.96,
    gradient boosting 0.58 to 0.97, histogram boosting 0.51 to 0.81, a single tree or XGBoost at
    most 0.62. Equations of counts find more on most models. The two combine, because both scores
    are log likelihood ratios and say different things.

    References
    ----------
    Kschischang, F. R., Frey, B. J. and Loeliger, H.-A. (2001). Factor graphs and the sum-product
    algorithm. IEEE Transactions on Information Theory.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skmia.attacks import SplitThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(min_samples_leaf=10, random_state=0)
    >>> victim = FrozenEstimator(model.fit(members.X, members.y))
    >>> attack = SplitThresholdAttack(victim).fit(records)
    >>> attack.explained_
    1.0
    >>> bool(attack.expected_auc_ > 0.95), bool(attack.score(records, membership) > 0.9)
    (True, True)
    """

    _parameter_constraints = {
        **CandidatesAttack._parameter_constraints,
        "outsiders": [Interval(Real, 0, 1, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float = 0.0,
        prior: float = 0.5,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior

    def locate_rows(self, X: Records) -> tuple[np.ndarray, np.ndarray]:
        """Find which row of the training table each candidate was.

        The seeds in the file of a random forest or of bagged trees repeat the draw of the samples
        on which its trees were grown. If thresholds of exactly those trees that drew a row were
        computed from the values of a candidate, the candidate was this row.

        Parameters
        ----------
        X : Records of n records
            Candidates that were given to ``fit``.

        Returns
        -------
        rows : ndarray of shape (n,), dtype int
            Number of the row, from 0, in the table that reached the forest; -1 if no row has a
            probability above 0.5, and for records that were not given to ``fit``.
        proba : ndarray of shape (n,)
            Probability of the most probable row, 0 for records that were not given to ``fit``.

        Raises
        ------
        ValueError
            If the samples cannot be drawn again: the model is of another kind, its trees were
            grown on all rows, its seeds or the number of its training rows were removed, or this
            installation draws other samples.

        Notes
        -----
        Only thresholds are read. Do not add what the nodes count to a search for row numbers: in
        forests with large leaves, the search with counts confirmed its own guesses, and 93% of the
        row numbers with a probability above 0.9 were wrong.

        Records with equal values support the same thresholds, so each row number is compared with
        the explanation that the evidence is independent of the samples. Row numbers with a
        probability above 0.9 were right in 99 to 100% of cases on four tables of 1,000 candidates,
        with a fifth of the training rows missing or not. Forests with one row per leaf revealed
        the row numbers of 23 to 90% of the members, with 10 rows per leaf 0 to 32%.

        Several arrays hold 4 bytes for each pair of a candidate and a training row.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from skmia.attacks import SplitThresholdAttack
        >>> from skmia.datasets import make_membership_problem
        >>> records, membership = make_membership_problem(random_state=0)
        >>> members = records[membership == 1]
        >>> model = RandomForestClassifier(random_state=0).fit(members.X, members.y)
        >>> attack = SplitThresholdAttack(FrozenEstimator(model)).fit(records)
        >>> rows, proba = attack.locate_rows(members)
        >>> bool((rows == range(len(members)))[proba > 0.9].mean() > 0.99)
        True
        """
        check_is_fitted(self)
        place, known = self._find_candidates(check_records(X))
        drawn = replay_samples(self.victim)
        groups = read_split_thresholds(self.victim, self._X, self.prior)
        proba = locate(groups, drawn, len(self._X), self.prior, self.outsiders)
        most = proba.max(axis=1)
        row = np.where(most > 0.5, proba.argmax(axis=1), -1)
        first = np.searchsorted(self._groups, place)  # equal candidates have the same probabilities
        return np.where(known, row[first], -1), np.where(known, most[first], 0.0)

    def _needs(self):
        return Needs(ANY, access=frozenset({"file", "thresholds"}))

    def _judge_candidates(self, records):
        self._X = records.X
        groups = read_split_thresholds(self.victim, self._X, self.prior)
        self.n_thresholds_ = sum(group.n_thresholds for group in groups)
        explained = sum(group.n_explained for group in groups)
        self.explained_ = explained / max(self.n_thresholds_, 1)
        self._check_explained()
        # Training rows that are not candidates, for each candidate.
        self._others = self.prior * self.outsiders / (1 - self.outsiders)
        self._found, self._parts = pass_messages(groups, len(records), self.prior, self._others)
        self.expected_auc_ = expect_auc(posterior_of(self._found, self.prior))
        return self._found

    def _check_explained(self):
        if self.explained_ >= _LEAST_EXPLAINED or self.outsiders > 0 or not self.n_thresholds_:
            return
        warnings.warn(
            f"No values of the candidates explain {1 - self.explained_:.1%} of the "
            f"{self.n_thresholds_} thresholds of the {type(unwrap(self.victim)).__name__}: it was "
            "trained on rows that are not among the candidates, the candidates are rounded, or the "
            "thresholds were moved. Scores are weaker than they could be; set outsiders to the "
            "share of missing rows, if you know it.",
            UserWarning,
            stacklevel=5,
        )

    def _judge_further(self, records):
        found = [
            self._judge_beside(records[rows])
            for rows in np.array_split(np.arange(len(records)), 1 + len(records) // len(self._X))
        ]
        return np.concatenate(found)

    def _judge_beside(self, records):
        groups = read_split_thresholds(self.victim, self._X, self.prior, records.X)
        n_further = len(records)
        return judge(groups, self._found, self._parts, n_further, self.prior, self._others)
