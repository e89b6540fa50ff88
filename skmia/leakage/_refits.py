"""Leakage of training records, from one fit."""

from copy import copy
from numbers import Real
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import expit, logit, logsumexp
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.caches import clone_to_train
from .._core.copies import CopiesParameters
from .._core.error_hints import with_advice
from .._core.hashing import hash_values
from .._core.kinds import is_classifier
from .._core.linear_influence import SMALLEST_RCOND, LinearInfluence
from .._core.query import unwrap
from .._core.records import Records, has_column
from .._core.sklearn import HasMethods, Interval, StrOptions
from .._core.targets import shape_targets
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from ..victims import LinearModel, check_labels, find_model, read_features

# Smaller residuals count as this value, as in the signal of regressors.
_SMALLEST_RESIDUAL = 1e-12


class LeaveOneOutSignals(NamedTuple):
    """Signals of each training record; higher means that the model fits it better."""

    # (n,): signals with the record in the training set, and without it; NaN where none is known.
    p: tuple
    phi: tuple


def sides_of_log_odds(inside, outside):
    """Return the sides of log odds of the label."""
    return LeaveOneOutSignals((expit(inside), expit(outside)), (inside, outside))


def sides_of_proba(inside, outside, resolution):
    """Sides of probabilities of the label, whose log odds stay off the ends by a resolution."""
    bounded = [np.clip(side, resolution, 1 - resolution) for side in (inside, outside)]
    return LeaveOneOutSignals((inside, outside), tuple(map(logit, bounded)))


def sides_of_residuals(inside, outside):
    sizes = [np.abs(side) for side in (inside, outside)]
    logs = [-np.log(np.maximum(size, _SMALLEST_RESIDUAL)) for size in sizes]
    return LeaveOneOutSignals((-sizes[0], -sizes[1]), tuple(logs))


def why_not_bags(model, n_records):
    if not model.bootstrap:
        return "bootstrap=False, so that each of its estimators may have seen every record"
    samples = model.estimators_samples_
    takes_all = model.max_samples is None or model.max_samples == 1.0
    if (takes_all and len(samples[0]) != n_records) or max(map(np.max, samples)) >= n_records:
        return f"it was fitted on another number of records than {n_records}"
    return None


def leave_out_of_bags(model, X, y):
    """Return the answers of all estimators, and of those that were trained without the record.

    Shapes: X (n, n_features), y (n,).
    """
    total, count, of_all = np.zeros((3, len(X)))
    features = getattr(model, "estimators_features_", [slice(None)] * len(model.estimators_))
    for estimator, rows, columns in zip(
        model.estimators_, model.estimators_samples_, features, strict=True
    ):
        answer = _answer(model, estimator, X[:, columns], y)
        is_out = np.ones(len(X), dtype=bool)
        is_out[rows] = False
        of_all += answer
        total += np.where(is_out, answer, 0.0)
        count += is_out
    outside = np.divide(total, count, out=np.full(len(X), np.nan), where=count > 0)
    inside = of_all / len(model.estimators_)
    if not is_classifier(model):
        return sides_of_residuals(y - inside, y - outside)
    return sides_of_proba(inside, outside, 0.5 / len(model.estimators_))


def _answer(model, estimator, X, y):
    """Return the prediction of one estimator, or its probability of the label."""
    if not is_classifier(model):
        return estimator.predict(X)
    if not hasattr(estimator, "predict_proba"):
        return (estimator.predict(X) == y).astype(float)
    proba = estimator.predict_proba(X)
    # An estimator whose rows lack a class gives it no column.
    known = np.asarray(estimator.classes_).astype(np.intp)
    place = np.searchsorted(known, y)
    has_label = known[np.minimum(place, len(known) - 1)] == y
    rows = np.arange(len(y))
    return np.where(has_label, proba[rows, np.minimum(place, len(known) - 1)], 0.0)


def why_not_discriminant(model, n_records):
    if model.shrinkage is not None or model.covariance_estimator is not None:
        return "its covariance is shrunk or estimated by another estimator"
    if model.priors is not None:
        return "its priors are given"
    return None


