"""Checks of the input of membership metrics."""

from collections.abc import Mapping

import numpy as np

from .numbers import check_number, show, to_array

# Rates are counts over counts, so two different ones differ by far more than this; it only keeps
# a bound such as 1 - 0.9 from excluding the rate 10/100 that it means. Means of rates are alike.
RATE_TOLERANCE = 1e-12


def _as_vector(values, name):
    array = to_array(values, name, "hold one value for each record")
    if array.dtype.kind == "O":
        array = to_array(array.tolist(), name, "hold one value for each record")
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}.")
    return array


def check_bits(values, name):
    """Return a vector of membership bits as booleans, or say which value is not a bit."""
    array = _as_vector(values, name)
    if array.dtype.kind == "b":
        return array
    allowed = f"{name} must hold 1 for members and 0 for non-members"
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{allowed}; got dtype {array.dtype}.")
    foreign = array[(array != 0) & (array != 1)]
    if len(foreign):
        raise ValueError(f"{allowed}; got the value {foreign[0]}.")
    return array == 1


def _check_both_classes(membership):
    n_members, n = int(membership.sum()), len(membership)
    if 0 < n_members < n:
        return
    held = "no records" if n == 0 else "members only" if n_members else "non-members only"
    raise ValueError(
        f"y_true must hold both members and non-members; got {held} (n = {n}). In a "
        "cross-validation, take folds that hold both, such as StratifiedKFold."
    )


def _check_same_length(membership, other, name):
    if len(membership) != len(other):
        raise ValueError(
            f"y_true and {name} must have equal lengths; got {len(membership)} and {len(other)}."
        )


def check_membership_predictions(y_true, y_pred):
    """Return membership and hard predictions as two boolean vectors of equal length."""
    membership, predicted = check_bits(y_true, "y_true"), check_bits(y_pred, "y_pred")
    _check_same_length(membership, predicted, "y_pred")
    _check_both_classes(membership)
    return membership, predicted


def check_finite_vector(values, name):
    """Return a vector of finite real numbers, or say which entry is not one."""
    array = _as_vector(values, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {array.dtype}.")
    # Half precision has no fast sort and longer types no ranks in scipy; float64 keeps every tie.
    array = array.astype(np.float64, copy=False)
    if len(array) and not np.isfinite([array.min(), array.max()]).all():  # NaN is both
        bad = np.flatnonzero(~np.isfinite(array))
        cure = "" if np.isnan(array).any() else " np.nan_to_num keeps the order of infinite ones."
        raise ValueError(f"{name} must be finite; got {array[bad[0]]} at position {bad[0]}.{cure}")
    return array


def check_membership_scores(y_true, y_score):
    """Return membership as booleans and scores as finite float64, of equal length."""
    membership, scores = check_bits(y_true, "y_true"), check_finite_vector(y_score, "y_score")
    _check_same_length(membership, scores, "y_score")
    _check_both_classes(membership)
    return membership, scores


def check_pos_label(y_true, pos_label):
    """Return which records have the label of members; without a label, membership as it is."""
    if pos_label is None:
        return y_true
    labels = _as_vector(y_true, "y_true")
    if not np.isin(pos_label, labels):
        known = ", ".join(map(repr, np.unique(labels)[:8].tolist()))
        raise ValueError(
            f"pos_label must be a value of y_true, the one of members; y_true has {known}, got "
            f"{show(pos_label)}."
        )
    return labels == pos_label


def check_judged(judged, names, n_records):
    """Return by name a mask of the records that an attack can judge; None for all of them."""
    if judged is None:
        return None
    if not isinstance(judged, Mapping) or not all(name in judged for name in names):
        raise ValueError("judged must map each name in scores to a mask of records.")
    masks = {name: to_array(judged[name], f"judged[{name!r}]") for name in names}
    for name, mask in masks.items():
        if mask.dtype != bool or mask.shape != (n_records,):
            raise ValueError(f"judged[{name!r}] must be a boolean mask of {n_records} records.")
    return masks


def check_record_weights(sample_weight, n_records):
    """Return a number of 0 or more for each record."""
    weights = check_finite_vector(sample_weight, "sample_weight")
    if len(weights) != n_records or (weights < 0).any():
        raise ValueError(
            f"sample_weight must hold one number of 0 or more for each of {n_records} records; got "
            f"shape {weights.shape} and a smallest value of {weights.min(initial=np.inf):g}."
        )
    return weights


def check_weights(sample_weight, membership):
    """Return non-negative weights that leave some weight on members and on non-members."""
    if sample_weight is None:
        return np.ones(len(membership))
    weights = check_finite_vector(sample_weight, "sample_weight")
    _check_same_length(membership, weights, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be non-negative; got {weights.min()}.")
    for group, name in ((membership, "members"), (~membership, "non-members")):
        if not weights[group].any():
            raise ValueError(f"sample_weight must be positive for some {name}; got only zeros.")
    return weights


def check_rate(value, name):
    """Return a rate, a number in [0, 1]."""
    return float(check_number(value, name, "a fraction in [0, 1], not percent", 0, 1))


def check_fpr_resolution(values, name):
    """Return false positive rates that records can resolve: one or more, each in (0, 1]."""
    array = to_array(values, name, "hold one or more rates")
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"{name} must hold at least one rate; got {show(values)}.")
    rates = [check_rate(value, name) for value in np.atleast_1d(array).tolist()]
    if 0 in rates:
        raise ValueError(
            f"{name} must be above 0: no number of non-members resolves a false positive rate of 0."
        )
    return list(dict.fromkeys(rates))


def check_confidence_level(value):
    """Return a confidence level, a number strictly between 0 and 1.

    Below it, 1 - level is 1, and the search for a bound has no end.
    """
    low, high = np.finfo(np.float64).eps, np.nextafter(1, 0)
    return float(check_number(value, "confidence_level", "a fraction in (0, 1)", low, high))


def check_option(value, name, options):
    """Return a value that is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, options))}; got {show(value)}."
        )
    return value


def refuse_other_choice(name, choice, owners, given):
    """Refuse parameters that were given and that only another choice takes."""
    for parameter, value in given.items():
        if value is not None and owners[parameter] != choice:
            raise ValueError(
                f"{parameter} is only taken with {name}={owners[parameter]!r}; got it with "
                f"{name}={choice!r}."
            )


def get_judged(attack, records):
    """Return which records a fitted attack can judge; all if it does not say.

    Records can also be rows of features, of a classifier that is no attack.
    """
    can_judge = getattr(attack, "can_judge", None)
    if can_judge is not None:
        return can_judge(records)
    n_records = records.shape[0] if hasattr(records, "shape") else len(records)
    return np.ones(n_records, dtype=bool)
