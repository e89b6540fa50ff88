"""Soft labels and soft targets from models that were not trained on the rows."""

from typing import Literal

import numpy as np

from .._core.metric_inputs import check_option
from .._core.numbers import check_numbers
from .._core.types import ArrayLike

__all__ = ["soften", "soften_values"]


def soften(
    proba: ArrayLike,
    y: ArrayLike,
    alpha: float | ArrayLike = 0.0,
    *,
    spread: Literal["label", "direction", "coordinate"] = "label",
) -> np.ndarray:
    r"""Return optimally soft labels from out-of-sample predictions.

    The soft label of a row is the mean of the predictions, moved towards the label by ``alpha``
    standard deviations, at most to the label itself. A model that is trained on the soft label
    cannot memorize more of the label.

    Parameters
    ----------
    proba : array-like of shape (n_models, n, n_classes)
        Class probabilities by two models or more that were not trained on the row.
    y : array-like of shape (n,)
        Column of the label of each row, from 0 to n_classes - 1.
    alpha : float or array-like of shape (n,), default=0.0
        Number of standard deviations, at least 0. With 0 the soft label is the mean of the answers,
        with infinity the label.
    spread : {"label", "direction", "coordinate"}, default="label"
        Quantity whose standard deviation is used, with the number of models as its divisor:

        - ``"label"``: the probability of the label, which rises by ``alpha`` of them;
        - ``"direction"``: the projections of the answers on the line from the mean to the label;
        - ``"coordinate"``: each class, then cut to [0, 1] and normalized.

    Returns
    -------
    targets : ndarray of shape (n, n_classes)
        Soft labels, which sum to 1.

    Raises
    ------
    ValueError
        If shapes do not fit, or if values are not probabilities, columns or numbers of at least 0.

    See Also
    --------
    skmia.defenses.SoftLabelDefense : Classifier that computes soft labels and is trained on them.
    soften_values : Soft targets of a regression.

    Notes
    -----
    The source says "by alpha standard deviations" without saying of what. The default of this
    package is ``"label"``, because attacks use the probability of the label.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from skmia.defenses.soft_targets import soften
    >>> proba = [[[0.1, 0.7, 0.2]], [[0.3, 0.3, 0.4]]]  # two models, one row
    >>> soften(proba, [0])
    array([[0.2, 0.5, 0.3]])
    >>> soften(proba, [0], 2.0).round(3)
    array([[0.4  , 0.375, 0.225]])
    """
    check_option(spread, "spread", tuple(SPREADS))
    proba = check_numbers(proba, "proba", "probabilities in [0, 1]", 0, 1)
    if proba.ndim != 3 or len(proba) < 2:
        raise ValueError(
            "proba must be of shape (n_models, n, n_classes) with two models or more; got shape "
            f"{proba.shape}."
        )
    _, n, n_classes = proba.shape
    allowed = f"columns from 0 to {n_classes - 1}"
    codes = check_numbers(y, "y", allowed, 0, n_classes - 1)
    if codes.shape != (n,) or (codes % 1).any():
        raise ValueError(f"y must be {n} {allowed}; got an array of shape {codes.shape}.")
    alpha = _check_alpha(alpha, n)
    return move_to_labels(proba, codes.astype(np.intp), alpha, spread)


def soften_values(
    predictions: ArrayLike, y: ArrayLike, alpha: float | ArrayLike = 0.0
) -> np.ndarray:
    r"""Return the soft targets of a regression from models that were not trained on the rows.

    The soft target of a row starts at the mean of the predictions, and moves towards the target by
    ``alpha`` standard deviations of them, at most to the target itself.

    Parameters
    ----------
    predictions : array-like of shape (n_models, n)
        Predictions by two models or more that were not trained on the row.
    y : array-like of shape (n,)
        Targets.
    alpha : float or array-like of shape (n,), default=0.0
        Number of standard deviations (divisor ``n_models``), at least 0. With 0 the soft target is
        the mean of the predictions, with infinity the target.

    Returns
    -------
    targets : ndarray of shape (n,)
        Soft targets.

    Raises
    ------
    ValueError
        If shapes do not fit, or if values are not finite numbers or ``alpha`` is below 0.

    See Also
    --------
    skmia.defenses.SoftRegressionDefense : Regressor that is trained on such targets.
    soften : Soft labels of a classification.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from skmia.defenses.soft_targets import soften_values
    >>> predictions = [[1.0, 4.0], [3.0, 4.0]]  # two models, two rows
    >>> soften_values(predictions, [9.0, 5.0])
    array([2., 4.])
    >>> soften_values(predictions, [9.0, 5.0], 3.0)
    array([5., 4.])
    """
    predictions = check_numbers(predictions, "predictions", "finite numbers")
    if predictions.ndim != 2 or len(predictions) < 2:
        raise ValueError(
            "predictions must be of shape (n_models, n) with two models or more; got shape "
            f"{predictions.shape}."
        )
    y = check_numbers(y, "y", "finite numbers")
    n = predictions.shape[1]
    if y.shape != (n,):
        raise ValueError(f"y must be {n} numbers; got an array of shape {y.shape}.")
    alpha = _check_alpha(alpha, n)
    mean, spread = predictions.mean(axis=0), predictions.std(axis=0)
    endless = np.isinf(alpha)
    reach = np.where(endless, 0.0, alpha) * spread
    return np.where(endless | (np.abs(y - mean) <= reach), y, mean + np.sign(y - mean) * reach)


def _check_alpha(alpha, n):
    alpha = check_numbers(alpha, "alpha", "numbers of at least 0", 0, np.inf)
    if alpha.shape not in ((), (n,)):
        raise ValueError(f"alpha must be a number or {n} of them; got shape {alpha.shape}.")
    return alpha


def move_to_labels(proba, codes, alpha, spread):
    """Soft labels from answers of shape (n_models, n, n_classes) and the columns of the labels."""
    label = np.eye(proba.shape[2])[codes]
    alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), codes.shape)
    endless = np.isinf(alpha)
    targets = SPREADS[spread](proba, proba.mean(axis=0), label, np.where(endless, 0, alpha))
    return np.where(endless[:, None], label, targets)


def _part_of_way(numerator, denominator):
    """Return a quotient of at most 1, and 1 where the denominator is 0."""
    return np.divide(
        numerator, denominator, out=np.ones_like(denominator), where=numerator < denominator
    )


def _by_label(proba, mean, label, alpha):
    """Until the probability of the label has risen by ``alpha`` of its standard deviations."""
    own = label.argmax(axis=1)
    at_label = np.take_along_axis(proba, own[None, :, None], axis=2)[:, :, 0]
    spread, missing = at_label.std(axis=0), 1 - at_label.mean(axis=0)
    return mean + _part_of_way(alpha * spread, missing)[:, None] * (label - mean)


def _by_direction(proba, mean, label, alpha):
    """By ``alpha`` standard deviations of the answers' projections on the line to the label."""
    way = label - mean
    length = np.linalg.norm(way, axis=1)
    unit = way / np.where(length > 0, length, 1)[:, None]
    spread = np.einsum("kij,ij->ki", proba, unit).std(axis=0)
    return mean + _part_of_way(alpha * spread, length)[:, None] * way


def _by_coordinate(proba, mean, label, alpha):
    """Each class by ``alpha`` standard deviations of its own, cut to [0, 1] and normalized."""
    moved = np.clip(mean + alpha[:, None] * proba.std(axis=0) * (2 * label - 1), 0, 1)
    total = moved.sum(axis=1, keepdims=True)
    return np.where(total > 0, moved / np.where(total > 0, total, 1), label)


SPREADS = {"label": _by_label, "direction": _by_direction, "coordinate": _by_coordinate}