def leave_out_of_discriminant(model, X, y):
    """Return the log odds of the label, with and without the record, exact.

    Shapes: X (n, n_features), y (n,).
    """
    n, n_classes = len(X), len(model.classes_)
    sizes = np.bincount(y, minlength=n_classes)
    means = np.array([X[y == k].mean(axis=0) for k in range(n_classes)])
    residuals = X - means[y]
    # Of equal values of a class the rounding of their mean is left.
    constant = np.array([np.ptp(X[y == k], axis=0) == 0 for k in range(n_classes)])
    residuals[constant[y]] = 0.0
    precision = _invert_scatter(residuals.T @ residuals)
    degrees = _count_degrees(model, means, precision)
    away = X[:, None] - means
    reach = away @ precision
    distance = np.einsum("nkd,nkd->nk", away, reach)
    inside = -degrees / 2 * distance + np.log(sizes)
    rows = np.arange(n)
    # A class of one record has no mean without it.
    held = np.where(sizes[y] > 1, sizes[y], np.nan)
    share = held / (held - 1)
    cross = np.einsum("nd,nkd->nk", residuals, reach)
    own = cross[rows, y]
    cross[rows, y], distance[rows, y] = share * own, share**2 * distance[rows, y]
    distance += share[:, None] * cross**2 / (1 - share * own)[:, None]
    counts = np.tile(sizes.astype(float), (n, 1))
    counts[rows, y] = held - 1
    outside = (1 - degrees) / 2 * distance + np.log(counts)
    return sides_of_log_odds(_log_odds(inside, y), _log_odds(outside, y))


def _invert_scatter(scatter):
    """Return the pseudo-inverse, as constant and dependent features take no part."""
    scale = np.sqrt(np.diag(scatter))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    kept = values > SMALLEST_RCOND * values.max()
    vectors = vectors[:, kept] / scale[:, None]
    return (vectors / values[kept]) @ vectors.T


def _count_degrees(model, means, precision):
    """Return the number that the solver has divided the scatter within classes by.

    It differs by version.
    """
    apart = (means[1:] - means[0]) @ precision
    found = model.coef_ if len(means) == 2 else model.coef_[1:] - model.coef_[0]
    return float(np.sum(found * apart) / np.sum(apart**2))


def _log_odds(scores, y):
    rest = scores.copy()
    rest[np.arange(len(y)), y] = -np.inf
    return scores[np.arange(len(y)), y] - logsumexp(rest, axis=1)


def leave_out_of_linear(model, X, y):
    """Answers of a fitted linear model, and of the same after a Newton step without the record."""
    loss, outputs = model.loss, model.outputs(X)
    curve = loss.curve(outputs, y)
    influence = LinearInfluence(X, curve, 1.0, model.penalty)
    without = outputs + influence.move_alone(X, curve, -np.ones(len(y)))
    if loss.is_quadratic:
        return sides_of_residuals(y - outputs[:, 0], y - without[:, 0])
    return sides_of_log_odds(loss.signal(outputs, y), loss.signal(without, y))


def why_not_neighbors(model, n_records):
    if model.n_samples_fit_ != n_records:
        return f"it was fitted on {model.n_samples_fit_} records, not {n_records}"
    if model.n_neighbors > n_records - 1:
        return f"it has n_neighbors={model.n_neighbors}, and n_samples={n_records} has fewer others"
    if model.weights not in (None, "uniform", "distance"):
        return "its weights are a function of its own"
    return None


def leave_out_of_neighbors(model, X, y):
    """Return answers of the nearest neighbors, with and without the record itself among them."""
    inside = _vote(model, *model.kneighbors(X), y)
    outside = _vote(model, *model.kneighbors(), y)
    if not is_classifier(model):
        return sides_of_residuals(y - inside, y - outside)
    return sides_of_proba(inside, outside, 0.5 / model.n_neighbors)


def _vote(model, distances, neighbors, y):
    """Return the share of the label among neighbors, or their mean target."""
    votes = y[neighbors] == y[:, None] if is_classifier(model) else y[neighbors]
    if model.weights == "distance":
        equal = distances == 0
        with np.errstate(divide="ignore"):
            weights = np.where(equal.any(axis=1, keepdims=True), equal, 1 / distances)
    else:
        weights = np.ones_like(distances)
    return np.average(votes, axis=1, weights=weights)


def why_not_process(model, n_records):
    if len(model.X_train_) != n_records:
        return f"it was fitted on {len(model.X_train_)} records, not {n_records}"
    return "it has several outputs" if np.ndim(model.alpha_) > 1 else None


