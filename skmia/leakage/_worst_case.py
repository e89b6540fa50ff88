"""Advantage of the best attack on given features."""

from functools import partial
from numbers import Integral, Real
from textwrap import indent
from typing import Literal, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.containers import is_frame, refuse_masked
from .._core.escaping import to_plain, visible
from .._core.matrix import check_class_column, check_feature_matrix, validate_matrix
from .._core.numbers import to_array
from .._core.probabilities import as_columns
from .._core.pvalues import format_pvalue
from .._core.sklearn import N_JOBS, HasMethods, Interval, StrOptions, at_least
from .._core.splits import draw_halves
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed, Splitter
from ..metrics import Interval as Estimate
from ..metrics import clopper_pearson, membership_advantage_score
from ._total_variation import summarize_null
from ._witness import GroupedWitness, choose_method, make_witness, split_classes


def drop_column(X, column, parameter):
    """Take one column out of a table or a matrix.

    Take X of shape (n, d); return rest of shape (n, d - 1).
    """
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        X = pd.DataFrame(X, dtype=X.dtype)  # objects are not made strings of pandas
    if isinstance(column, str):
        if column not in X.columns:
            known = ", ".join(map(visible, X.columns))
            raise ValueError(
                f"{parameter}={column!r} is not a column of X; its columns are {known}."
            )
        column = X.columns.get_loc(column)
    elif not -X.shape[1] <= column < X.shape[1]:
        raise ValueError(
            f"{parameter}={column} is not a column of X, which has {X.shape[1]} columns."
        )
    if X.shape[1] == 1:
        raise ValueError(f"X has no feature other than the column {parameter}={column}.")
    values = X.iloc[:, column]
    missing = values.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"The column {parameter}={column} lacks {missing.sum()} of {len(X)} values, "
            f"first at position {missing.argmax()}."
        )
    return X.drop(columns=X.columns[column]), values.to_numpy()


_NAMES = {
    "plugin": "observed frequencies",
    "kde": "kernel densities",
    "neighbors": "nearest neighbors",
    "classifier": "a cross-fitted classifier",
}


def describe_worst_case(worst):
    """Return lines about a fitted WorstCaseVulnerability."""
    level = f"{100 * worst._confidence_level:g}%"
    n_members, n_nonmembers = worst.n_members_, worst.n_nonmembers_
    rows = [
        ("vulnerability", f"{worst.vulnerability_:.3f}"),
        ("lower bound", f"{worst.lower_bound_:.3f} at {level} confidence"),
    ]
    if len(worst.null_):
        chance = f"{worst.bias_:.3f} on average over {len(worst.null_)} shuffles"
        p = format_pvalue(worst.pvalue_, 1 / (1 + len(worst.null_)), digits=3)
        rows.insert(1, ("without leakage", f"{chance}, {p}"))
    if worst.threshold_advantage_ is not None:
        estimate, low, high = worst.threshold_advantage_
        band = f"{estimate:.3f}, {level} interval [{low:.3f}, {high:.3f}]"
        rows.append(("best threshold", band))
    if worst.signed_gap_ is not None:
        rows.append(("signed gap", f"{worst.signed_gap_:+.3f}"))
    lines = [
        f"Worst-case vulnerability by {_NAMES[worst.method_]}: "
        f"{n_members:,} members, {n_nonmembers:,} non-members",
        *(f"  {name:<17}{text}" for name, text in rows),
    ]
    if worst.group_vulnerability_ is not None:
        table = worst.group_vulnerability_.rename(index=visible)
        text = table.to_string(index_names=False, float_format="{:.3f}".format, na_rep="-")
        lines.append(indent(text, "  "))
    return "\n".join(lines)


