"""Membership metrics as scorers, for ``GridSearchCV(scoring=...)`` and ``cross_validate``."""

from collections.abc import Callable
from typing import Literal

from sklearn.metrics import make_scorer

from .._core.checks import check_option, check_rate
from ._membership import membership_advantage_score, tpr_at_fpr_score
from .resolution import UNRESOLVABLE_POLICIES

membership_advantage_scorer = make_scorer(membership_advantage_score)


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
    membership_advantage_scorer : The scorer of TPR - FPR of hard predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from skmia.metrics import membership_advantage_scorer, tpr_at_fpr_scorer
    >>> signals, membership = make_classification(n_samples=1000, random_state=0)
    >>> scoring = {"advantage": membership_advantage_scorer, "low_fpr": tpr_at_fpr_scorer(0.1)}
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
