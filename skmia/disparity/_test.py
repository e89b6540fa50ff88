"""Test whether groups of records are exposed unequally."""

import warnings
from numbers import Real
from textwrap import indent
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.numbers import to_array
from .._core.pvalues import format_pvalue
from .._core.randomness import draw_integers
from .._core.records import Records
from .._core.sklearn import N_JOBS, HasMethods, Interval, StrOptions, at_least, validate_params_of
from .._core.types import ArrayLike, Seed
from .._core.validation import check_records
from .._core.visible import visible
from ._game import GroupGuesses, play, read_exposures, read_groups, read_guesses, tabulate
from ._permutation import compare_exposures
from ._repeated_measures import (
    analyze,
    check_table,
    compute_eta_squared,
    describe_means,
    describe_pairs,
    drop_incomplete,
    look_up_means,
    tabulate_analysis,
)

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
    """Lines about a fitted DisparityTest."""
    permuted = test.n_permutations_ > 0
    dropped = f" ({test.n_dropped_} incomplete ones left out)" if test.n_dropped_ else ""
    groups = test.group_vulnerability_.rename(index=visible)
    level = f"{100 * test.confidence_level:g}%"
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
        kept = f"; {test.n_kept_} people in several groups keep them" if test.n_kept_ else ""
        p = format_pvalue(test.pvalue_, 1 / (1 + test.n_permutations_))
        chance = f"F = {test.statistic_:.3g}, {p} "
        chance += f"({test.n_permutations_} permutations of the groups{kept})"
    return "\n".join(
        [
            f"Disparity of vulnerability: {len(groups)} groups, {test.n_rounds_} rounds{dropped}",
            f"  largest disparity     {test.disparity_:.4f}, "
            f"{groups['mean'].idxmax()} over {groups['mean'].idxmin()}",
            f"  permutation test      {chance}",
            f"  analysis of variance  F({df['groups']}, {df['residual']}) = "
            f"{test.anova_statistic_:.6g}, p = {test.anova_pvalue_:.2g}",
            f"    corrected           p = {test.anova_pvalue_corrected_:.2g} "
            f"(Greenhouse-Geisser, epsilon = {test.epsilon_:.3f})",
            f"    eta squared         {test.partial_eta_squared_:.3f} partial, "
            f"{test.generalized_eta_squared_:.3f} generalized",
            f"Mean vulnerability of each group, {level} intervals{over}",
            indent(means, "  "),
            f"{kind}, {level} intervals of each pair alone, p-values adjusted by "
            f"{CORRECTIONS[test.correction]}",
            indent(pairs, "  "),
            "All rounds split the same records. The analysis of variance ignores this and rejects "
            "too often.",
        ]
    )


_SIZE = [Interval(Real, 0, 1, closed="neither"), at_least(1)]