def threshold_interval(members, values, confidence_level):
    """Largest advantage of a threshold on one feature, in either direction, with its interval.

    The two empirical distribution functions stay within the bands of Dvoretzky, Kiefer and
    Wolfowitz (with Massart's constant) at all thresholds at once, each with half of the error
    allowed, so that choosing the best threshold does not widen the interval.
    """
    inside, outside = np.sort(values[members]), np.sort(values[~members])
    sizes = np.array([len(inside), len(outside)])
    below = [np.searchsorted(side, values, side="right") for side in (inside, outside)]
    largest = float(np.abs(below[0] / sizes[0] - below[1] / sizes[1]).max())
    slack = float(np.sqrt(np.log(4 / (1 - confidence_level)) / (2 * sizes)).sum())
    return Estimate(largest, max(0.0, largest - slack), min(1.0, largest + slack))


def witness_bound(members, guesses, confidence_level):
    """Return the lower bound of the total variation from a region that was chosen on other records.

    Each rate may err on the unfavorable side with half of the error allowed (Clopper-Pearson), so
    that their difference holds at the requested level.
    """
    low, high = clopper_pearson(
        [guesses[members].sum(), guesses[~members].sum()],
        [members.sum(), (~members).sum()],
        confidence_level=confidence_level,
    )
    return max(0.0, float(low[0] - high[1]))


def mean_witness_bound(members, guesses, groups, weights, confidence_level):
    """Return the lower bound of the weighted mean over groups of their total variations.

    It is the larger one of two bounds, each with half of the error allowed: the mean of the bounds
    of groups, which hold together (Bonferroni) and are close where guesses are rare, and the mean
    of the differences of rates less what such a mean may err by (Hoeffding, 1963, theorem 2).

    Parameters
    ----------
    members, guesses : ndarray of bool, shape (n,)
    groups : ndarray of int, shape (n,)
        Places of the groups in weights.
    weights : ndarray of shape (n_groups,)
        With the sum 1.
    confidence_level : float
    """
    error = (1 - confidence_level) / 2
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=len(weights)))
    places = np.split(order, ends[:-1])
    parts = [(weights[k], places[k]) for k in np.flatnonzero(weights)]
    level = 1 - error / len(parts)
    together = sum(w * witness_bound(members[part], guesses[part], level) for w, part in parts)
    difference = variance = 0.0
    for weight, part in parts:
        sides = [guesses[part][side] for side in (members[part], ~members[part])]
        if min(map(len, sides)):  # the total variation of the others is 0 or more
            difference += weight * (sides[0].mean() - sides[1].mean())
            variance += weight**2 * sum(1 / len(side) for side in sides)
    return float(max(together, difference - np.sqrt(-np.log(error) * variance / 2)))


