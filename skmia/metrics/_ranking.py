"""Tests of the ranks of methods over several scenarios."""

import warnings
from itertools import combinations
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.matrix import validate_matrix
from .._core.pvalues import adjust_pvalues
from .._core.sklearn import Interval, StrOptions, validate_params_of
from .._core.visible import visible
from ..exceptions import ResolutionWarning

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


def _signed_rank_test(first, second):
    """Two-sided exact signed-rank test of Wilcoxon: return the smaller rank sum and p-value.

    Zero differences are dropped and ties share their average rank. The distribution is computed for
    these ranks under all signs, because the tables for untied ranks do not hold.
    """
    difference = first - second
    difference = difference[difference != 0]
    # Average ranks are multiples of one half: doubled, they are positions in an array.
    doubled = np.rint(2 * rankdata(np.abs(difference))).astype(int)
    probability = np.ones(1)
    for rank in doubled:
        either = np.zeros(len(probability) + rank)
        either[: len(probability)] += probability / 2
        either[rank:] += probability / 2
        probability = either
    smaller = min(doubled[difference > 0].sum(), doubled[difference < 0].sum())
    return smaller / 2, min(1.0, 2 * probability[: smaller + 1].sum())


def _list_cliques(ranks, rejected):
    """Maximal runs of methods, by rank, without a significant difference."""
    order = np.argsort(ranks, kind="stable")
    cliques = []
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not rejected[order[stop], order[start:stop]].any():
            stop += 1
        inside_the_last = cliques and cliques[-1][1] >= stop
        if stop - start > 1 and not inside_the_last:
            cliques.append((start, stop))
    return [order[start:stop].tolist() for start, stop in cliques]


class RankingTest(BaseEstimator):
    """Compare methods by their ranks over several scenarios.

    Each scenario (a victim, a data set) ranks the methods, 1 = best, with ties averaged. Friedman's
    test checks whether the methods differ at all. Exact Wilcoxon signed-rank tests, corrected for
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
            One value per scenario and method, for instance the AUC; names of columns are names of
            methods.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        values = validate_matrix(
            self, X, dtype=np.float64, ensure_min_samples=2, ensure_min_features=2
        )
        self.n_scenarios_, n_methods = values.shape
        names = getattr(self, "feature_names_in_", np.arange(n_methods).astype(str).astype(object))
        ranks = rankdata(-values if self.higher_is_better else values, axis=1)
        self.average_ranks_ = pd.Series(ranks.mean(axis=0), index=names, name="average_rank")
        self.statistic_ = self.pvalue_ = np.nan
        if n_methods > 2:
            if (ranks == ranks[:, :1]).all():
                self.statistic_, self.pvalue_ = 0.0, 1.0
            else:
                self.statistic_, self.pvalue_ = map(float, friedmanchisquare(*ranks.T))
        self._compare_pairs(values, names)
        return self

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
        if smallest > self.alpha / n_pairs:
            warnings.warn(
                f"With {self.n_scenarios_} scenarios the smallest p-value of a pair is "
                f"{smallest:.2g}, and the smallest of {n_pairs} pairs must be at most "
                f"{self.alpha / n_pairs:.2g}: no pair can be significant; add scenarios.",
                ResolutionWarning,
                stacklevel=4,
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
        lines.append(
            f"Significant pairs at level {self.alpha:g} (Wilcoxon, {self.correction}): "
            f"{n_different} of {n_pairs}"
        )
        return "\n".join(lines)
