"""Comparisons: the paired difference of two attacks, and ranks of methods over scenarios."""

import warnings
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import friedmanchisquare, rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.containers import is_frame
from .._core.escaping import visible
from .._core.matrix import validate_matrix
from .._core.metric_inputs import check_confidence_level, check_membership_scores
from .._core.pvalues import adjust_pvalues
from .._core.sklearn import Interval, StrOptions
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from ..exceptions import ResolutionWarning
from ._intervals import FEW, join_variances, number_side_people, split_people
from ._membership import tpr_at_fpr_score
from ._ranks import compute_auc, placements


class PairedDifference(NamedTuple):
    """Difference between two attacks, with a confidence interval and a test.

    Attributes
    ----------
    estimate : float
        Mean over victims of the first attack's number minus the second one's.
    low, high : float
        Confidence limits.
    standard_error : float
        Standard error of the estimate.
    pvalue : float
        Two-sided p-value of the hypothesis that there is no difference.
    first, second : ndarray of shape (n_victims,)
        The number of each attack for each victim.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    pvalue: float
    first: np.ndarray
    second: np.ndarray


def paired_difference(
    y_true: ArrayLike | Sequence[ArrayLike],
    first_score: ArrayLike | Sequence[ArrayLike],
    second_score: ArrayLike | Sequence[ArrayLike],
    *,
    max_fpr: float | None = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PairedDifference:
    """Return the difference of AUC, or of TPR at an FPR, between two attacks on the same victims.

    For a single victim, the two AUCs are compared by DeLong's test, which takes into account that
    they rest on the same records [1]_, with Student's t distribution below 20 members or 20
    non-members. It holds for this victim only. For several victims, the
    differences of the victims are compared with their spread by a paired t test, which also covers
    how victims differ.

    Records of the same person are not independent; `groups` says to whom each record of a single
    victim belongs. The variance is then computed from the sums over each person's records [2]_, as
    in :func:`auc_interval`, with Student's t distribution for the number of people.

    Parameters
    ----------
    y_true : array-like of shape (n,), or sequence of such arrays
        1 for members and 0 for non-members, of one victim or of each of several victims.
    first_score, second_score : array-like of shape (n,), or sequence of such arrays
        Scores of the two attacks for the same records; higher means more likely a member.
    max_fpr : float, default=None
        If None, AUCs are compared; otherwise TPRs at this FPR, which requires several victims: the
        thresholds of one victim vary by an amount that its records do not tell.
    groups : array-like of shape (n,), default=None
        Person of each record of a single victim. If None, all records are independent. With several
        victims it must be None, because their spread includes how people differ.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    difference : PairedDifference
        ``estimate``, ``low``, ``high``, ``standard_error``, ``pvalue``, and the numbers ``first``
        and ``second`` of each victim. If all victims have the same difference, other than 0, its
        error is unknown: the interval is [-1, 1] and the p-value 1. A single record or person on
        one side, members or non-members, gets the largest variance that its mean allows.

    Raises
    ------
    ValueError
        If lengths differ, a vector holds one class only or a score is not finite, if a parameter is
        out of range, if `groups` has a missing value or is set with several victims, or if
        `max_fpr` is set with a single victim.

    See Also
    --------
    difference_interval : Difference of two estimates on different records.
    RankingTest : Comparison of more than two attacks.

    Notes
    -----
    Victims should be trained on independent draws of members. If their training sets or shadow
    models are the same in part, their differences are correlated and the interval is too narrow.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the Areas
           under Two or More Correlated Receiver Operating Characteristic Curves: A Nonparametric
           Approach. Biometrics 44.
    .. [2] Obuchowski, N. A. (1997). Nonparametric Analysis of Clustered ROC Curve Data.
           Biometrics 53.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import paired_difference
    >>> rng = np.random.default_rng(0)
    >>> membership = np.arange(1000) % 2
    >>> strong = membership + rng.normal(size=1000)
    >>> weak = strong + rng.normal(size=1000)
    >>> difference = paired_difference(membership, strong, weak)
    >>> bool(difference.low > 0)
    True
    """
    level = check_confidence_level(confidence_level)
    victims = _list_victims(y_true, first_score, second_score)
    rows = [
        [_measure_attack(truth, score, max_fpr) for score in scores] for truth, *scores in victims
    ]
    gaps = [one - other for one, other in rows]
    if groups is not None and len(victims) > 1:
        raise ValueError(
            f"groups must be None with several victims, whose spread includes how people differ; "
            f"got groups and {len(victims)} victims."
        )
    if len(victims) > 1:
        spread = np.std(np.array(gaps, float), ddof=1) if len(set(gaps)) > 1 else 0.0
        error, freedom = spread / np.sqrt(len(gaps)), len(gaps) - 1
    elif max_fpr is None:
        error, freedom = _delong_error(*victims[0], groups)
    else:
        raise ValueError(
            "the TPRs of two attacks are compared over at least two victims; got one. Set "
            "max_fpr=None to compare the AUCs."
        )
    estimate, numbers = float(sum(gaps) / len(gaps)), np.array(rows, dtype=np.float64)
    return _conclude(estimate, error, freedom, level, *numbers.T)


def _list_victims(y_true, *scores):
    """Return the checked vectors of each victim."""
    parts = [y_true, *scores]
    if not _holds_vectors(y_true):
        parts = [[part] for part in parts]
    elif not all(map(_holds_vectors, scores)):
        raise ValueError(
            "first_score and second_score must hold a vector for each victim, as y_true does."
        )
    n_victims = [len(part) for part in parts]
    if len(set(n_victims)) > 1:
        raise ValueError(
            "y_true, first_score and second_score must hold the same victims; got "
            f"{', '.join(map(str, n_victims))}."
        )
    victims = []
    for truth, *both in zip(*parts, strict=True):
        (membership, first), (_, second) = (check_membership_scores(truth, one) for one in both)
        victims.append((membership, first, second))
    return victims


def _holds_vectors(values):
    """Return whether values are one vector for each victim, of any length."""
    try:
        first = next(iter(values), None)
        return np.ndim(first) > 0
    except TypeError:  # a single value, which cannot be iterated over
        return False
    except ValueError:  # lists of several lengths
        return True


def _measure_attack(membership, scores, max_fpr):
    """Return the AUC, or the TPR, as a fraction, so that equal differences are equal."""
    n_members = int(np.count_nonzero(membership))
    if max_fpr is None:
        n_pairs = n_members * (len(membership) - n_members)
        return Fraction(round(compute_auc(membership, scores) * 2 * n_pairs), 2 * n_pairs)
    tpr = tpr_at_fpr_score(membership, scores, max_fpr=max_fpr, on_unresolvable="ignore")
    return Fraction(round(tpr * n_members), n_members)


def _delong_error(membership, first, second, groups):
    """Return standard error of the difference of two AUCs on the same records, and its freedom."""
    pairs = zip(placements(membership, first), placements(membership, second), strict=True)
    gaps = [placed - other for placed, other in pairs]
    if not any(gap.any() for gap in gaps):  # both attacks rank alike
        return 0.0, np.inf
    sides = split_people(number_side_people(groups, len(membership)), membership)
    few = min(map(len, gaps)) < FEW
    # Gaps lie in [-1, 1].
    variance, freedom = join_variances(sides, gaps, lambda gap: 1 - gap.mean() ** 2, few)
    return np.sqrt(max(variance, 0.0)), freedom


def _conclude(estimate, error, freedom, level, first, second):
    law = stats.norm() if np.isinf(freedom) else stats.t(freedom)
    if error == 0 and estimate != 0:
        error = np.inf
    reach = error * law.ppf((1 + level) / 2)
    pvalue = 2 * law.sf(abs(estimate) / error) if error > 0 else 1.0
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    numbers = map(float, (estimate, low, high, error, pvalue))
    return PairedDifference(*numbers, first, second)


_CORRECTIONS = {
    "bonferroni",
    "fdr_bh",
    "fdr_by",
    "holm",
    "holm-sidak",
    "hommel",
    "sidak",
    "simes-hochberg",
}


def _bound_rounding(*values):
    """Return up to which difference values of a scenario are equal but for rounding.

    Most are means. A mean of n terms that are added in pairs is off by eps / 2 * log2(n) at most,
    and the comparison of two differences by four times as much: this suffices for 2**32 terms.
    Take the values of each method, of shape (n_scenarios,); return bounds of this shape.
    """
    return 64 * np.finfo(float).eps * np.max(np.abs(values), axis=0)


def _number_ties(values, rounding):
    """Number values in their order, with one number for those that are equal but for rounding."""
    order = np.argsort(values, axis=-1)
    ordered, bounds = (
        np.take_along_axis(part, order, axis=-1)
        for part in (values, np.broadcast_to(rounding, values.shape))
    )
    numbers = np.zeros(values.shape, dtype=np.intp)
    are_apart = np.diff(ordered, axis=-1) > np.maximum(bounds[..., 1:], bounds[..., :-1])
    places = np.cumsum(are_apart, axis=-1)
    np.put_along_axis(numbers, order[..., 1:], places, axis=-1)
    return numbers


def _signed_rank_test(first, second):
    """Return the two-sided exact signed-rank test of Wilcoxon.

    Return the smaller rank sum and p-value.

    Zero differences are dropped and ties share their average rank. The distribution is computed for
    these ranks under all signs, because the tables for untied ranks do not hold.
    """
    difference, rounding = first - second, _bound_rounding(first, second)
    differ = np.abs(difference) > rounding
    difference, rounding = difference[differ], rounding[differ]
    # Average ranks are multiples of one half: doubled, they are positions in an array.
    ranks = rankdata(_number_ties(np.abs(difference), rounding))
    doubled = np.rint(2 * ranks).astype(int)
    probability = np.ones(1)
    for rank in doubled:
        either = np.zeros(len(probability) + rank)
        either[: len(probability)] += probability / 2
        either[rank:] += probability / 2
        probability = either
    smaller = min(doubled[difference > 0].sum(), doubled[difference < 0].sum())
    return smaller / 2, min(1.0, 2 * probability[: smaller + 1].sum())


def _list_cliques(ranks, rejected):
    """Return the maximal runs of methods, by rank, without a significant difference."""
    order = np.argsort(ranks, kind="stable")
    cliques = []
    for start in range(len(order)):
        stop = start
        while stop < len(order) and not rejected[order[stop], order[start:stop]].any():
            stop += 1
        inside_the_last = cliques and cliques[-1][1] >= stop
        if stop - start > 1 and not inside_the_last:
            cliques.append((start, stop))
    return [order[start:stop].tolist() for start, stop in cliques]


class RankingTest(TransactionMixin, BaseEstimator):
    """Compare methods by their ranks over several scenarios.

    Each scenario (a victim, a data set) ranks the methods, 1 = best, with ties averaged. Friedman's
    test checks whether the methods differ at all. Values, and differences of values, that are equal
    up to the rounding of means tie. Exact Wilcoxon signed-rank tests, corrected for
    multiple testing, find the pairs that differ.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the tests.
    correction : str, default="holm"
        Correction for the number of pairs, as in
        :func:`statsmodels.stats.multitest.multipletests`.
    higher_is_better : bool, default=True
        Whether higher values are better.

    Attributes
    ----------
    average_ranks_ : Series of length n_methods
        Mean rank of each method, 1 = best, in the order of the columns.
    statistic_, pvalue_ : float
        Chi-squared statistic of Friedman's test with its p-value; NaN for two methods.
    pairwise_ : DataFrame
        Per pair of methods: ``first``, ``second``, the statistic, ``pvalue``,
        ``pvalue_corrected`` and whether the difference is ``significant``.
    cliques_ : list of list of str
        Maximal runs of methods, best first, without a significant difference.
    n_scenarios_ : int
        Rows of the table.
    feature_names_in_ : ndarray of shape (n_methods,)
        Names of the methods, if the table has column names.
    n_features_in_ : int
        Number of methods.

    Warns
    -----
    ResolutionWarning
        If there are too few scenarios for any pair to be significant: with N scenarios, the
        smallest p-value is 2 / 2**N. The absence of significant differences then has no meaning.

    See Also
    --------
    CriticalDifferenceDisplay : Diagram of the ranks and the cliques.

    References
    ----------
    Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets. JMLR.

    Benavoli, A., Corani, G. and Mangili, F. (2016). Should we really use post-hoc tests based on
    mean-ranks? JMLR.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skmia.metrics import RankingTest
    >>> rng = np.random.default_rng(0)
    >>> auc = pd.DataFrame(rng.uniform(0.5, 0.6, size=(12, 2)), columns=["loss", "entropy"])
    >>> auc["LiRA"] = rng.uniform(0.7, 0.8, size=12)
    >>> test = RankingTest().fit(auc)
    >>> test.average_ranks_.round(2).to_dict()
    {'loss': 2.42, 'entropy': 2.58, 'LiRA': 1.0}
    >>> test.cliques_
    [['loss', 'entropy']]
    >>> auc.columns[test.predict(auc[:2])].tolist()
    ['LiRA', 'LiRA']
    >>> round(test.score(auc), 2)
    0.79
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "correction": [StrOptions(_CORRECTIONS)],
        "higher_is_better": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        correction: Literal[
            "bonferroni",
            "sidak",
            "holm-sidak",
            "holm",
            "simes-hochberg",
            "hommel",
            "fdr_bh",
            "fdr_by",
        ] = "holm",
        higher_is_better: bool = True,
    ) -> None:
        self.alpha = alpha
        self.correction = correction
        self.higher_is_better = higher_is_better

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Rank the methods and test their differences.

        Parameters
        ----------
        X : array-like of shape (n_scenarios, n_methods)
            One value per scenario and method, for instance the AUC; names of columns, as text, are
            names of methods. Without names they are numbered from 0.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        values = validate_matrix(
            self, X, dtype=np.float64, ensure_min_samples=2, ensure_min_features=2
        )
        self.n_scenarios_, n_methods = values.shape
        # Names that are numbers, as of shadow models, are no names of features.
        named = X.columns if is_frame(X) else range(n_methods)
        named = np.array([str(name) for name in named], dtype=object)
        names = getattr(self, "feature_names_in_", named)
        ranks = self._rank(values)
        self.average_ranks_ = pd.Series(ranks.mean(axis=0), index=names, name="average_rank")
        self.statistic_ = self.pvalue_ = np.nan
        if n_methods > 2:
            if (ranks == ranks[:, :1]).all():
                self.statistic_, self.pvalue_ = 0.0, 1.0
            else:
                self.statistic_, self.pvalue_ = map(float, friedmanchisquare(*ranks.T))
        self._compare_pairs(values, names)
        self._fitted_with = self.alpha, self.correction
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the method that is expected to be best in each scenario.

        Parameters
        ----------
        X : array-like of shape (n_scenarios, n_methods)
            One value per scenario and method, which do not change the answer.

        Returns
        -------
        best : ndarray of shape (n_scenarios,), dtype int
            Position of the column with the lowest average rank in `fit`, the first one of equals;
            ``cliques_`` has the methods that do not differ from it significantly.
        """
        values = validate_matrix(self, X, dtype=np.float64, reset=False)
        return np.full(len(values), self.average_ranks_.to_numpy().argmin())

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return how well the ranking holds in scenarios; higher means better.

        A search with this score selects the setting whose ranking agrees best with new scenarios.

        Parameters
        ----------
        X : array-like of shape (n_scenarios, n_methods)
            One value per scenario and method.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean over the scenarios of Spearman's correlation of their values with
            ``average_ranks_``, in [-1, 1], where 1 means the same order. It is 0 for a scenario in
            which all methods are equal, and for equal average ranks.
        """
        values = validate_matrix(self, X, dtype=np.float64, reset=False)
        expected = rankdata(self.average_ranks_)[None] - (values.shape[1] + 1) / 2
        ranks = self._rank(values) - (values.shape[1] + 1) / 2
        spread = np.sqrt((ranks**2).sum(axis=1) * (expected**2).sum())
        product = (ranks * expected).sum(axis=1)
        return float(np.divide(product, spread, out=np.zeros(len(ranks)), where=spread > 0).mean())

    def _rank(self, values):
        """Return the ranks of the methods in each scenario, 1 = best."""
        values = -values if self.higher_is_better else values
        return rankdata(_number_ties(values, _bound_rounding(*values.T)[:, None]), axis=1)

    def _compare_pairs(self, values, names):
        pairs = list(combinations(range(len(names)), 2))
        self._warn_if_unresolvable(len(pairs))
        tests = [_signed_rank_test(values[:, first], values[:, other]) for first, other in pairs]
        statistics, pvalues = np.transpose(tests)
        significant, corrected = adjust_pvalues(pvalues, self.correction, self.alpha)
        first, second = np.transpose(pairs)
        self.pairwise_ = pd.DataFrame(
            {
                "first": names[first],
                "second": names[second],
                "statistic": statistics,
                "pvalue": pvalues,
                "pvalue_corrected": corrected,
                "significant": significant,
            }
        )
        rejected = np.zeros((len(names), len(names)), dtype=bool)
        rejected[first, second] = rejected[second, first] = significant
        cliques = _list_cliques(self.average_ranks_.to_numpy(), rejected)
        self.cliques_ = [names[clique].tolist() for clique in cliques]

    def _warn_if_unresolvable(self, n_pairs):
        smallest = 2.0 ** (1 - self.n_scenarios_)
        every = np.full(n_pairs, smallest)  # as if all pairs differed in every scenario
        significant, corrected = adjust_pvalues(every, self.correction, self.alpha)
        if not significant.any():
            warnings.warn(
                f"With {self.n_scenarios_} scenarios the smallest p-value of a pair is "
                f"{smallest:.2g}, and {corrected.min():.2g} if corrected for the number of pairs, "
                f"{n_pairs}: at alpha={self.alpha:g} no pair can be significant; add scenarios.",
                ResolutionWarning,
                stacklevel=level_of_user(),
            )

    def summary(self) -> str:
        """Return the ranks and the tests as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        ranks = self.average_ranks_.sort_values(kind="stable")
        n_different, n_pairs = self.pairwise_["significant"].sum(), len(self.pairwise_)
        lines = [
            f"Average ranks over {self.n_scenarios_} scenarios (1 = best)",
            *(f"  {rank:6.2f}  {visible(name)}" for name, rank in ranks.items()),
        ]
        if np.isfinite(self.statistic_):
            lines.append(
                f"Friedman: chi2({len(ranks) - 1}) = {self.statistic_:.3f}, p = {self.pvalue_:.3g}"
            )
        alpha, correction = self._fitted_with
        lines.append(
            f"Significant pairs at level {alpha:g} (Wilcoxon, {correction}): "
            f"{n_different} of {n_pairs}"
        )
        return "\n".join(lines)
