"""Point estimates of the performance of an attack."""

import math
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Literal, ParamSpec, TypeVar

import numpy as np
from sklearn.metrics import make_scorer

from .._core.callers import level_of_user
from .._core.metric_inputs import (
    RATE_TOLERANCE,
    check_membership_predictions,
    check_membership_scores,
    check_option,
    check_rate,
    check_weights,
)
from .._core.numbers import check_broadcast, check_number, show, to_array
from .._core.types import ArrayLike, FloatOrArray
from ..exceptions import ResolutionWarning
from ._ranks import realizable_points

# The standard error of a rate that is based on ten false positives is a third of the rate.
MIN_FALSE_POSITIVES = 10
UNRESOLVABLE_POLICIES = ("warn", "ignore", "raise")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def resolvable_fpr(n_nonmembers: int) -> float:
    """Return the smallest false positive rate at which `n_nonmembers` allow 10 false positives.

    The standard error of a rate that is based on 10 false positives is about a third of the rate.
    At smaller rates the functions of this module warn with
    :class:`~skmia.exceptions.ResolutionWarning`.

    Parameters
    ----------
    n_nonmembers : int
        Number of non-members among the evaluated records; 0 or more.

    Returns
    -------
    fpr : float
        A fraction in (0, 1]; infinity for fewer than 10 non-members, which cannot resolve any rate.

    Raises
    ------
    ValueError
        If `n_nonmembers` is not a whole number of at least 0.

    See Also
    --------
    operating_point : The true positive rate at such a rate, with its interval.

    Examples
    --------
    >>> from skmia.metrics import resolvable_fpr
    >>> resolvable_fpr(5000), resolvable_fpr(9)
    (0.002, inf)
    """
    check_number(n_nonmembers, "n_nonmembers", "a whole number from 0 on", 0, whole=True)
    if n_nonmembers < MIN_FALSE_POSITIVES:
        return math.inf
    return float(MIN_FALSE_POSITIVES / n_nonmembers)


def check_resolution(n_nonmembers, max_fpr, on_unresolvable, *, n_records=None):
    """Return whether `n_nonmembers` resolve the rate `max_fpr`; warn or raise if requested.

    n_records: number of records of non-members that count as `n_nonmembers` independent ones.
    """
    check_option(on_unresolvable, "on_unresolvable", UNRESOLVABLE_POLICIES)
    expected = n_nonmembers * max_fpr
    if expected >= MIN_FALSE_POSITIVES * (1 - RATE_TOLERANCE):
        return True
    counted = f"{n_nonmembers} non-members"
    if n_records is not None and n_records > n_nonmembers:
        counted = (
            f"{n_records} records of non-members, which tell as much as {n_nonmembers} independent "
            "ones"
        )
    message = (
        f"max_fpr={max_fpr:g} cannot be resolved with {counted}: it allows "
        f"{expected:.3g} false positives, and at least {MIN_FALSE_POSITIVES} are needed."
    )
    if on_unresolvable == "raise":
        raise ValueError(message)
    if on_unresolvable == "warn":
        warnings.warn(message, ResolutionWarning, stacklevel=level_of_user())
    return False


