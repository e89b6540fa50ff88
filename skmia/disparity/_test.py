"""Whether groups of records are exposed unequally."""

import warnings
from numbers import Integral, Real

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._records import Records
from ..utils._sklearn import N_JOBS, HasMethods, Interval, StrOptions, validate_params_of
from ._describe import describe_test
from ._repeated_measures import ANOVA_ROWS, analyse, compare_pairs, describe_groups
from ._table import check_table, drop_incomplete

_SIZE = [Interval(Real, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")]
_CORRECTIONS = {
    "bonferroni",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "holm",
    "holm-sidak",
    "hommel",
    "sidak",
    "simes-hochberg",
}


class DisparityTest(BaseEstimator):
    r"""Test whether an attack finds the members of some groups more easily than those of others.

    The membership game is played for several rounds, each with a victim trained on a new split of
    the records, and gives the vulnerability :math:`v_{iz}` = TPR - FPR of round i among the records
    of group z. The null hypothesis is that the groups' expected vulnerabilities are all equal. A
    one-way analysis of variance with repeated measures tests it, as every round measures every
    group; dependent t-tests say which groups differ.

    The standard errors are optimistic: all rounds split the same records, so that their results
    depend on each other, and p-values and intervals speak of further splits of these records more
    than of new ones. Read a small p-value as "the groups differ in this data set".

    Parameters
    ----------
    estimator : estimator, default=None
        Model that the victims are made by; needed to fit on Records. It is cloned.
    attack : attack, default=None
        Attack with a parameter ``victim``; needed to fit on Records. It is cloned.
    group : str, default="group"
        Field of the records that holds the groups.
    n_rounds : int, default=20
        Number of victims.
    train_size, test_size, reference_size : float or int, default=0.4, 0.4, 0.2
        Records of the victim, of the non-members and of the attack in each round, see
        :func:`skmia.model_selection.membership_game`.
    correction : str, default="holm"
        Of the pairwise p-values for their number, a method of
        :func:`statsmodels.stats.multitest.multipletests`: "holm" and "bonferroni" bound the chance
        of any false finding, "fdr_bh" the expected share of false ones among the findings.
    confidence_level : float, default=0.95
        Of the intervals; pairs are called different at a level of one minus this.
    n_jobs : int, default=None
        Workers among which the rounds are divided.
    verbose : int, default=0
        1 shows a progress bar of the game.
    random_state : int, RandomState instance or None, default=None
        Determines the splits and seeds of the game.

    Attributes
    ----------
    vulnerabilities_ : DataFrame of shape (n_rounds, n_groups)
        Vulnerability of each group in each complete round.
    group_vulnerability_ : DataFrame of shape (n_groups, 5)
        By group: ``mean``, ``std``, ``standard_error``, and the limits ``low`` and ``high`` of
        Student's interval of the mean.
    disparity_ : float
        Largest mean minus smallest mean.
    statistic_ : float
        F, the mean square of the groups over that of the residual.
    pvalue_ : float
        Of F, with ``n_groups - 1`` and ``(n_rounds_ - 1) * (n_groups - 1)`` degrees of freedom. It
        takes all differences between two groups to have one variance.
    epsilon_ : float
        Greenhouse and Geisser's estimate of the departure from that, from 1 (none) down to
        ``1 / (n_groups - 1)``. Small groups vary more than large ones, so that it is below 1 as a
        rule.
    pvalue_corrected_ : float
        Of F, with both degrees of freedom multiplied by ``epsilon_``; the one to report.
    partial_eta_squared_ : float
        Share of the groups in the sum of squares of groups and residual.
    generalized_eta_squared_ : float
        Share of the groups in the total sum of squares, which counts the differences between rounds
        too.
    anova_ : DataFrame of shape (3, 6)
        For ``groups``, ``rounds`` and ``residual``: ``sum_of_squares``, ``df``, ``mean_square`` and
        of the groups ``F``, ``pvalue``, ``pvalue_corrected``.
    pairwise_ : DataFrame of shape (n_pairs, 11)
        For each pair of groups ``group``, ``other``: mean ``difference`` of the first minus the
        second, its interval ``low``, ``high`` (each by itself), the dependent t ``statistic``,
        ``df``, two-sided ``pvalue``, ``pvalue_adjusted``, ``reject`` and ``effect_size``, Cohen's
        d_z: the mean difference over its standard deviation.
    n_rounds_ : int
        Complete rounds.
    n_dropped_ : int
        Rounds that were left out, because some group had no members or no non-members.
    game_ : dict or None
        Result of :func:`skmia.model_selection.membership_game`; None where ``fit`` got a table.

    Warns
    -----
    UserWarning
        When rounds are left out.

    See Also
    --------
    DisparityDisplay : Draws the vulnerabilities.
    skmia.leakage.WorstCaseVulnerability : What the best attack on each group of one victim finds.
    skmia.leakage.dp_advantage_bound : Differential privacy bounds every difference as well.

    Notes
    -----
    Without any residual F is infinite and p is 0; where the groups are equal as well, both are NaN.

    In places the thesis names the alternative, that the vulnerabilities differ, as the null
    hypothesis; here it is their equality. Its first table of an analysis of variance prints F =
    9.185115 with a p-value that belongs to 19.185115. The tables of its pairwise tests, which it
    calls Bonferroni-corrected, hold what ``correction="fdr_bh"`` gives; Bonferroni's correction
    would reject fewer pairs.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

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

    A table of vulnerabilities that comes from elsewhere:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.2], "b": [0.3, 0.3, 0.5, 0.5]})
    >>> test = DisparityTest().fit(table)
    >>> round(test.statistic_, 6), round(test.pvalue_, 4)
    (24.0, 0.0163)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "attack": [HasMethods(["fit", "get_params", "set_params"]), None],
        "group": [str],
        "n_rounds": [Interval(Integral, 2, None, closed="left")],
        "train_size": _SIZE,
        "test_size": _SIZE,
        "reference_size": _SIZE,
        "correction": [StrOptions(_CORRECTIONS)],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        attack=None,
        *,
        group="group",
        n_rounds=20,
        train_size=0.4,
        test_size=0.4,
        reference_size=0.2,
        correction="holm",
        confidence_level=0.95,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.estimator = estimator
        self.attack = attack
        self.group = group
        self.n_rounds = n_rounds
        self.train_size = train_size
        self.test_size = test_size
        self.reference_size = reference_size
        self.correction = correction
        self.confidence_level = confidence_level
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y=None):
        """Test the hypothesis that all groups are equally vulnerable.

        Parameters
        ----------
        X : Records of n records, or table of shape (n_rounds, n_groups)
            Records with a field of groups, on which the game is played; or, as a DataFrame with a
            column for each group or as an array, vulnerabilities measured elsewhere. NaN says that
            a round has no value for a group.
        y : ignored
            For the sake of the common signature.

        Returns
        -------
        self : DisparityTest
            The fitted test.
        """
        validate_params_of(self)
        self.game_ = self._play(X) if isinstance(X, Records) else None
        table = check_table(X if self.game_ is None else self.game_["group_vulnerability"])
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
        self._analyse()
        self.group_vulnerability_ = describe_groups(self.vulnerabilities_, self.confidence_level)
        self.disparity_ = float(np.ptp(self.group_vulnerability_["mean"]))
        self.pairwise_ = compare_pairs(
            self.vulnerabilities_, self.correction, self.confidence_level
        )
        return self

    def predict(self, X):
        """Vulnerability of the group that each record belongs to.

        Parameters
        ----------
        X : Records of n records, or array-like of shape (n,)
            Records with the field of groups, or the groups themselves.

        Returns
        -------
        vulnerability : ndarray of shape (n,)
            Mean over rounds.

        Raises
        ------
        ValueError
            When a group did not occur in ``fit``.
        """
        check_is_fitted(self)
        groups = self._find_field(X) if isinstance(X, Records) else np.asarray(X)
        if groups.ndim != 1:
            raise ValueError(
                f"predict takes records or one group for each; got an array of shape "
                f"{groups.shape}."
            )
        means = self.group_vulnerability_["mean"]
        position = means.index.get_indexer(groups)
        if (position < 0).any():
            known, foreign = ", ".join(map(str, means.index)), groups[position < 0][0]
            raise ValueError(
                f"Group {str(foreign)!r} did not occur in fit; its groups are {known}."
            )
        return means.to_numpy()[position]

    def score(self, X=None, y=None):
        """Largest difference between the mean vulnerabilities of two groups.

        Parameters
        ----------
        X : Records of n records, or array-like of shape (n,), default=None
            Only groups that occur here count; None takes all.
        y : ignored
            For the sake of the common signature.

        Returns
        -------
        disparity : float
            From 0 on; 0 = all are equally vulnerable.
        """
        check_is_fitted(self)
        return self.disparity_ if X is None else float(np.ptp(self.predict(X)))

    def summary(self):
        """What was found, in words and tables.

        Returns
        -------
        text : str
            Lines for a terminal.
        """
        check_is_fitted(self)
        return describe_test(self)

    def _find_field(self, records):
        if self.group not in records.fields:
            have = ", ".join(records.fields) or "none"
            raise ValueError(f"group={self.group!r} is no field of the records; they have {have}.")
        return records[self.group]

    def _play(self, records):
        from ..model_selection import membership_game  # which imports all attacks

        for name in ("estimator", "attack"):
            if getattr(self, name) is None:
                raise ValueError(
                    f"{name} is needed to play the game on records; without it, fit takes a table "
                    "of vulnerabilities."
                )
        self._find_field(records)
        return membership_game(
            self.estimator,
            self.attack,
            records,
            groups=self.group,
            n_rounds=self.n_rounds,
            train_size=self.train_size,
            test_size=self.test_size,
            reference_size=self.reference_size,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        )

    def _analyse(self):
        found = analyse(self.vulnerabilities_.to_numpy())
        self.statistic_, self.pvalue_ = found.statistic, found.pvalue
        self.epsilon_, self.pvalue_corrected_ = found.epsilon, found.pvalue_corrected
        groups, rounds, residual = found.sums
        share = (
            groups / whole if whole > 0 else np.nan
            for whole in (groups + residual, groups + rounds + residual)
        )
        self.partial_eta_squared_, self.generalized_eta_squared_ = map(float, share)
        columns = {"sum_of_squares": found.sums, "df": found.df}
        self.anova_ = pd.DataFrame(columns, index=pd.Index(ANOVA_ROWS, name="source"))
        self.anova_["mean_square"] = found.sums / found.df
        for name in ("F", "pvalue", "pvalue_corrected"):
            number = {"F": "statistic"}.get(name, name)
            self.anova_[name] = [getattr(found, number), np.nan, np.nan]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags
