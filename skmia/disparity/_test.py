"""Test whether groups of records are exposed unequally."""

import math
import warnings
from itertools import combinations
from numbers import Integral, Real
from textwrap import indent
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.containers import as_lazy, as_table, load_table
from .._core.escaping import visible
from .._core.groups import find_groups
from .._core.numbers import to_array
from .._core.pvalues import adjust_pvalues, format_pvalue, is_significant
from .._core.randomness import draw_integers
from .._core.records import Records
from .._core.sklearn import N_JOBS, HasMethods, Interval, StrOptions, at_least, validate_params_of
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Rows, Seed
from .._core.validation import check_records
from ._game import GroupGuesses, play, read_exposures, read_guesses, tabulate_groups
from ._permutation import compare_exposures


def check_table(table):
    """Return a table of floats, NaN where a value is missing.

    Shapes: table (n_rounds, n_groups).
    """
    table = load_table(table)
    if not isinstance(table, pd.DataFrame):
        table = to_array(table, "The table", "have a row for each round")
        if table.ndim != 2:
            raise ValueError(
                "The table must have a row for each round and a column for each group; got an "
                f"array of shape {table.shape}."
            )
        table = pd.DataFrame(table)
    if table.shape[1] < 2:
        raise ValueError(f"There must be at least 2 groups to compare; got {table.shape[1]}.")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"Each group has one column; {twice!r} has several.")
    try:
        table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"The table must hold numbers: {error}.") from None
    if np.isinf(table.to_numpy()).any():
        raise ValueError("The table must hold finite numbers, or NaN for missing ones; got inf.")
    return table


def drop_incomplete(table):
    """Leave out the rounds that lack a value."""
    complete = table.dropna()
    if len(complete) < 2:
        lacking = table.isna().sum()
        worst = f"; group {lacking.idxmax()!r} lacks {lacking.max()}" if lacking.any() else ""
        raise ValueError(
            f"At least 2 rounds need a value of every group; {len(complete)} of {len(table)} have "
            f"one{worst}."
        )
    return complete


ANOVA_ROWS = ("groups", "rounds", "residual")


class RepeatedMeasures(NamedTuple):
    """A one-way analysis of variance with repeated measures."""

    sums: np.ndarray  # of squares: groups, rounds, residual
    df: np.ndarray
    statistic: float
    pvalue: float
    epsilon: float
    pvalue_corrected: float


def _rounding(values):
    """Return the largest difference between two numbers of the table that is rounding alone."""
    return 16 * np.finfo(float).eps * np.abs(values).max()


def _sums_of_squares(values):
    """Of the groups, of the rounds and of what neither explains; 0 where it is rounding alone."""
    n_rounds, n_groups = values.shape
    centered = values - values.mean()
    groups, rounds = centered.mean(axis=0), centered.mean(axis=1)
    residual = centered - groups - rounds[:, None]
    sums = n_rounds * (groups**2).sum(), n_groups * (rounds**2).sum(), (residual**2).sum()
    return np.where(np.array(sums) > values.size * _rounding(values) ** 2, sums, 0.0)


def estimate_epsilon(values):
    """Greenhouse and Geisser's estimate of how far the differences are from equal variances.

    Take values of shape (n_rounds, n_groups); return epsilon: from 1 / (n_groups - 1) to 1. It is 1
    if all differences between two groups have the same variance, and NaN if rounds differ only by a
    constant.
    """
    n_groups = values.shape[1]
    centered = values - values.mean(axis=1, keepdims=True)  # the same as H S H of the covariance S
    covariance = np.atleast_2d(np.cov(centered, rowvar=False))
    size = (covariance**2).sum()
    return float(np.trace(covariance) ** 2 / ((n_groups - 1) * size)) if size > 0 else np.nan