def membership_roc_curve(
    y_true: ArrayLike, y_score: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute every operating point that a threshold on the scores can realize.

    Records are predicted as members if their score is at least the threshold, so records with equal
    scores always get the same prediction.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
        Fraction of the non-members that are predicted as members; non-decreasing, from 0 to 1.

    tpr : ndarray of shape (n_thresholds,)
        Fraction of the members that are predicted as members; non-decreasing, from 0 to 1.

    thresholds : ndarray of shape (n_thresholds,)
        Infinity (no record is flagged as a member), then the distinct scores, decreasing.

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length.

    See Also
    --------
    sklearn.metrics.roc_curve : The same points if none is dropped.
    MembershipRocDisplay : The curve on logarithmic axes.

    Examples
    --------
    >>> from skmia.metrics import membership_roc_curve
    >>> fpr, tpr, thresholds = membership_roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    >>> thresholds.tolist()
    [inf, 0.8, 0.4, 0.1]
    """
    return realizable_points(*check_membership_scores(y_true, y_score))


def point_at_fpr(fpr, max_fpr):
    """Return the index of the last operating point whose FPR is at most `max_fpr`.

    Among points with equal TPR it has the largest FPR: its threshold is an order statistic of the
    non-member scores and does not depend on the members. Therefore binomial intervals hold at a
    threshold chosen on the same records.
    """
    return np.searchsorted(fpr, max_fpr + RATE_TOLERANCE, side="right") - 1


def tpr_at_fpr_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float = 0.01,
    on_unresolvable: Literal["warn", "ignore", "raise"] = "warn",
) -> float:
    """Compute the largest true positive rate at a false positive rate of at most `max_fpr`.

    Only thresholds that the data can realize count; the ROC curve is not interpolated. With
    ``max_fpr < 1 / n_nonmembers``, not a single false positive is allowed. The value 0 means that
    no member scores above the non-members that have to be rejected, or that the scores are
    reversed, such as losses: :func:`auc_interval` is below 0.5 then. A random guess would reach
    `max_fpr`.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    max_fpr : float, default=0.01
        Largest false positive rate allowed, a fraction in [0, 1].

    on_unresolvable : {"warn", "ignore", "raise"}, default="warn"
        What to do if fewer than 10 false positives are allowed, ``n_nonmembers * max_fpr < 10``.

    Returns
    -------
    tpr : float
        A fraction in [0, 1].

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `max_fpr` is not in [0, 1], or for an unresolvable
        `max_fpr` with ``on_unresolvable="raise"``.

    Warns
    -----
    skmia.exceptions.ResolutionWarning
        If fewer than 10 false positives are allowed and `on_unresolvable` is ``"warn"``.

    See Also
    --------
    operating_point : The same point with its threshold, realized FPR and confidence intervals.
    tpr_at_fpr_scorer : The same number for ``GridSearchCV(scoring=...)``.

    References
    ----------
    .. [1] Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022).
           Membership Inference Attacks From First Principles. IEEE S&P.

    Examples
    --------
    >>> from skmia.metrics import tpr_at_fpr_score
    >>> membership = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> scores = [9, 7, 5, 3, 8, 4, 2, 1]
    >>> tpr_at_fpr_score(membership, scores, max_fpr=0.25, on_unresolvable="ignore")
    0.75
    """
    max_fpr = check_rate(max_fpr, "max_fpr")
    membership, scores = check_membership_scores(y_true, y_score)
    check_resolution(int((~membership).sum()), max_fpr, on_unresolvable)
    fpr, tpr, _ = realizable_points(membership, scores)
    return float(tpr[point_at_fpr(fpr, max_fpr)])


def fpr_at_tpr_score(
    y_true: ArrayLike, y_score: ArrayLike, *, min_tpr: float = 0.95, interpolate: bool = False
) -> float:
    """Compute the smallest false positive rate at a true positive rate of at least `min_tpr`.

    This is the share of non-members that are flagged if nearly all members must be found. *Lower*
    means more leakage.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    min_tpr : float, default=0.95
        Smallest true positive rate allowed, a fraction in [0, 1].

    interpolate : bool, default=False
        If True, join neighboring operating points by straight lines, as the tables of [1]_ do;
        a rate that no threshold realizes can then be returned.

    Returns
    -------
    fpr : float
        A fraction in [0, 1].

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `min_tpr` is not in [0, 1].

    References
    ----------
    .. [1] del Grosso Guzman, G. (2023). Leakage of Sensitive Data from Deep Neural Networks.
           PhD thesis, Institut Polytechnique de Paris.

    Examples
    --------
    >>> from skmia.metrics import fpr_at_tpr_score
    >>> membership, scores = [1, 1, 0, 0], [2, 1, 1, 0]
    >>> fpr_at_tpr_score(membership, scores)
    0.5
    >>> fpr_at_tpr_score(membership, scores, min_tpr=0.75, interpolate=True)
    0.25
    """
    min_tpr = check_rate(min_tpr, "min_tpr")
    fpr, tpr, _ = membership_roc_curve(y_true, y_score)
    first = np.searchsorted(tpr, min_tpr - RATE_TOLERANCE)
    if not isinstance(interpolate, bool | np.bool_):
        raise ValueError(f"interpolate must be True or False; got {show(interpolate)}.")
    if interpolate and first > 0:
        return float(np.interp(min_tpr, tpr[first - 1 : first + 1], fpr[first - 1 : first + 1]))
    return float(fpr[first])


def membership_advantage_score(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the membership advantage: true positive rate minus false positive rate.

    It does not depend on the share of members in the evaluation set: 0 for uninformative
    predictions, 1 if all are correct, -1 if all are wrong. It is twice the balanced accuracy minus
    one; sources that call balanced accuracy minus one half the advantage report half of it.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_pred : array-like of shape (n_records,)
        Predictions: 1 or True for "member", 0 or False for "non-member".

    sample_weight : array-like of shape (n_records,), default=None
        Non-negative weights; each rate is the weighted mean over its own class.

    Returns
    -------
    advantage : float
        Membership advantage, in [-1, 1].

    Raises
    ------
    ValueError
        If `y_true` or `y_pred` is not a vector of bits, if `y_true` holds one class only, if
        lengths differ, if a weight is negative or one class has no weight.

    See Also
    --------
    advantage_interval : The same number with a confidence interval.
    best_advantage_score : The largest advantage over all thresholds; optimistic.

    References
    ----------
    .. [1] Yeom, S., Giacomelli, I., Fredrikson, M. and Jha, S. (2018). Privacy Risk in Machine
           Learning: Analyzing the Connection to Overfitting. IEEE CSF.

    Examples
    --------
    >>> from skmia.metrics import membership_advantage_score
    >>> membership_advantage_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0])
    0.25
    """
    membership, predicted = check_membership_predictions(y_true, y_pred)
    weights = check_weights(sample_weight, membership)
    tpr = np.average(predicted[membership], weights=weights[membership])
    fpr = np.average(predicted[~membership], weights=weights[~membership])
    return float(tpr - fpr)