def leave_out_of_process(model, X, y):
    """Residuals of a process with fixed hyper-parameters, with and without the record, exact."""
    inside = y - model.predict(X)
    precision = np.diag(cho_solve((model.L_, True), np.eye(len(X))))
    # The process models targets that were centered and scaled once.
    scale = np.std(y) if model.normalize_y else 1.0
    return sides_of_residuals(inside, scale * model.alpha_ / precision)


class _RefitFamily(NamedTuple):
    """How records are left out of a kind of models, and why not of one of them."""

    method: str
    leave_out: object
    why_not: object


_BAGS = _RefitFamily("out-of-bag votes", leave_out_of_bags, why_not_bags)
_NEIGHBORS = _RefitFamily("leave-one-out", leave_out_of_neighbors, why_not_neighbors)
_EXACT, _NEWTON = "leave-one-out", "one Newton step"

_FAMILIES = {
    RandomForestClassifier: _BAGS,
    RandomForestRegressor: _BAGS,
    ExtraTreesClassifier: _BAGS,
    ExtraTreesRegressor: _BAGS,
    BaggingClassifier: _BAGS,
    BaggingRegressor: _BAGS,
    KNeighborsClassifier: _NEIGHBORS,
    KNeighborsRegressor: _NEIGHBORS,
    LinearDiscriminantAnalysis: _RefitFamily(
        _EXACT, leave_out_of_discriminant, why_not_discriminant
    ),
    GaussianProcessRegressor: _RefitFamily(_EXACT, leave_out_of_process, why_not_process),
}
_LINEAR = {LinearRegression: _EXACT, Ridge: _EXACT, LogisticRegression: _NEWTON}


def leave_out_records(model, X, y):
    """Return the signals of each training record with and without it, from one fitted model.

    Shapes: X (n, ...), y (n,).
    """
    found, steps = find_model(unwrap(model))
    if type(found) in _LINEAR:
        linear = LinearModel(unwrap(model))
        linear.check()
        return leave_out_of_linear(linear, *linear.read(X, y)), _LINEAR[type(found)]
    family = _FAMILIES.get(type(found))
    if family is None:
        names = ", ".join(sorted(kind.__name__ for kind in (*_FAMILIES, *_LINEAR)))
        raise TypeError(
            f"Records are left out in closed form of {names}, also at the end of a Pipeline; got "
            f"{type(unwrap(model)).__name__}."
        )
    why = family.why_not(found, len(y))
    if why is not None:
        raise ValueError(f"No record can be left out of this {type(found).__name__}: {why}.")
    X, nameless = read_features(found, steps, X, role="The model has"), copy(found)
    vars(nameless).pop("feature_names_in_", None)  # as X has none either
    return family.leave_out(nameless, X, check_labels(found, y)), family.method