def analyze(values):
    """Test whether all columns have one mean.

    Take values of shape (n_rounds, n_groups); return result: without any residual, F is infinite
    and p is 0; both are NaN if the groups are also equal, or if there are fewer than two rounds.
    """
    n_rounds, n_groups = values.shape
    df = np.array([n_groups - 1, n_rounds - 1, (n_rounds - 1) * (n_groups - 1)])
    if n_rounds < 2:
        unknown = np.full(3, np.nan)
        return RepeatedMeasures(unknown, np.maximum(df, 0), *([np.nan] * 4))
    sums = _sums_of_squares(values)
    if sums[2] == 0:
        statistic, pvalue = (np.inf, 0.0) if sums[0] > 0 else (np.nan, np.nan)
        return RepeatedMeasures(sums, df, statistic, pvalue, np.nan, pvalue)
    statistic = float(sums[0] / df[0] / (sums[2] / df[2]))
    pvalue = float(stats.f.sf(statistic, df[0], df[2]))
    epsilon = estimate_epsilon(values)
    corrected = float(stats.f.sf(statistic, epsilon * df[0], epsilon * df[2]))
    return RepeatedMeasures(sums, df, statistic, pvalue, epsilon, corrected)


def tabulate_analysis(found):
    """Return the usual table of an analysis of variance, with a row for each source."""
    columns = {"sum_of_squares": found.sums, "df": found.df, "mean_square": found.sums / found.df}
    numbers = {"F": found.statistic, "pvalue": found.pvalue}
    numbers["pvalue_corrected"] = found.pvalue_corrected
    columns |= {name: [number, np.nan, np.nan] for name, number in numbers.items()}
    return pd.DataFrame(columns, index=pd.Index(ANOVA_ROWS, name="source"))


def compute_eta_squared(found):
    """Return the share of the groups in the sum of squares: partial, and generalized."""
    groups, rounds, residual = found.sums
    wholes = (groups + residual, groups + rounds + residual)
    return tuple(float(groups / whole) if whole > 0 else np.nan for whole in wholes)