def best_advantage_score(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Compute the largest membership advantage, TPR - FPR, over all thresholds.

    This is optimistic: the threshold is chosen on the evaluated records, so the advantage is never
    negative, and even uninformative scores exceed 0. For an unbiased estimate, use
    :func:`membership_advantage_score` with predictions of an attack whose threshold was set on
    other records. The largest balanced accuracy, (TPR + 1 - FPR) / 2, is ``(1 + advantage) / 2``.
    Scores that are the wrong way round, as losses are, have an advantage near 0; see
    :func:`auc_interval`.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    Returns
    -------
    advantage : float
        In [0, 1]; the one-sided two-sample Kolmogorov-Smirnov statistic of the scores.

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length.

    See Also
    --------
    membership_advantage_score : The advantage of given predictions; an unbiased estimate.

    Examples
    --------
    >>> from skmia.metrics import best_advantage_score
    >>> best_advantage_score([1, 1, 0, 0], [4, 2, 3, 1])
    0.5
    """
    fpr, tpr, _ = membership_roc_curve(y_true, y_score)
    return float(np.max(tpr - fpr))


def precision_at_prior(
    tpr: float | ArrayLike, fpr: float | ArrayLike, prior: float | ArrayLike
) -> FloatOrArray:
    """Compute the share of members among flagged records if a fraction `prior` are members.

    Bayes' rule, ``prior * tpr / (prior * tpr + (1 - prior) * fpr)``: the meaning of an operating
    point if members are rare, regardless of the evaluation set.

    Parameters
    ----------
    tpr, fpr, prior : float or array-like
        Fractions in [0, 1]; arrays are broadcast against each other.

    Returns
    -------
    precision : float or ndarray
        Fractions in [0, 1]; NaN if no record is flagged, as with ``tpr=0, fpr=0``.

    Raises
    ------
    ValueError
        If an argument is not a number or lies outside [0, 1], or shapes do not match.

    Examples
    --------
    >>> from skmia.metrics import precision_at_prior
    >>> precision_at_prior(tpr=0.1, fpr=0.001, prior=[0.5, 0.1, 0.01]).round(2).tolist()
    [0.99, 0.92, 0.5]
    >>> precision_at_prior(tpr=[0.2, 0], fpr=[0.01, 0], prior=0.5).round(2).tolist()
    [0.95, nan]
    """
    rates = {}
    for name, value in (("tpr", tpr), ("fpr", fpr), ("prior", prior)):
        rate = to_array(value, name, "be a number or an array of numbers")
        if rate.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a number or an array of numbers; got {show(value)}.")
        rate = rate.astype(np.float64)
        outside = rate[~((rate >= 0) & (rate <= 1))]
        if outside.size:
            raise ValueError(
                f"{name} must be a fraction in [0, 1], not percent; got {outside.flat[0]}."
            )
        rates[name] = rate
    tpr, fpr, prior = check_broadcast(**rates)
    true, false = prior * tpr, (1 - prior) * fpr
    flagged = true + false
    precision = np.divide(true, flagged, out=np.full(flagged.shape, np.nan), where=flagged > 0)
    return precision if precision.ndim else float(precision)


def _makes_scorer(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Say what to write if a function that makes scorers is passed in place of one."""

    @wraps(make)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if len(args) == 3:  # an estimator, records and membership
            first = "0.01" if signature(make).parameters else ""
            name = make.__name__
            raise TypeError(f"{name} makes a scorer; pass scoring={name}({first}).")
        return make(*args, **kwargs)

    return checked


@_makes_scorer
def membership_advantage_scorer() -> Callable[..., float]:
    """Make a scorer of the membership advantage of an attack's predictions.

    Returns
    -------
    scorer : callable
        ``scorer(attack, records, membership)``, which uses `predict`. Picklable; higher means more
        leakage.

    See Also
    --------
    membership_advantage_score : The metric of this scorer.
    tpr_at_fpr_scorer : Makes a scorer of the true positive rate at a false positive rate.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from skmia.metrics import membership_advantage_scorer
    >>> signals, membership = make_classification(n_samples=1000, random_state=0)
    >>> attack = LogisticRegression()
    >>> scoring = membership_advantage_scorer()
    >>> cross_val_score(attack, signals, membership, scoring=scoring).round(2).shape
    (5,)
    """
    return make_scorer(membership_advantage_score)


@_makes_scorer
def tpr_at_fpr_scorer(
    max_fpr: float = 0.01, *, on_unresolvable: Literal["warn", "ignore", "raise"] = "warn"
) -> Callable[..., float]:
    """Make a scorer of the true positive rate at a given false positive rate.

    Parameters
    ----------
    max_fpr : float, default=0.01
        Largest false positive rate allowed, a fraction in [0, 1].

    on_unresolvable : {"warn", "ignore", "raise"}, default="warn"
        What to do when a test fold holds fewer than ``10 / max_fpr`` non-members.

    Returns
    -------
    scorer : callable
        ``scorer(attack, records, membership)``; it uses the attack's `decision_function`, or
        `predict_proba` if it has none. Picklable; higher means more leakage.

    Raises
    ------
    ValueError
        If `max_fpr` is not in [0, 1] or `on_unresolvable` is none of its options.

    See Also
    --------
    tpr_at_fpr_score : The metric of this scorer.
    membership_advantage_scorer : Makes a scorer of TPR - FPR of hard predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from skmia.metrics import membership_advantage_scorer, tpr_at_fpr_scorer
    >>> signals, membership = make_classification(n_samples=1000, random_state=0)
    >>> scoring = {"advantage": membership_advantage_scorer(), "low_fpr": tpr_at_fpr_scorer(0.1)}
    >>> results = cross_validate(LogisticRegression(), signals, membership, scoring=scoring)
    >>> results["test_low_fpr"].shape
    (5,)
    """
    return make_scorer(
        tpr_at_fpr_score,
        response_method=("decision_function", "predict_proba"),
        max_fpr=check_rate(max_fpr, "max_fpr"),
        on_unresolvable=check_option(on_unresolvable, "on_unresolvable", UNRESOLVABLE_POLICIES),
    )
