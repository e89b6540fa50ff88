"""Checks of what users pass, shared by all estimators."""

from contextlib import suppress

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .numbers import as_series, show, to_array
from .query import check_victim, refuse_other_than_records, unwrap
from .records import get_features, order_by_names


def check_records(records, *, labels=True, targets=False):
    """Check that the input is a non-empty set of records, and of what kind their labels are.

    targets says whether y may have several columns, of a regressor of several targets.
    """
    refuse_other_than_records(records)
    if len(records) == 0:
        raise ValueError("Expected at least 1 record; got 0.")
    if labels and records.y is None:
        raise ValueError(
            "The records carry no task labels; give them as Records(X, y), or Records.from_ids for "
            "scores of models that know no labels."
        )
    if not targets and np.ndim(records.y) == 2:
        raise ValueError(say_one_label(records))
    return records


_FEATURES = ("n_features_in_", "feature_names_in_")


def forget_features(estimator):
    """Remove what an earlier fit has set with :func:`set_features`."""
    for name in _FEATURES:
        vars(estimator).pop(name, None)


def set_features(estimator, records):
    """Set how many features records have, and their names, as scikit-learn does."""
    forget_features(estimator)
    for name, value in zip(_FEATURES, get_features(records), strict=True):
        if value is not None:
            setattr(estimator, name, value)


def check_features(estimator, records):
    """Check that the estimator is fitted, and to as many features as the records have."""
    check_is_fitted(estimator)
    known, got = vars(estimator).get("n_features_in_"), get_features(records)[0]
    if None not in (known, got) and known != got:
        raise ValueError(
            f"X has {got} features, but {type(estimator).__name__} is expecting {known} features "
            "as input, those of the records that fit was given."
        )
    return records


def order_features(estimator, records):
    """Check features, and return records with the columns of a table in the order of ``fit``."""
    records = check_features(estimator, records)
    return order_by_names(records, vars(estimator).get("feature_names_in_"))


def check_width(model, records):
    """Check that records have as many features as a model that is read, which refuses no number.

    Columns that are known by their names are left to those who take them by names.
    """
    model, (got, names) = unwrap(model), get_features(records)
    known = getattr(model, "n_features_in_", None) or None  # 0 of CatBoost's models from files
    is_named = names is not None and hasattr(model, "feature_names_in_")
    if None not in (known, got) and known != got and not is_named:
        raise ValueError(
            f"X has {got} features, but {type(model).__name__} was fitted with {known} features."
        )


def say_one_label(records, reader="This"):
    """Say that a part of the package takes records with one task label."""
    return (
        f"{reader} takes records with one task label, and y has {records.y.shape[1]} columns. "
        "LiRA, RMIA, CalibratedAttack, StackedAttack and ThresholdAttack read several targets; "
        "for one of them, store its predictions: Records(X, y[:, k], "
        "outputs=Outputs(model.predict(X)[:, k], kind='value'))."
    )


def check_membership(membership, n_records):
    """Check the membership of each record and return it as a boolean array."""
    must = f"hold one value for each of {n_records} records"
    membership = to_array(membership, "membership", must)
    if membership.shape != (n_records,):
        raise ValueError(
            f"membership needs one value for each of {n_records} records; "
            f"got shape {membership.shape}."
        )
    missing = pd.isna(membership)
    if missing.any():
        raise ValueError(
            f"membership has no value for {missing.sum()} of {n_records} records, first at "
            f"position {missing.argmax()}."
        )
    if membership.dtype.kind not in "biuf":  # numbers of a nullable column
        membership = as_series(membership, infers=True).to_numpy()
    is_number = membership.dtype.kind in "biuf"
    values = pd.unique(membership) if is_number else membership  # other cells may not be comparable
    are_allowed = membership.dtype == bool or (is_number and np.isin(values, (0, 1)).all())
    if not are_allowed:
        raise ValueError(
            "membership must be 1 for members and 0 for non-members; got the values "
            f"{', '.join(map(show, values[:5].tolist()))}{', ...' if len(values) > 5 else ''}"
            f"{_propose_comparison(values)}."
        )
    if len(values) == 0:
        raise ValueError("membership is empty.")
    if len(values) < 2:
        kind = "non-members" if values[0] == 1 else "members"
        raise ValueError(f"membership holds one class only: the records contain no {kind}.")
    return membership != 0


def _propose_comparison(values):
    """Return how membership is made of two other values."""
    with suppress(TypeError):  # values of any kind
        found = sorted(set(values.tolist()))
        if len(found) == 2:
            first, second = map(show, found)
            return f"; write membership == {first}, or == {second}, by the value of the members"
    return ""


def check_outputs_source(victim):
    """Check the ``victim`` parameter: a fitted model, or None for stored outputs."""
    if victim is not None:
        check_victim(victim)


def require_victim(victim, who, needed="the victim itself"):
    """Refuse None in the place of the victim, where stored outputs do not tell what is asked."""
    if victim is None:
        raise ValueError(f"{who} needs {needed}; stored outputs are not enough.")


def check_sides(records, membership, **kinds):
    """Check records and return the membership of each as a boolean array."""
    check_records(records, **kinds)._warn_of_rows({"membership": membership})
    return check_membership(membership, len(records))


def refuse_nan(scores, what="The victim's answers"):
    """Raise an error if a score is NaN, so that no estimator returns NaN; infinite scores stay."""
    bad = np.isnan(scores)
    if bad.any():
        rows = bad if bad.ndim == 1 else bad.any(axis=1)
        raise ValueError(
            f"{what} give no score for {rows.sum()} of {len(rows)} records, "
            f"first at position {rows.argmax()}."
        )
    return scores


def call_given(function, name, form, *arguments):
    """Call a function of users, and say how it is called if it cannot be called so."""
    try:
        return function(*arguments)
    except TypeError as error:
        if error.__traceback__.tb_next is not None:  # raised inside the function
            raise
        raise TypeError(
            f"{name} must be a function that is called as {form}; got {show(function)}: {error}"
        ) from error
