"""Leakage as a score in a search over models and defenses."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score

from .._core.copies import copy_unfitted
from .._core.groups import number_groups
from .._core.numbers import check_number, show, to_array
from .._core.records import Records
from .._core.validation import check_records
from ..attacks import ThresholdAttack
from ..base import (
    cross_fit,
    fit_own_pools,
    get_own_pools,
    judge,
    learns,
    needs_of,
    offer_of,
    set_victim,
    why_not,
)
from ..metrics import membership_advantage_score
from ._remember_training import recall_training


class LeakageScorer:
    """Scorer returned by :func:`make_leakage_scorer`: minus the leakage of a fitted model."""

    def __init__(self, records, attack, metric):
        self.records = records
        self.attack = attack
        self.metric = metric

    def __call__(self, estimator, X, y):
        """Minus the leakage of a model that remembers its training rows."""
        tested = self._find_tested(Records(X, y))
        estimator, trained = recall_training(estimator, self.records)
        chosen = trained | _choose_nonmembers(self.records, tested, trained)
        records = self.records if chosen.all() else self.records[np.flatnonzero(chosen)]
        records = records.detached()
        membership = trained[chosen].astype(int)
        attack = self._prepare(estimator)
        if learns(attack):
            fit_own_pools(attack, records)
            judged = cross_fit(attack, records, membership == 1, seed=0)
        else:
            judged = judge(attack.fit(records), records)
        if self.metric == "advantage":
            return -float(membership_advantage_score(membership, judged.guesses))
        metric = roc_auc_score if self.metric == "auc" else self.metric
        return -float(metric(membership, judged.scores))

    def _find_tested(self, tested):
        known = np.isin(tested.fingerprint, self.records.fingerprint)
        if not known.all():
            raise ValueError(
                f"{(~known).sum()} of the {len(known)} rows that are scored are not among the "
                "records of make_leakage_scorer; pass it the X and y of the search."
            )
        return np.isin(self.records.fingerprint, tested.fingerprint)

    def _prepare(self, estimator):
        attack = set_victim(clone(self.attack), estimator)
        for *_, pool in get_own_pools(attack, self.records):
            if pool.estimator is None:
                pool.set_params(estimator=copy_unfitted(estimator))
        no_pool = {"shadows": "which have to be given: shadows=ShadowPool(...)"}
        offer = offer_of(estimator, trainable=False, withheld=no_pool)
        reason = why_not(attack, offer)
        if reason is not None:
            raise ValueError(f"{type(attack).__name__} cannot measure this model: {reason}.")
        return attack

    def __repr__(self):
        metric = self.metric if isinstance(self.metric, str) else self.metric.__name__
        return f"make_leakage_scorer({self.records!r}, attack={self.attack!r}, metric={metric})"


def _choose_nonmembers(records, tested, trained):
    """Return the records of the test fold that the model was not trained on."""
    # The fold of a training score has none; all other records take their place.
    is_test_fold = (tested & ~trained).any()
    others = tested & ~trained if is_test_fold else ~trained
    if "group_by" in records.fields:
        names, person = number_groups(records["group_by"], len(records))
        divided = np.intersect1d(person[trained & ~tested], person[others])
        if len(divided) and is_test_fold:
            raise ValueError(
                f"The folds divide the records of {len(divided)} values of group_by, first of "
                f"{str(names[divided[0]])!r}; use folds that keep them together, such as "
                "GroupKFold."
            )
        others &= ~np.isin(person, person[trained])
    if not others.any():
        raise ValueError(
            "The model was trained on all records that could be non-members; non-members are "
            "missing."
        )
    return others


def make_leakage_scorer(
    records: Records,
    *,
    attack: BaseEstimator | None = None,
    metric: Literal["advantage", "auc"] | Callable[..., Any] = "advantage",
) -> Callable[..., float]:
    """Make a scorer of the leakage of models, for a search or a cross-validation.

    Members are the records that the model was trained on, and non-members those of the test fold. A
    scorer is called with the test fold alone, so the estimator of the search has to remember its
    training rows: wrap it in :class:`RememberTraining`. With any other estimator the scorer raises,
    which a search turns into a score of NaN and a warning unless it has ``error_score="raise"``.
    The folds may be any, and may leave records out. A training score compares members with all
    records that the model was not trained on.

    A record of the test fold that equals one of the training fold counts as a member, since the
    model was trained on its content. Records with a field ``group_by`` need folds that keep the
    records of each value together, such as :class:`~sklearn.model_selection.GroupKFold`.

    Like every scorer, it returns higher values for better models: *minus* the leakage.

    Parameters
    ----------
    records : Records of n records
        The X and y of the search.
    attack : attack, default=None
        Unfitted attack, or classifier combining attacks and :class:`~skmia.signals.Signals`; its
        ``victim`` is set to the model. If None, ``ThresholdAttack(signal="loss")``. One that learns
        from known members is cross-fitted: each record is scored by an attack that has learned from
        the records of other folds. An unfitted :class:`~skmia.ShadowPool` with
        ``estimator=None`` in it is fitted with clones of the model, defense included, for every
        candidate and fold.
    metric : {"advantage", "auc"} or callable, default="advantage"
        ``"advantage"`` is TPR - FPR of the attack's predictions; a callable takes membership and
        scores and returns a number that increases with the leakage.

    Returns
    -------
    scorer : callable
        Scorer with the signature ``scorer(estimator, X, y)``.

    Raises
    ------
    ValueError
        If it is called, if the estimator does not know what it was trained on, if one of its
        training rows or of the test fold is not among the records, or if there are no non-members.

    See Also
    --------
    RememberTraining : Estimator that remembers its training rows.
    best_below_leakage : Rule that chooses among the candidates of a search.
    skmia.metrics.PrivacyUtilityDisplay : Plot of the candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.model_selection import (
    ...     RememberTraining,
    ...     best_below_leakage,
    ...     make_leakage_scorer,
    ... )
    >>> X, y = load_digits(return_X_y=True)
    >>> scoring = {"accuracy": "accuracy", "leakage": make_leakage_scorer(Records(X, y))}
    >>> search = GridSearchCV(
    ...     RememberTraining(DecisionTreeClassifier(random_state=0)),
    ...     {"estimator__max_depth": [4, 8, None]},
    ...     scoring=scoring,
    ...     refit=best_below_leakage(0.2),
    ... ).fit(X, y)
    >>> search.best_params_
    {'estimator__max_depth': 8}
    """
    check_records(records)
    if attack is not None and needs_of(attack) is None:
        raise TypeError(f"attack must be an attack on membership; got {type(attack).__name__}.")
    named = isinstance(metric, str) and metric in ("advantage", "auc")
    if not (callable(metric) or named):
        raise ValueError(f"metric must be 'advantage', 'auc' or a callable; got {show(metric)}.")
    return LeakageScorer(records, ThresholdAttack() if attack is None else attack, metric)


class _BestBelowLeakage:
    def __init__(self, max_leakage, utility, leakage):
        self.max_leakage = max_leakage
        self.utility = utility
        self.leakage = leakage

    def __call__(self, cv_results):
        utility, leakage = (
            self._read(cv_results, parameter) for parameter in ("utility", "leakage")
        )
        allowed = (-leakage <= self.max_leakage) & ~np.isnan(utility)
        if not allowed.any():
            raise ValueError(
                f"No candidate leaks at most {self.max_leakage}; the smallest leakage is "
                f"{np.nanmin(-leakage):.3g}."
            )
        return int(np.argmax(np.where(allowed, utility, -np.inf)))

    def __repr__(self):
        names = f"utility={self.utility!r}, leakage={self.leakage!r}"
        return f"best_below_leakage({self.max_leakage!r}, {names})"

    def _read(self, cv_results, parameter):
        """Mean over the folds of the scorer that a parameter names."""
        name = getattr(self, parameter)
        if f"mean_test_{name}" not in cv_results:
            columns = [key for key in cv_results if key.startswith("mean_test_")]
            names = [repr(key.removeprefix("mean_test_")) for key in columns]
            have = "one scorer without a name" if names == ["'score'"] else ", ".join(names)
            raise ValueError(
                f"best_below_leakage has {parameter}={show(name)}, which must be a name in the "
                f"`scoring` of the search; got {have}. Set {parameter}, or give the search "
                f"`scoring` as a dict with this name."
            )
        return to_array(cv_results[f"mean_test_{name}"], name)


def best_below_leakage(
    max_leakage: float, *, utility: str = "accuracy", leakage: str = "leakage"
) -> Callable[[Mapping[str, Any]], int]:
    """Choose the most useful candidate of a search whose leakage is bounded, for ``refit``.

    The leakage of the chosen candidate was measured on the folds that chose it and is too low on
    average; measure it again on fresh records.

    Parameters
    ----------
    max_leakage : float
        Largest mean leakage over the test folds, such as 0.1 for an advantage.
    utility : str, default="accuracy"
        Name in ``scoring`` of the score to maximize.
    leakage : str, default="leakage"
        Name in ``scoring`` of a :func:`make_leakage_scorer`.

    Returns
    -------
    refit : callable
        Function of ``cv_results_`` that returns the index of a candidate.

    Raises
    ------
    ValueError
        If it is called, if every candidate leaks more or the search has no scorer of one of the
        two names.

    Examples
    --------
    >>> from skmia.model_selection import best_below_leakage
    >>> results = {"mean_test_accuracy": [0.9, 0.8], "mean_test_leakage": [-0.3, -0.05]}
    >>> best_below_leakage(0.1)(results)
    1
    """
    check_number(max_leakage, "max_leakage", "a finite number")
    return _BestBelowLeakage(max_leakage, utility, leakage)
