"""Leakage as a score in a search over models and defenses."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score

from .._core.copies import copy_unfitted
from .._core.foreign_words import describe_error
from .._core.groups import number_groups
from .._core.metric_inputs import RATE_TOLERANCE
from .._core.numbers import check_number, show, to_array
from .._core.records import Records
from .._core.searches import mark_scored
from .._core.validation import check_records
from ..attacks import ThresholdAttack
from ..base import (
    align_victim,
    cross_fit,
    fit_own_pools,
    get_own_pools,
    judge_records,
    learns,
    needs_of,
    offer_of,
    set_victim,
    why_not,
)
from ..metrics import membership_advantage_score
from ._find_training import find_training


class LeakageScorer:
    """Scorer returned by :func:`make_leakage_scorer`: minus the leakage of a fitted model."""

    def __init__(self, records, attack, metric):
        self.records = records
        self.attack = attack
        self.metric = metric

    def __call__(self, estimator, X, y=None, sample_weight=None):
        """Return minus the leakage of a model, or what raises if it is read as a number."""
        try:
            score = self._measure(estimator, Records(X, y), sample_weight)
            if not np.isfinite(score):
                raise ValueError(f"the metric {self._name_metric()} is {score} on this fold.")
        except (
            Exception
        ) as error:  # of whatever kind: the estimators and metrics are those of users
            return UnmeasuredLeakage(error)
        return score

    def _accept_sample_weight(self):
        # Searches that are given weights ask each of several scorers for it.
        return True

    def _measure(self, estimator, tested, sample_weight):
        is_tested = self._find_tested(tested)
        estimator, trained = find_training(estimator, self.records, tested, sample_weight)
        chosen = trained | _choose_nonmembers(self.records, is_tested, trained)
        records = self.records if chosen.all() else self.records[np.flatnonzero(chosen)]
        records = records.detached()
        membership = trained[chosen].astype(int)
        attack = self._prepare(estimator)
        set_victim(attack, align_victim(estimator, attack, records.y))
        if learns(attack):
            fit_own_pools(attack, records)
            judged = cross_fit(attack, records, membership == 1, seed=0)
        else:
            judged = judge_records(attack.fit(records), records)
        known = judged.judged
        for side, name in ((1, "members"), (0, "non-members")):
            if not known[membership == side].any():
                raise ValueError(
                    f"{type(attack).__name__} can judge none of the {(membership == side).sum()} "
                    f"{name}; if it has shadow models, it needs more of them."
                )
        if self.metric == "advantage":
            return -float(membership_advantage_score(membership[known], judged.guesses[known]))
        metric = roc_auc_score if self.metric == "auc" else self.metric
        return -float(metric(membership[known], judged.scores[known]))

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
        settings = f"attack={self.attack!r}, metric={self._name_metric()}"
        return f"make_leakage_scorer({self.records!r}, {settings})"

    def _name_metric(self):
        return getattr(self.metric, "__name__", self.metric)


class UnmeasuredLeakage:
    """Score of a model whose leakage was not measured; reading it as a number raises the reason.

    A search turns an exception of a scorer into NaN and answers with a best candidate all the same.
    What a scorer returns it reads as a number, which ends the search at the first fold.
    """

    def __init__(self, error):
        self._error = error

    def item(self):
        """Raise the reason, when scikit-learn reads the score.

        A ValueError is one that scikit-learn expects here, of an array of several numbers.
        """
        raise RuntimeError(repr(self)) from self._error

    def _raise_reason(self, *_, **__):
        raise self._error

    __float__ = __array__ = __format__ = __round__ = _raise_reason
    __neg__ = __abs__ = __add__ = __radd__ = __sub__ = __rsub__ = _raise_reason
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _raise_reason
    __lt__ = __le__ = __gt__ = __ge__ = _raise_reason

    def __repr__(self):
        return f"The leakage was not measured: {describe_error(self._error)}"


def _choose_nonmembers(records, tested, trained):
    """Return the records of the test fold that the model was not trained on.

    The fold of a training score has none; all other records take their place.
    """
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
    scorer is called with the test fold alone. It takes the other records for members if the model
    proves that it was trained on all of them: the model states as many training rows, or a clone
    that is trained on these records makes the same predictions, which costs one more fit. A number
    that may count a row twice, as sums of weights of naive Bayes and sums over calls of
    ``partial_fit`` do, is no proof, unless each leaf of a tree agrees with it.
    :class:`RememberTraining` around the estimator remembers the training rows. It is needed where
    nothing is proved:

    * the folds leave records out, as in learning curves, successive halving,
      :class:`~sklearn.model_selection.TimeSeriesSplit` and :class:`~sklearn.model_selection.
      ShuffleSplit` with a `train_size`;
    * models that state no such number are trained without a ``random_state``, or with parameters
      of ``fit`` such as weights;
    * folds that are given as a list repeat training rows, each of which counts as two; only of
      trees this is found out;
    * there are two folds, which have equally many records, and no ``random_state``;
    * some rows have a ``sample_weight`` of 0, which a forest counts all the same.

    If the leakage cannot be measured, the search ends with the reason at the first fold, whatever
    its ``error_score`` is. A training score compares members with all records that the model was
    not trained on.

    A record of the test fold that equals one of the training fold counts as a member, since the
    model was trained on its content. Records that the attack cannot judge are left out. Records
    with a field ``group_by`` need folds that keep the records of each value together, such as
    :class:`~sklearn.model_selection.GroupKFold`.

    Like every scorer, it returns higher values for better models: *minus* the leakage.

    Parameters
    ----------
    records : Records of n records
        The X and y of the search.
    attack : attack, default=None
        Unfitted attack, or classifier combining attacks and :class:`~skmia.signals.Signals`; its
        ``victim`` is set to the model. If None, :class:`~skmia.attacks.ThresholdAttack`, whose
        ``signal="auto"`` is the loss of a model with probabilities or of a regressor, the margin of
        decision values, and of labels whether they are correct. One that learns from known members
        is cross-fitted: each record is scored by an attack that has learned from the records of
        other folds. An unfitted :class:`~skmia.ShadowPool` with ``estimator=None`` in it is fitted
        with clones of the model, defense included, for every candidate and fold.
    metric : {"advantage", "auc"} or callable, default="advantage"
        ``"advantage"`` is TPR - FPR of the attack's predictions; a callable takes membership and
        scores and returns a number that increases with the leakage.

    Returns
    -------
    scorer : callable
        Scorer with the signature ``scorer(estimator, X, y)``. If the leakage cannot be measured, a
        call returns an object that raises the reason as soon as it is used as a number, since a
        search turns an exception of a scorer into NaN.

    Raises
    ------
    RuntimeError
        In a search, if it is not known what the model was trained on, if one of its training rows
        or of the test fold is not among the records, if there are no non-members, or if the attack
        cannot attack the model. Outside of a search, the error has the type of its reason.

    See Also
    --------
    RememberTraining : Estimator that remembers its training rows, for splits of any kind.
    best_below_leakage : Rule that chooses among the candidates of a search.
    skmia.metrics.PrivacyUtilityDisplay : Plot of the candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.model_selection import best_below_leakage, make_leakage_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> scoring = {"accuracy": "accuracy", "leakage": make_leakage_scorer(Records(X, y))}
    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": [4, 8, None]},
    ...     scoring=scoring,
    ...     refit=best_below_leakage(0.2),
    ...     cv=3,
    ... ).fit(X, y)
    >>> search.best_params_
    {'max_depth': 8}
    """
    check_records(records, targets=True)
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
        scored = mark_scored({self.utility: utility, self.leakage: leakage})
        # The mean of folds that leak 0.1 each is a little more than 0.1.
        allowed = scored & (-leakage <= self.max_leakage + RATE_TOLERANCE)
        if not allowed.any():
            raise ValueError(
                f"No candidate leaks at most {self.max_leakage}; the smallest leakage is "
                f"{np.min(-leakage[scored]):.3g}."
            )
        return int(np.argmax(np.where(allowed, utility, -np.inf)))

    def __repr__(self):
        names = f"utility={self.utility!r}, leakage={self.leakage!r}"
        return f"best_below_leakage({self.max_leakage!r}, {names})"

    def _read(self, cv_results, parameter):
        """Return the mean over the folds of the scorer that a parameter names."""
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
        If `max_leakage` is not finite. When the search calls it, if every candidate leaks more, if
        none has both scores in all folds, or if the search has no scorer of one of the two names.

    Warns
    -----
    UserWarning
        If a fit or a scorer of a candidate failed in one of the folds; the candidate is left out.

    Examples
    --------
    >>> from skmia.model_selection import best_below_leakage
    >>> results = {"mean_test_accuracy": [0.9, 0.8], "mean_test_leakage": [-0.3, -0.05]}
    >>> best_below_leakage(0.1)(results)
    1
    """
    check_number(max_leakage, "max_leakage", "a finite number")
    return _BestBelowLeakage(max_leakage, utility, leakage)