def compare_pairs(table, correction, confidence_level):
    """Return the dependent t-tests between all pairs of columns.

    Take table of shape (n_rounds, n_groups); return pairs of shape (n_pairs, 10).
    """
    # Fewer than two rounds say nothing about a difference over rounds.
    values = table.to_numpy() if len(table) >= 2 else np.full((2, table.shape[1]), np.nan)
    n_rounds = len(values)
    first, second = np.transpose(list(combinations(range(table.shape[1]), 2)))
    differences = values[:, first] - values[:, second]
    mean, deviation = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    mean, deviation = (
        np.where(np.abs(each) > _rounding(values), each, 0.0) for each in (mean, deviation)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = mean / deviation
    statistic = effect * np.sqrt(n_rounds)
    pvalue = 2 * stats.t.sf(np.abs(statistic), n_rounds - 1)
    half_width = compute_half_width(deviation / np.sqrt(n_rounds), n_rounds - 1, confidence_level)
    return pd.DataFrame(
        {
            "group": table.columns[first],
            "other": table.columns[second],
            "difference": mean,
            "low": mean - half_width,
            "high": mean + half_width,
            "t_statistic": statistic,
            "t_df": max(len(table) - 1, 0),
            "t_pvalue": pvalue,
            "t_pvalue_adjusted": adjust(pvalue, correction, 1 - confidence_level)[1],
            "effect_size": effect,
        }
    )


def adjust(pvalues, correction, alpha):
    """Return which hypotheses are rejected, and p-values adjusted for their number.

    A p-value of NaN counts as not significant and stays NaN.
    """
    if len(pvalues) == 1:
        return is_significant(pvalues, alpha), pvalues
    known = np.nan_to_num(pvalues, nan=1.0)
    with np.errstate(divide="ignore"):  # some corrections take the logarithm of 1 - p
        reject, adjusted = adjust_pvalues(known, correction, alpha)
    return reject, np.where(np.isnan(pvalues), np.nan, adjusted)


def compute_half_width(error, df, confidence_level):
    """Return half the width of Student's interval."""
    return stats.t.isf((1 - confidence_level) / 2, df) * error


def describe_groups(table, confidence_level):
    """Return the mean of each column with its standard error and interval over rounds.

    Take table of shape (n_rounds, n_groups); return groups of shape (n_groups, 5).
    """
    mean, deviation = table.mean(), table.std(ddof=1)
    error = deviation / np.sqrt(len(table))
    half_width = compute_half_width(error, len(table) - 1, confidence_level)
    columns = {"mean": mean, "std": deviation, "standard_error": error}
    return pd.DataFrame({**columns, "low": mean - half_width, "high": mean + half_width})


def describe_means(table, found, *, confidence_level):
    """Return the mean vulnerability of each group, with its standard error and interval.

    Take table of shape (n_rounds, n_groups); return groups of shape (n_groups, 5).
    """
    groups = describe_groups(table, confidence_level)
    if found is not None:
        # A mean of shares can lie beyond them by rounding.
        groups["mean"], groups["standard_error"] = np.clip(found.means, -1, 1), found.errors
        _set_limits(groups, "mean", compute_half_width(found.errors, found.df, confidence_level))
    return groups


def read_players(X, y):
    """Return the records of a game, made of features and labels if they are none yet."""
    if isinstance(X, Records):
        if y is not None:
            raise ValueError(
                "X holds records, which carry their labels, and each round draws its members; "
                "leave y out."
            )
        return X
    if y is None:
        raise ValueError(
            "fit takes features X and labels y, Records, or GroupGuesses; got "
            f"{type(X).__name__} without y. A table of vulnerabilities, with a row for each round "
            "and a column for each group, is tested by DisparityTest.from_table(table)."
        )
    return Records(X, y)


def read_asked_groups(X, group):
    """Return the group of each record that predict is asked about."""
    if not isinstance(X, Records):
        if is_sequence_of_groups(X):
            return to_array(X, "X")
        X = Records(X)
    if not isinstance(group, str | Integral):
        raise ValueError(
            "group holds the groups of the records of fit, not of other ones; give predict one "
            "group for each record."
        )
    return np.asarray(find_groups(X, group))


def is_sequence_of_groups(X):
    """Return whether X has one value for each record, and not features."""
    if as_table(X) is not None or sparse.issparse(X):
        return False
    # The name of a file may be that of a group.
    return (isinstance(X, str) or as_lazy(X) is None) and to_array(X, "X").ndim < 2


def look_up_means(means, groups):
    position = means.index.get_indexer(groups)
    if (position < 0).any():
        known, foreign = ", ".join(map(visible, means.index)), groups[position < 0][0]
        raise ValueError(f"Group {str(foreign)!r} did not occur in fit; its groups are {known}.")
    return means.to_numpy()[position]


def count_permutations(n_pairs, correction, alpha, n_permutations):
    """Return so many permutations that one pair alone can be significant after the correction.

    At least as many as are given.
    """
    count = max(n_permutations, int(np.ceil(n_pairs / alpha)))
    pvalues = np.ones(n_pairs)
    while True:
        pvalues[0] = 1 / (count + 1)  # the smallest, of the identity alone
        adjusted = adjust(pvalues, correction, alpha)[1][0]
        if adjusted <= alpha:
            return count
        count = int(np.ceil(count * max(adjusted / alpha, 1.01)))


def describe_pairs(table, found, *, confidence_level, correction):
    # -> pairs (n_pairs, 13)
    pairs = compare_pairs(table, correction, confidence_level)
    pvalue = np.full(len(pairs), np.nan)
    if found is not None:
        first, second = np.transpose(list(combinations(found.means, 2)))
        pairs["difference"] = first - second
        half_width = compute_half_width(found.pair_errors, found.pair_df, confidence_level)
        _set_limits(pairs, "difference", half_width)
        pvalue = found.pair_pvalues
    reject, adjusted = adjust(pvalue, correction, 1 - confidence_level)
    pairs.insert(5, "pvalue", pvalue)
    pairs.insert(6, "pvalue_adjusted", adjusted)
    pairs.insert(7, "reject", reject)
    return pairs


def _set_limits(frame, name, half_width):
    frame["low"], frame["high"] = frame[name] - half_width, frame[name] + half_width


CORRECTIONS = {
    "bonferroni": "Bonferroni",
    "fdr_bh": "Benjamini-Hochberg",
    "fdr_by": "Benjamini-Yekutieli",
    "fdr_tsbh": "two-stage Benjamini-Hochberg",
    "fdr_tsbky": "two-stage Benjamini-Krieger-Yekutieli",
    "holm": "Holm",
    "holm-sidak": "Holm-Sidak",
    "hommel": "Hommel",
    "sidak": "Sidak",
    "simes-hochberg": "Simes-Hochberg",
}
_RATE, _PVALUE = "{:.4f}".format, "{:.2g}".format
_FORMATS = (
    dict.fromkeys(["mean", "std", "standard_error", "low", "high", "difference"], _RATE)
    | dict.fromkeys(["pvalue", "pvalue_adjusted", "t_pvalue_adjusted"], _PVALUE)
    | {"effect_size": "{:.2f}".format}
)
_PAIRS = ["group", "other", "difference", "low", "high"]
_BY_PERMUTATION, _BY_ROUNDS = ["pvalue", "pvalue_adjusted", "reject"], ["t_pvalue_adjusted"]


def describe_test(test):
    """Return the summary of a fitted DisparityTest as text."""
    permuted = test.n_permutations_ > 0
    n_rounds, complete, dropped = test.n_rounds_, "", ""
    if permuted:
        n_rounds += test.n_dropped_
        complete = f" (complete rounds: {test.n_rounds_})" if test.n_dropped_ else ""
    elif test.n_dropped_:
        dropped = f" (incomplete and left out: {test.n_dropped_})"
    groups = test.group_vulnerability_.rename(index=visible)
    confidence_level, correction = test._fitted_with
    level = f"{100 * confidence_level:g}%"
    means = groups.to_string(index_names=False, formatters=_FORMATS)
    columns = [*_PAIRS, *(_BY_PERMUTATION if permuted else _BY_ROUNDS), "effect_size"]
    pairs = test.pairwise_[columns].assign(
        **{name: test.pairwise_[name].map(visible) for name in ("group", "other")}
    )
    pairs = pairs.to_string(index=False, formatters=_FORMATS)
    over = "" if permuted else " over rounds"
    kind = "Pairs" if permuted else "Dependent t-tests over rounds"
    chance, df = "not possible: a table has no records to permute", test.anova_["df"]
    if permuted:
        kept = f"; people in several groups, who keep them: {test.n_kept_}" if test.n_kept_ else ""
        p = format_pvalue(test.pvalue_, 1 / (1 + test.n_permutations_))
        chance = f"F = {test.statistic_:.3g}, {p} "
        chance += f"({test.n_permutations_} permutations of the groups{kept})"
    return "\n".join(
        [
            f"Disparity of vulnerability: {len(groups)} groups, {n_rounds} rounds{dropped}",
            f"  largest disparity     {test.disparity_:.4f}, "
            f"{groups['mean'].idxmax()} over {groups['mean'].idxmin()}",
            f"  permutation test      {chance}",
            f"  analysis of variance  F({df['groups']}, {df['residual']}) = "
            f"{test.anova_statistic_:.6g}, p = {test.anova_pvalue_:.2g}{complete}",
            f"    corrected           p = {test.anova_pvalue_corrected_:.2g} "
            f"(Greenhouse-Geisser, epsilon = {test.epsilon_:.3f})",
            f"    eta squared         {test.partial_eta_squared_:.3f} partial, "
            f"{test.generalized_eta_squared_:.3f} generalized",
            f"Mean vulnerability of each group, {level} intervals{over}",
            indent(means, "  "),
            f"{kind}, {level} intervals of each pair alone, p-values adjusted by "
            f"{CORRECTIONS[correction]}",
            indent(pairs, "  "),
            "All rounds split the same records. The analysis of variance ignores this and rejects "
            "too often.",
        ]
    )


Correction = Literal[
    "bonferroni",
    "sidak",
    "holm-sidak",
    "holm",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
]
_SIZE = [Interval(Real, 0, 1, closed="neither"), at_least(1)]


class DisparityTest(TransactionMixin, BaseEstimator):
    r"""Test whether membership inference succeeds equally often for all groups.

    A membership game is played for several rounds: each round splits the records at random, trains
    a victim and measures the vulnerability of each group, :math:`v_{iz}` = TPR - FPR of round i
    among the records of group z. The null hypothesis is that all groups are equally vulnerable.

    A permutation test decides. The exposure of a record is the share of the rounds with the record
    as a member in which the attack flags it, minus the same share of the rounds with it as a
    non-member. The mean exposures of the groups are compared with the means of groups that are
    assigned to the same records at random; records of one person are permuted together. The
    permutations require no further training.

    A one-way analysis of variance with repeated measures over the rounds, with dependent t-tests
    for the pairs, is also computed because the literature reports it. All rounds split the same
    records, which it ignores, so do not report it alone.

    Parameters
    ----------
    estimator : estimator, default=None
        Model to train in each round. Required unless `fit` receives guesses or the attack has a
        pool of shadow models. It is cloned.
    attack : attack, default=None
        Attack with a parameter ``victim``. Required unless `fit` receives guesses. It is cloned. If
        the attack has a fitted pool of shadow models and there is no `estimator`, nothing is
        trained: one model of each complementary pair is treated as the victim and scored with the
        others. All of them have the threshold of the fitted attack, which may have been chosen on
        the models of the pool, those treated as victims among them.
    group : str, int or array-like of shape (n,), default="group"
        Name of the field of the records, or of the column of X, with the group of each record; the
        number of a column if X is an array. The column stays in X, where the model may use it. An
        array has the groups themselves, which a search cannot split: name a column there.
    n_rounds : int, default=20
        Number of rounds, and of trained victims; with a pool, the largest number of rounds.
    train_size, test_size, reference_size : float or int, default=0.4, 0.4, 0.2
        Size of the victim's training set, of the non-members, and of the records for the attack,
        see :func:`skmia.games.membership_game`.
    n_permutations : int, default=999
        Number of permutations of the groups. More are drawn if otherwise a pair that is the only
        different one could not be significant after the correction: about ``n_pairs / (1 -
        confidence_level)``, and for "fdr_by" as many times the harmonic number of pairs.
    correction : str, default="holm"
        Correction of the pairwise p-values for their number, a method of
        :func:`statsmodels.stats.multitest.multipletests`: "holm" and "bonferroni" bound the chance
        of any false finding, "fdr_bh" the expected share of false ones among the findings.
    confidence_level : float, default=0.95
        Confidence level of the intervals; hypotheses are rejected at one minus this level.
    n_jobs : int, default=None
        Number of jobs that play rounds in parallel.
    verbose : int, default=0
        1 shows a progress bar of the game.
    random_state : int, RandomState instance or None, default=None
        Controls the splits, the seeds of the game and the permutations.

    Attributes
    ----------
    vulnerabilities_ : DataFrame of shape (n_rounds, n_groups)
        Vulnerability of each group in each complete round.
    group_vulnerability_ : DataFrame of shape (n_groups, 5)
        By group: ``mean`` exposure of its records, ``std`` of its vulnerability over the rounds,
        the ``standard_error`` of the mean and the limits ``low`` and ``high`` of its interval. For
        a table the mean is over rounds.
    disparity_ : float
        Largest mean minus smallest mean.
    statistic_ : float
        Brown and Forsythe's F of the exposures: the sum of squares between the groups over its
        expectation for equal means and unequal variances. NaN for a table.
    pvalue_ : float
        Share of the permutations, the identity among them, with a statistic as large. NaN for a
        table, which has no records to permute.
    reject_ : bool
        Whether ``pvalue_`` is at most ``1 - confidence_level``.
    n_permutations_ : int
        Number of permutations that were drawn.
    n_kept_ : int
        Number of people with records in several groups. They keep their groups.
    anova_statistic_ : float
        F of the analysis of variance, the mean square of the groups over the residual mean square.
    anova_pvalue_ : float
        P-value of this F with ``n_groups - 1`` and ``(n_rounds_ - 1) * (n_groups - 1)`` degrees of
        freedom. It assumes independent rounds and one variance of all differences between groups.
    anova_pvalue_corrected_ : float
        The same with both degrees of freedom multiplied by ``epsilon_``. It assumes independent
        rounds.
    epsilon_ : float
        Greenhouse and Geisser's estimate of the departure from equal variances, from 1 (none) down
        to ``1 / (n_groups - 1)``. Small groups vary more than large ones, so it is usually below 1.
    partial_eta_squared_ : float
        Share of the groups in the sum of squares of groups and residual.
    generalized_eta_squared_ : float
        Share of the groups in the total sum of squares, which also counts the differences between
        rounds.
    anova_ : DataFrame of shape (3, 6)
        For ``groups``, ``rounds`` and ``residual``: ``sum_of_squares``, ``df``, ``mean_square`` and
        of the groups ``F``, ``pvalue``, ``pvalue_corrected``.
    pairwise_ : DataFrame of shape (n_pairs, 13)
        For each pair of groups ``group``, ``other``: ``difference`` of the first mean minus the
        second with its interval ``low``, ``high`` (of each pair alone); ``pvalue`` by the same
        permutations, ``pvalue_adjusted`` for the number of pairs, and ``reject``. Then the
        dependent t-test over the rounds: ``t_statistic``, ``t_df``, two-sided ``t_pvalue``,
        ``t_pvalue_adjusted``, and ``effect_size``, Cohen's d_z: the mean difference over its
        standard deviation over rounds.
    n_rounds_ : int
        Number of complete rounds.
    n_dropped_ : int
        Number of rounds in which some group had no members or no non-members. They are left out of
        ``vulnerabilities_``, the analysis of variance, the t-tests and ``std``, which are NaN
        if fewer than two rounds remain. Mean exposures and the permutation test use all rounds.
    game_ : dict or None
        Result of :func:`skmia.games.membership_game`; None if it was not played.

    Warns
    -----
    UserWarning
        If rounds are left out of the analysis of variance, or if the parts of a
        :class:`GroupGuesses` that are tables name the records in different orders.

    See Also
    --------
    GroupGuesses : Predictions of a game that has already been played.
    DisparityDisplay : Plot of the vulnerabilities.
    skmia.leakage.WorstCaseVulnerability : Advantage of the best attack on each group of one victim.
    skmia.leakage.bounds.dp_advantage_bound : Bound; twice it bounds a difference of advantages.

    Notes
    -----
    :ref:`The guide <disparity_limits>` says what the p-value and the intervals assume.
    The variance of a small group is combined with the common one, which counts as ten people in the
    statistic and as one in the intervals. The mean exposure of a group estimates the same as its
    mean vulnerability over rounds, with less noise, since each record is compared with itself.
    Intervals of a table are Student's over the rounds, which are far too narrow for other records.

    If exposures do not vary, every permutation is as large as the identity and the p-value is 1.
    Without any residual the F of the analysis of variance is infinite and its p-value 0; if the
    groups are equal as well, both are NaN.

    In places the thesis names the alternative, that the vulnerabilities differ, as the null
    hypothesis; here it is their equality. Its first table of an analysis of variance prints F =
    9.185115 with a p-value that belongs to 19.185115. The tables of its pairwise tests, which it
    calls Bonferroni-corrected, hold the results of ``correction="fdr_bh"``; Bonferroni's correction
    would reject fewer pairs.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

    Brown, M. B. and Forsythe, A. B. (1974). The small sample behavior of some statistics which test
    the equality of several means. Technometrics 16.

    Chung, E. and Romano, J. P. (2013). Exact and asymptotically robust permutation tests. Annals of
    Statistics 41.

    Greenhouse, S. W. and Geisser, S. (1959). On methods in the analysis of profile data.
    Psychometrika 24.

    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.disparity import DisparityTest
    >>> records, _ = make_membership_problem(300, random_state=0)
    >>> records = records.with_fields(group=np.where(records.X[:, 0] > 0, "high", "low"))
    >>> test = DisparityTest(
    ...     DecisionTreeClassifier(), ThresholdAttack(signal="correctness"), random_state=0
    ... )
    >>> test.fit(records).vulnerabilities_.shape
    (20, 2)
    >>> test.predict(["low", "high"]).shape
    (2,)
    >>> bool(0 < test.pvalue_ <= 1)
    True

    ``disparity_`` is the largest difference between means. Other distances are functions of the
    columns of ``vulnerabilities_``, such as one between the distributions of two groups:

    >>> from scipy.stats import wasserstein_distance
    >>> bool(wasserstein_distance(*test.vulnerabilities_.to_numpy().T) > 0)
    True

    Features and labels are taken as by any estimator, with a column of groups:

    >>> import pandas as pd
    >>> frame = pd.DataFrame(records.X).rename(columns=str).assign(group=records.X[:, 0] > 0)
    >>> test.set_params(n_rounds=5).fit(frame, records.y).group_vulnerability_.index.tolist()
    [False, True]
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "attack": [HasMethods(["fit", "get_params", "set_params"]), None],
        "group": [str, Integral, "array-like"],
        "n_rounds": [at_least(2)],
        "train_size": _SIZE,
        "test_size": _SIZE,
        "reference_size": _SIZE,
        "n_permutations": [at_least(1)],
        "correction": [StrOptions(set(CORRECTIONS))],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        attack: BaseEstimator | None = None,
        *,
        group: str | int | ArrayLike = "group",
        n_rounds: int = 20,
        train_size: float | int = 0.4,
        test_size: float | int = 0.4,
        reference_size: float | int = 0.2,
        n_permutations: int = 999,
        correction: Correction = "holm",
        confidence_level: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.attack = attack
        self.group = group
        self.n_rounds = n_rounds
        self.train_size = train_size
        self.test_size = test_size
        self.reference_size = reference_size
        self.n_permutations = n_permutations
        self.correction = correction
        self.confidence_level = confidence_level
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Records | GroupGuesses | Rows, y: ArrayLike | None = None) -> Self:
        """Play the game and test the hypothesis that all groups are equally vulnerable.

        Parameters
        ----------
        X : Records of n records, array-like or DataFrame of shape (n, ...), or GroupGuesses
            Records or features, on which the game is played; or guesses of a game that has been
            played. A table of vulnerabilities is not taken: see :meth:`from_table`.
        y : array-like of shape (n,), default=None
            Task labels, if X holds features. Membership is not given: each round draws it.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If X holds features and y is missing, if y is given twice, or if no column or field
            has the groups.
        """
        game, guesses = None, X
        if not isinstance(X, GroupGuesses):
            records = check_records(read_players(X, y), labels=False)
            game, guesses = play(self, records, find_groups(records, self.group))
        elif y is not None:
            raise ValueError("GroupGuesses hold the membership of each record; leave y out.")
        played = read_guesses(guesses)
        return self._test(tabulate_groups(played), played, game)

    @classmethod
    def from_table(
        cls,
        table: ArrayLike,
        *,
        correction: Correction = "holm",
        confidence_level: float = 0.95,
    ) -> Self:
        """Test a table of vulnerabilities that were measured elsewhere.

        A table has no records to permute: it gives the analysis of variance and the t-tests, and
        ``pvalue_`` is NaN.

        Parameters
        ----------
        table : DataFrame or array-like of shape (n_rounds, n_groups)
            Vulnerability of each group in each round. NaN says that a round has no value for a
            group.
        correction : str, default="holm"
            Correction of the pairwise p-values, as in the constructor.
        confidence_level : float, default=0.95
            Confidence level of the intervals.

        Returns
        -------
        test : DisparityTest
            Fitted on the table.

        Raises
        ------
        ValueError
            If the table does not hold finite numbers of two groups and two complete rounds or more.

        Warns
        -----
        UserWarning
            If rounds are left out.

        Examples
        --------
        >>> import pandas as pd
        >>> from skmia.disparity import DisparityTest
        >>> table = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.2], "b": [0.3, 0.3, 0.5, 0.5]})
        >>> test = DisparityTest.from_table(table)
        >>> round(test.anova_statistic_, 6), round(test.anova_pvalue_, 4)
        (24.0, 0.0163)
        """
        test = cls(correction=correction, confidence_level=confidence_level)
        validate_params_of(test)
        return test._test(check_table(table), None, None)

    def _test(self, table, played, game):
        """Set what is known of a table of rounds and groups, and of the guesses behind it."""
        self.game_, self._fitted_with = game, (self.confidence_level, self.correction)
        # The permutation test reads the records, so it needs no complete round.
        self.vulnerabilities_ = drop_incomplete(table) if played is None else table.dropna()
        self.n_rounds_ = len(self.vulnerabilities_)
        self.n_dropped_ = len(table) - self.n_rounds_
        if self.n_dropped_:
            where = "" if played is None else " of the analysis of variance and the t-tests"
            were = "was" if self.n_dropped_ == 1 else "were"
            warnings.warn(
                f"{self.n_dropped_} of {len(table)} rounds {were} left out{where}, because some "
                "group has no value there.",
                UserWarning,
                stacklevel=level_of_user(),
            )
        analysis = analyze(self.vulnerabilities_.to_numpy())
        self.anova_statistic_, self.anova_pvalue_ = analysis.statistic, analysis.pvalue
        self.epsilon_, self.anova_pvalue_corrected_ = analysis.epsilon, analysis.pvalue_corrected
        self.partial_eta_squared_, self.generalized_eta_squared_ = compute_eta_squared(analysis)
        self.anova_ = tabulate_analysis(analysis)
        found = self._permute(played)
        self.reject_ = bool(is_significant(self.pvalue_, 1 - self.confidence_level))
        settings = {"confidence_level": self.confidence_level}
        self.group_vulnerability_ = describe_means(self.vulnerabilities_, found, **settings)
        settings["correction"] = self.correction
        self.pairwise_ = describe_pairs(self.vulnerabilities_, found, **settings)
        self.disparity_ = float(np.ptp(self.group_vulnerability_["mean"]))
        return self

    def predict(self, X: Records | Rows) -> np.ndarray:
        """Return the vulnerability of the group of each record.

        Parameters
        ----------
        X : Records of n records, features of shape (n, ...), or array-like of shape (n,)
            Records or features with the field or column of groups, or the groups themselves.

        Returns
        -------
        vulnerability : ndarray of shape (n,)
            Mean exposure of the records of the group.

        Raises
        ------
        ValueError
            If a group did not occur in ``fit``.
        """
        check_is_fitted(self)
        groups = read_asked_groups(X, self.group)
        if groups.ndim != 1:
            raise ValueError(
                f"predict takes records or one group for each; got an array of shape "
                f"{groups.shape}."
            )
        return look_up_means(self.group_vulnerability_["mean"], groups)

    def score(self, X: Records | Rows | None = None, y: Any = None) -> float:
        """Return the largest difference between the mean vulnerabilities of two groups.

        A search with this score finds the settings with which the attack shows the largest
        disparity.

        Parameters
        ----------
        X : Records of n records, features or groups as for `predict`, default=None
            Records or groups; only groups that occur here are compared. If None, all groups are.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        disparity : float
            Largest difference, at least 0; 0 means that all groups are equally vulnerable.
        """
        check_is_fitted(self)
        if X is None:
            return self.disparity_
        means = self.predict(X)
        if not len(means):
            raise ValueError("X has no records, so no groups to compare; give some, or None.")
        return float(np.ptp(means))

    def summary(self) -> str:
        """Summarize the results in words and tables.

        Returns
        -------
        text : str
            Lines for a terminal.
        """
        check_is_fitted(self)
        return describe_test(self)

    def _permute(self, played):
        self.statistic_ = self.pvalue_ = np.nan
        self.n_permutations_ = self.n_kept_ = 0
        if played is None:
            return None
        exposures = read_exposures(played)
        self.n_kept_ = exposures.n_kept
        n_pairs, alpha = math.comb(len(played.names), 2), 1 - self.confidence_level
        given = self.correction, alpha, self.n_permutations
        self.n_permutations_ = count_permutations(n_pairs, *given)
        rng = np.random.default_rng(draw_integers(self.random_state))
        found = compare_exposures(exposures, self.n_permutations_, rng)
        self.statistic_, self.pvalue_ = found.statistic, found.pvalue
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags
