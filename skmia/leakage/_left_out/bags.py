"""Forests and bagging: members that have not seen a record vote without it."""

import numpy as np
from sklearn.base import is_classifier

from .sides import sides_of_proba, sides_of_residuals


def why_not_bags(model, n_records):
    """Why the votes of a fitted ensemble cannot be parted, or None."""
    if not model.bootstrap:
        return "bootstrap=False, so that each of its members may have seen every record"
    samples = model.estimators_samples_
    takes_all = model.max_samples is None or model.max_samples == 1.0
    if (takes_all and len(samples[0]) != n_records) or max(map(np.max, samples)) >= n_records:
        return f"it was fitted on another number of records than {n_records}"
    return None


def leave_out_of_bags(model, X, y):
    """Answers of all members, and of those that were trained without the record.

    Parameters
    ----------
    model : fitted forest or bagging ensemble
    X : ndarray of shape (n, n_features)
        Training rows, in the order of ``fit``.
    y : ndarray of shape (n,)
        Numbers of classes, or targets.

    Returns
    -------
    sides : Sides
    """
    total, count = np.zeros(len(X)), np.zeros(len(X))
    of_all = np.zeros(len(X))
    features = getattr(model, "estimators_features_", [slice(None)] * len(model.estimators_))
    for member, rows, columns in zip(
        model.estimators_, model.estimators_samples_, features, strict=True
    ):
        answer = _answer(model, member, X[:, columns], y)
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


def _answer(model, member, X, y):
    """Prediction of one member, or its probability of the label."""
    if not is_classifier(model):
        return member.predict(X)
    if not hasattr(member, "predict_proba"):
        return (member.predict(X) == y).astype(float)
    proba = member.predict_proba(X)
    # A member whose rows lack a class gives it no column.
    known = np.asarray(member.classes_).astype(np.intp)
    place = np.searchsorted(known, y)
    has_label = known[np.minimum(place, len(known) - 1)] == y
    rows = np.arange(len(y))
    return np.where(has_label, proba[rows, np.minimum(place, len(known) - 1)], 0.0)