class LeaveOneOutLeakage(TransactionMixin, CopiesParameters, MetaEstimatorMixin, BaseEstimator):
    r"""Leakage of each training record: how much better the model fits it than without it.

    For some models, the prediction for a training record by a model that was trained on all others
    follows from one fit. The difference is what membership adds to the signal that attacks compare,
    so it says which records are exposed, without shadow models and in seconds.

    Parameters
    ----------
    estimator : estimator
        Forest or bagging ensemble with bootstrap, k-nearest neighbors, LinearDiscriminantAnalysis,
        GaussianProcessRegressor, LinearRegression, Ridge or LogisticRegression, or a Pipeline that
        ends in one. A model that is fitted to the same rows in the same order stays as it is in a
        :class:`~sklearn.frozen.FrozenEstimator`.
    scale : {"phi", "p"}, default="phi"
        Scale of the signals. ``"p"`` is the probability of the label, for a regressor minus the
        absolute residual in units of y. ``"phi"`` is the log odds of the label, for a regressor
        minus the log of the absolute residual, which :class:`skmia.attacks.LiRA` compares. They
        rank records differently.
    level : float, default=0.0
        Leakage, in units of `scale`, above which :meth:`predict` says that a record leaks.

    Attributes
    ----------
    leakage_ : ndarray of shape (n,)
        Signal with the record in the training set, minus the signal without it. NaN where none is
        known: a record that is in the sample of every estimator of an ensemble or, with a
        discriminant analysis, the only one of its class.
    signal_in_, signal_out_ : ndarray of shape (n,)
        The two signals; higher means that the model fits the record better.
    method_ : {"leave-one-out", "one Newton step", "out-of-bag votes"}
        How the record was left out. Leave-one-out is exact. A step of Newton's method from the
        optimum is nearly exact where no record has a large leverage. Out-of-bag votes come from the
        members whose sample the record is not in, which are about a third.
    estimator_ : estimator
        Fitted model.
    n_features_in_ : int
        Number of features, if ``estimator_`` has that attribute.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if ``estimator_`` has that attribute.

    Raises
    ------
    TypeError
        If no such formula is known for this kind of model.
    ValueError
        If it does not hold with the settings of this model.

    See Also
    --------
    skmia.attacks.AnalyticLiRA : Attack on linear models from one fit to all records.
    skmia.disparity.DisparityTest : Compares the leakage of groups.

    Notes
    -----
    The steps of a Pipeline before the model, and hyper-parameters that were chosen on the training
    records, are taken as they are: they do not change when a record is left out. So are the mean
    and the scale of the targets of a Gaussian process with ``normalize_y=True``.

    With leverages :math:`h` and residuals :math:`e`, the residual without the record is
    :math:`e / (1 - h)` for least squares and ridge regression, and
    :math:`[K^{-1} y]_i / [K^{-1}]_{ii}` for a Gaussian process with covariance K, noise included.
    The votes of a forest of T trees have log odds of at most those of 1 - 1 / (2 T), and of k
    neighbors those of 1 - 1 / (2 k).

    If only the order of the records matters, minus ``signal_out_`` at scale ``"p"`` is a strong
    alternative for forests and neighbors, since a record that others predict poorly leaves the most
    to learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.leakage import LeaveOneOutLeakage
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> leakage = LeaveOneOutLeakage(forest, scale="p").fit(X, y)
    >>> leakage.method_
    'out-of-bag votes'
    >>> leakage.leakage_.argsort()[::-1][:2]  # the most exposed flowers
    array([70, 77])
    >>> leakage.set_params(level=0.3).predict(X[[70, 0]])
    array([1, 0])
    >>> round(leakage.score(), 3)
    0.039
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "scale": [StrOptions({"phi", "p"})],
        "level": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        scale: Literal["phi", "p"] = "phi",
        level: float = 0.0,
    ) -> None:
        self.estimator = estimator
        self.scale = scale
        self.level = level

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model and leave out each of its records.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training records, in the form that the estimator takes.
        y : array-like of shape (n,)
            Labels or targets.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        records = Records(X, y)
        model = clone_to_train(self.estimator)
        with with_advice(model, records.X):
            targets = shape_targets(model, records.X, records.y, has_column(records))
            self.estimator_ = model.fit(records.X, targets)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        sides, self.method_ = leave_out_records(self.estimator_, records.X, records.y)
        self.signal_in_, self.signal_out_ = getattr(sides, self.scale)
        self.leakage_ = self.signal_in_ - self.signal_out_
        self._rows = hash_values(records.X)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which records are training records that leak more than `level`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Records.

        Returns
        -------
        leaks : ndarray of shape (n,), dtype int
            1 for a training record with a leakage above `level`, otherwise 0. A record that the
            model was not trained on has nothing to leak, and one whose leakage is not known counts
            as 0. Of training records with equal features, the one that leaks most decides. Features
            are equal if their values are, whatever the types of their numbers.
        """
        check_is_fitted(self)
        rows = Records(X).X
        self.estimator_.predict(rows)  # refuses what the model does not take
        with np.errstate(invalid="ignore"):
            leaks = self.leakage_ > self.level
        return np.isin(hash_values(rows), self._rows[leaks]).astype(int)

    def score(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> float:
        """Return the average leakage of the training records; higher means that more leaks.

        A search with this score selects the setting of the estimator under which its training
        records leak most, the worst case.

        Parameters
        ----------
        X : array-like of shape (n, n_features), default=None
            Checked, and not used otherwise: the leakage is of the records given to ``fit``, because
            others have none.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean of ``leakage_``, without the records where it is not known.

        Raises
        ------
        ValueError
            If the leakage is not known for any record.
        """
        check_is_fitted(self)
        if X is not None:
            self.estimator_.predict(Records(X).X)
        known = self.leakage_[~np.isnan(self.leakage_)]
        if not len(known):
            raise ValueError(
                "The leakage is not known for any record, because every estimator of the ensemble "
                "was trained on all of them; use more estimators or a smaller max_samples."
            )
        return float(known.mean())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        return tags