class WorstCaseVulnerability(TransactionMixin, ClassifierMixin, BaseEstimator):
    """Total variation between the features of members and non-members.

    An attacker reads some features of each record, such as the victim's loss, its probabilities or
    its correctness. The total variation between the features of members and of non-members is an
    upper bound of the advantage, TPR - FPR, of any rule that reads them, and the best rule reaches
    it. This estimator estimates the total variation on records of known membership. It is also a
    classifier of members and non-members, and can be used as an attack.

    The estimate holds for these features of this victim, on average over records. An attacker who
    reads other features, or models the signal of each record (see :class:`~skmia.attacks.LiRA`),
    may reach a higher advantage.

    Parameters
    ----------
    method : {"auto", "plugin", "kde", "neighbors", "classifier"}, default="auto"
        - ``"plugin"``: half the sum of differences of observed frequencies, for discrete features.
          It errs upwards, the more so the more values there are;
        - ``"kde"``: half the integral of the difference of two kernel densities; see
          :func:`total_variation`;
        - ``"neighbors"``: advantage of the majority of the nearest neighbors, without the record
          itself. Features are divided by their standard deviation;
        - ``"classifier"``: advantage of ``estimator``, cross-fitted;
        - ``"auto"``: plugin if the rows take at most as many values as the square root of their
          number, else kde for one feature with a spread on each side, else neighbors.

        The last two ways err downwards on average, because no rule beats the best one.
    bandwidth_factor : float, default=1.0
        Factor of the kernels' bandwidths, for ``method="kde"``; see :func:`bandwidth_sensitivity`.
    estimator : classifier, default=None
        Unfitted classifier with ``predict_proba``, for ``method="classifier"``. Its probabilities
        are converted to equal numbers of members and non-members. If None, gradient-boosted trees
        are used.
    n_neighbors : int, default=None
        Number of neighbors, for ``method="neighbors"``. If None, the odd number next to the square
        root of n.
    cv : int or splitter, default=5
        Folds for ``method="classifier"``. If an int, the number of shuffled stratified folds.
    group_column : int or str, default=None
        Column of X with the group of each record, by position or by name in a DataFrame; it may
        hold text. The attacker then knows the group, and the vulnerability is the mean over groups
        of the vulnerability within each, weighted by the groups' shares. If members and non-members
        have the same shares, it is at least the vulnerability without knowledge of the group.
    confidence_level : float, default=0.95
        Confidence level of ``lower_bound_`` and ``threshold_advantage_``.
    n_permutations : int, default=100
        Shuffles of membership for ``null_``, each estimated like the truth: set it to 0 where an
        estimate is expensive (a slow ``estimator``, kernel densities of many rows in several
        dimensions).
    n_jobs : int, default=None
        Number of jobs of the search for neighbors, or of classifiers fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls shuffles, halves, folds and draws.

    Attributes
    ----------
    vulnerability_ : float
        Estimate of the vulnerability, in [0, 1].
    lower_bound_ : float
        In [0, 1]. With probability ``confidence_level`` or more the total variation is at least
        this: the region where members seem denser is chosen on one half of the records and its two
        probabilities are bounded on the other (Clopper-Pearson). It may exceed an estimate that
        errs downwards. No such upper bound exists for continuous features. With ``group_column``,
        it is a bound of the mean over groups (Hoeffding, or Clopper-Pearson for all groups at
        once), as ``vulnerability_`` is its estimate.
    signed_gap_ : float or None
        For a single feature of two values, share of members minus share of non-members that have
        the larger one; its absolute value is the plug-in estimate. None for other features, and
        with ``group_column``.
    threshold_advantage_ : Interval or None
        For a single feature, ``(estimate, low, high)`` of the largest advantage of a threshold on
        it, in either direction, with a band over all thresholds (Dvoretzky, Kiefer, Wolfowitz).
        ``low`` is a lower bound of the total variation; ``high`` bounds thresholds only. None with
        ``group_column``: groups of different shares would differ without any leakage.
    null_ : ndarray of shape (n_permutations,)
        Estimates with shuffled membership (within groups, if there are any).
    bias_ : float
        Mean of ``null_``: average estimate without leakage. NaN without permutations.
    pvalue_ : float
        Share of ``null_`` that is at least the estimate, the estimate counted as one of them. NaN
        without permutations.
    group_vulnerability_ : DataFrame or None
        By group: ``n_members``, ``n_nonmembers``, ``weight``, ``vulnerability``, ``lower_bound``
        (each at ``confidence_level``), ``bias``, ``pvalue``. NaN, and weight 0, where a
        group has no members or no non-members. None without ``group_column``.
    method_ : str
        The method in use.
    n_members_, n_nonmembers_ : int
        Records on both sides.
    classes_ : ndarray of shape (2,)
        The two values of y; the second means "member".
    n_features_in_ : int
        Columns of X, including the column of the groups.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    total_variation : The estimates by frequencies and by kernel densities as a function.
    skmia.signals.Signals : Transformer that computes features from a victim's outputs.

    Notes
    -----
    The integral of the absolute difference of two density estimates tends to twice the total
    variation; the thesis prints half of it as the limit. Half of the integral is computed here.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

    Cherubin, G., Chatzikokolakis, K. and Palamidessi, C. (2019). F-BLEAU: Fast black-box leakage
    estimation. IEEE S&P.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.leakage import WorstCaseVulnerability
    >>> from skmia.signals import Signals
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members, others = records[membership == 1], records[membership == 0]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> right = Signals(victim, ["correctness"])
    >>> audit = make_pipeline(right, WorstCaseVulnerability(random_state=0))
    >>> worst = audit.fit(records, membership)[-1]
    >>> gap = victim.score(members.X, members.y) - victim.score(others.X, others.y)
    >>> bool(abs(worst.vulnerability_ - gap) < 1e-12)
    True
    >>> worst.method_, bool(0 < worst.lower_bound_ < gap), bool(worst.pvalue_ < 0.05)
    ('plugin', True, True)
    """

    _parameter_constraints: dict = {
        "method": [StrOptions({"auto", "plugin", "kde", "neighbors", "classifier"})],
        "bandwidth_factor": [Interval(Real, 0, None, closed="neither")],
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "n_neighbors": [at_least(1), None],
        "cv": [at_least(2), HasMethods(["split"])],
        "group_column": [Integral, str, None],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "n_permutations": [at_least(0)],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method: Literal["auto", "plugin", "kde", "neighbors", "classifier"] = "auto",
        *,
        bandwidth_factor: float = 1.0,
        estimator: BaseEstimator | None = None,
        n_neighbors: int | None = None,
        cv: Splitter = 5,
        group_column: int | str | None = None,
        confidence_level: float = 0.95,
        n_permutations: int = 100,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.method = method
        self.bandwidth_factor = bandwidth_factor
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.cv = cv
        self.group_column = group_column
        self.confidence_level = confidence_level
        self.n_permutations = n_permutations
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the vulnerability.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Finite features of each record, and its group where ``group_column`` is set.
        y : array-like of shape (n,)
            Membership: 1 for members, 0 for non-members. Of any other two values the larger one
            means "member".

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, groups = self._split_group_column(X, reset=True)
        members = self._read_membership(X, y)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if groups is None:
            codes, self._group_names = np.zeros(len(X), dtype=np.intp), None
        else:
            codes, self._group_names = pd.factorize(groups, sort=True)
        self.method_ = choose_method(X, members, codes) if self.method == "auto" else self.method
        witness = self._make_witness(X.shape[1])
        estimates = witness.estimate(X, members, codes, self.n_permutations, rng)
        if np.isnan(estimates).all():
            raise ValueError("No group holds both members and non-members.")
        sides = [codes[side] for side in (members, ~members)]
        sizes = np.array([np.bincount(side, minlength=len(estimates)) for side in sides])
        weights = self._combine(estimates, sizes)
        bounds = self._bound(X, members, codes, weights, rng)
        self.group_vulnerability_ = None
        if groups is not None:
            self.group_vulnerability_ = self._tabulate(estimates, weights, bounds, sizes)
        self._measure_single_feature(X, members)
        self._confidence_level = self.confidence_level
        self._witness = witness.learn(X, members, codes, rng)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probability of membership if half of the records are members.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features as in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n, 2)
            Probabilities of non-membership and membership; one half if the features are not
            informative, such as values or groups that ``fit`` has not seen on both sides.
        """
        X, groups = self._split_group_column(X, reset=False)
        if groups is None:
            codes = np.zeros(len(X), dtype=np.intp)
        else:
            # As objects: the strings of pandas cannot hold half a character.
            names, groups = (pd.Index(each, dtype=object) for each in (self._group_names, groups))
            codes = names.get_indexer(groups)
        posterior = self._witness.posterior(X, codes)
        return as_columns(posterior)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict membership by the larger density.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features as in ``fit``.

        Returns
        -------
        membership : ndarray of shape (n,)
            Values of ``classes_``.
        """
        is_member = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[is_member.astype(int)]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the membership advantage of the predictions, TPR - FPR.

        On records that ``fit`` has not seen, it underestimates the total variation on average.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features as in ``fit``.
        y : array-like of shape (n,)
            Membership.
        sample_weight : array-like of shape (n,), default=None
            Weights of the records.

        Returns
        -------
        advantage : float
            Membership advantage, in [-1, 1].
        """
        guesses = self.predict(X) == self.classes_[1]
        truth = check_class_column(y, "y") == self.classes_[1]
        return membership_advantage_score(truth, guesses, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def summary(self) -> str:
        """Summarize the results in words.

        Returns
        -------
        text : str
            Lines for a terminal.
        """
        check_is_fitted(self)
        return describe_worst_case(self)

    def _read_membership(self, X, y):
        y = check_class_column(y, "y", warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        self.classes_, codes = split_classes(y)
        self.n_members_, self.n_nonmembers_ = int(codes.sum()), int((1 - codes).sum())
        return codes == 1

    def _split_group_column(self, X, reset):
        """Return the features as a matrix of floats, and the group of each row or None."""
        if self.group_column is None:
            return validate_matrix(self, X, reset=reset, dtype=np.float64), None
        refuse_masked(X, "X")
        if not (is_frame(X) or sparse.issparse(X)):
            X = to_array(X, "X", "be a table, or a dense matrix, where it has a group_column")
        if sparse.issparse(X) or X.ndim != 2:
            raise ValueError("X must be a table, or a dense matrix, if group_column is set.")
        validate_matrix(self, X, reset=reset, skip_check_array=True)
        X, groups = drop_column(X, self.group_column, "group_column")
        if getattr(groups.dtype, "kind", "") == "f":
            groups = groups.astype(np.float64)  # pandas has no index of other floats
        return check_feature_matrix(X, dtype=np.float64), groups

    def _make_witness(self, n_features):
        names = ("bandwidth_factor", "estimator", "n_neighbors", "cv", "n_jobs")
        settings = {name: getattr(self, name) for name in names}
        return GroupedWitness(partial(make_witness, self.method_, n_features, **settings))

    def _combine(self, estimates, sizes):
        """Return mean over the groups, weighted by their shares of members and of non-members."""
        weights = (sizes / sizes.sum(axis=1, keepdims=True)).mean(axis=0)
        weights[np.isnan(estimates[:, 0])] = 0
        weights /= weights.sum()
        combined = weights @ np.nan_to_num(estimates)
        self.vulnerability_, self.null_ = float(combined[0]), combined[1:]
        self.bias_, self.pvalue_ = summarize_null(self.vulnerability_, self.null_)
        return weights

    def _bound(self, X, members, groups, weights, rng):
        """Choose a region on one half, measure it on the other; bounds of the groups."""
        chosen = draw_halves(np.arange(len(X)), 2 * groups + members, len(X), rng)[0]
        witness = self._make_witness(X.shape[1])
        witness.learn(X[chosen], members[chosen], groups[chosen], rng)
        members, groups, rest = members[~chosen], groups[~chosen], X[~chosen]
        guesses = witness.posterior(rest, groups) > 0.5
        if self._group_names is None:
            self.lower_bound_ = witness_bound(members, guesses, self.confidence_level)
            return None
        self.lower_bound_ = mean_witness_bound(
            members, guesses, groups, weights, self.confidence_level
        )
        return [
            witness_bound(members[groups == part], guesses[groups == part], self.confidence_level)
            for part in range(len(weights))
        ]

    def _tabulate(self, estimates, weights, bounds, sizes):
        null = np.array([summarize_null(row[0], row[1:]) for row in estimates])
        columns = {
            "n_members": sizes[0],
            "n_nonmembers": sizes[1],
            "weight": weights,
            "vulnerability": estimates[:, 0],
            "lower_bound": np.where(weights > 0, bounds, np.nan),
            "bias": null[:, 0],
            "pvalue": null[:, 1],
        }
        names = [to_plain(name) if isinstance(name, str) else name for name in self._group_names]
        return pd.DataFrame(columns, index=pd.Index(names, name="group"))

    def _measure_single_feature(self, X, members):
        self.signed_gap_ = self.threshold_advantage_ = None
        if X.shape[1] > 1 or self._group_names is not None:
            return
        values = X[:, 0]
        self.threshold_advantage_ = threshold_interval(members, values, self.confidence_level)
        if len(np.unique(values)) == 2:
            larger = values == values.max()
            self.signed_gap_ = float(larger[members].mean() - larger[~members].mean())
