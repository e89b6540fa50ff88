"""Scores of shadow models that were computed elsewhere."""

import numpy as np

from .._core.numbers import check_number, to_array


def check_scores(scores, membership, n_records, resolution):
    """Check the arguments of ``ShadowPool.from_scores``.

    Parameters
    ----------
    scores, membership : array-like of shape (n_estimators, n_records)
        Scaled logits and training sets.
    n_records : int
        Number of records.
    resolution : object
        Resolution as passed by the user.

    Returns
    -------
    scores, membership : ndarray of shape (n_estimators, n_records)

    Raises
    ------
    ValueError
        If an argument is invalid.
    """
    if not isinstance(resolution, str) or resolution != "auto":
        check_number(resolution, "resolution", '"auto" or a finite number of at least 0', 0)
    must = "be an array with one row for each model"
    scores = to_array(scores, "scores", must)
    membership = to_array(membership, "membership", must)
    if scores.ndim != 2 or scores.shape[1] != n_records or membership.shape != scores.shape:
        raise ValueError(
            f"scores and membership need the shape (n_estimators, {n_records}); "
            f"got {scores.shape} and {membership.shape}."
        )
    if scores.dtype.kind not in "biuf":
        raise ValueError(f"scores must hold numbers; got an array of {scores.dtype}.")
    if membership.dtype.kind not in "biuf":
        raise ValueError(f"membership must hold 0 and 1; got an array of {membership.dtype}.")
    if np.isnan(scores).any():
        raise ValueError(
            f"scores holds {np.isnan(scores).sum()} NaN; every model must score every record."
        )
    if not np.isin(membership, (0, 1)).all():
        raise ValueError("membership must be 1 where a model was trained on the record, else 0.")
    return scores, membership