class DisparityTest(BaseEstimator):
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
        Model to train in each round. Required if `fit` receives records and the attack has no pool
        of shadow models. It is cloned.
    attack : attack, default=None
        Attack with a parameter ``victim``. Required if `fit` receives records. It is cloned. If the
        attack has a fitted pool of shadow models and there is no `estimator`, nothing is trained:
        one model of each complementary pair is treated as the victim and attacked with the others.
    group : str, default="group"
        Name of the field with the group of each record.
    n_rounds : int, default=20
        Number of rounds, and of trained victims; with a pool, the largest number of rounds.
    train_size, test_size, reference_size : float or int, default=0.4, 0.4, 0.2
        Size of the victim's training set, of the non-members, and of the records for the attack,
        see :func:`skmia.games.membership_game`.
    n_permutations : int, default=999
        Number of permutations of the groups. More are drawn if the smallest adjusted p-value of a
        pair could not reach the level otherwise.
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
        Number of rounds that were left out because some group had no members or no non-members.
    game_ : dict or None
        Result of :func:`skmia.games.membership_game`; None if it was not played.

    Warns
    -----
    UserWarning
        If rounds are left out.

    See Also
    --------
    GroupGuesses : Predictions of a game that has already been played.
    DisparityDisplay : Plot of the vulnerabilities.
    skmia.leakage.WorstCaseVulnerability : Advantage of the best attack on each group of one victim.
    skmia.leakage.bounds.dp_advantage_bound : Bound; twice it bounds a difference of advantages.

    Notes
    -----
    :ref:`The guide <disparity_limits>` says what the p-value and the intervals assume. The variance
    of a small group is combined with the common one, which counts as ten records. The mean exposure
    of a group estimates the same as its mean vulnerability over rounds, with less noise, since each
    record is compared with itself. Intervals of a table are Student's over the rounds, which are
    far too narrow for other records.

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
    >>> records, _ = make_membership_problem(random_state=0)
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

    For a table of vulnerabilities that was computed elsewhere, only the analysis of variance is
    available:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.2], "b": [0.3, 0.3, 0.5, 0.5]})
    >>> test = DisparityTest().fit(table)
    >>> round(test.anova_statistic_, 6), round(test.anova_pvalue_, 4)
    (24.0, 0.0163)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "attack": [HasMethods(["fit", "get_params", "set_params"]), None],
        "group": [str],
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
        group: str = "group",
        n_rounds: int = 20,
        train_size: float | int = 0.4,
        test_size: float | int = 0.4,
        reference_size: float | int = 0.2,
        n_permutations: int = 999,
        correction: Literal[
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
        ] = "holm",
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

    def fit(self, X: Records | GroupGuesses | ArrayLike, y: Any = None) -> Self:
        """Test the hypothesis that all groups are equally vulnerable.

        Parameters
        ----------
        X : Records of n records, GroupGuesses, or table of shape (n_rounds, n_groups)
            Records with a field of groups, on which the game is played; guesses of a game that has
            been played; or, as a DataFrame with a column for each group or as an array,
            vulnerabilities measured elsewhere. NaN in a table says that a round has no value for a
            group.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        self.game_ = played = None
        if isinstance(X, Records):
            self.game_, X = play(self, check_records(X, labels=False), read_groups(X, self.group))
        if isinstance(X, GroupGuesses):
            played = read_guesses(X)
            X = tabulate(played)
        table = check_table(X)
        self.vulnerabilities_ = drop_incomplete(table)
        self.n_rounds_ = len(self.vulnerabilities_)
        self.n_dropped_ = len(table) - self.n_rounds_
        if self.n_dropped_:
            warnings.warn(
                f"{self.n_dropped_} of {len(table)} rounds were left out, because some group has "
                "no value in them.",
                UserWarning,
                stacklevel=2,
            )
        analysis = analyze(self.vulnerabilities_.to_numpy())
        self.anova_statistic_, self.anova_pvalue_ = analysis.statistic, analysis.pvalue
        self.epsilon_, self.anova_pvalue_corrected_ = analysis.epsilon, analysis.pvalue_corrected
        self.partial_eta_squared_, self.generalized_eta_squared_ = compute_eta_squared(analysis)
        self.anova_ = tabulate_analysis(analysis)
        found = self._permute(played)
        self.reject_ = bool(self.pvalue_ <= 1 - self.confidence_level)
        settings = {"confidence_level": self.confidence_level}
        self.group_vulnerability_ = describe_means(self.vulnerabilities_, found, **settings)
        settings["correction"] = self.correction
        self.pairwise_ = describe_pairs(self.vulnerabilities_, found, **settings)
        self.disparity_ = float(np.ptp(self.group_vulnerability_["mean"]))
        return self

    def predict(self, X: Records | ArrayLike) -> np.ndarray:
        """Return the vulnerability of the group of each record.

        Parameters
        ----------
        X : Records of n records, or array-like of shape (n,)
            Records with the field of groups, or the groups themselves.

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
        groups = read_groups(X, self.group) if isinstance(X, Records) else to_array(X, "X")
        if groups.ndim != 1:
            raise ValueError(
                f"predict takes records or one group for each; got an array of shape "
                f"{groups.shape}."
            )
        return look_up_means(self.group_vulnerability_["mean"], groups)

    def score(self, X: Records | ArrayLike | None = None, y: Any = None) -> float:
        """Return the largest difference between the mean vulnerabilities of two groups.

        Parameters
        ----------
        X : Records of n records, or array-like of shape (n,), default=None
            Records or groups; only groups that occur here are compared. If None, all groups are.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        disparity : float
            Largest difference, at least 0; 0 means that all groups are equally vulnerable.
        """
        check_is_fitted(self)
        return self.disparity_ if X is None else float(np.ptp(self.predict(X)))

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
        # So many that the smallest p-value, adjusted for all pairs, can reach the level.
        n_pairs = len(played.names) * (len(played.names) - 1) / 2
        needed = int(np.ceil(n_pairs / (1 - self.confidence_level)))
        self.n_permutations_ = max(self.n_permutations, needed)
        rng = np.random.default_rng(draw_integers(self.random_state))
        found = compare_exposures(exposures, self.n_permutations_, rng)
        self.statistic_, self.pvalue_ = found.statistic, found.pvalue
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags
