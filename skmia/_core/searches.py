"""Scores of the candidates of a search, which are NaN where a fit or a score has failed."""

import warnings

import numpy as np

from .callers import level_of_user


def mark_scored(scores):
    """Mark the candidates that have all scores, warn of the others, and raise if there are none."""
    failed = np.isnan(list(scores.values()))
    is_scored, n_candidates = ~failed.any(axis=0), failed.shape[1]
    if is_scored.all():
        return is_scored
    names = " and no ".join(name for name, row in zip(scores, failed, strict=True) if row.any())
    why = f"have no {names}, because a fit or a scorer failed in one of the folds"
    cure = "Give the search error_score='raise' to see the reason."
    if not is_scored.any():
        raise ValueError(f"All {n_candidates} candidates of the search {why}. {cure}")
    some = f"{np.count_nonzero(~is_scored)} of {n_candidates} candidates of the search, first"
    message = f"{some} number {np.argmin(is_scored)}, {why}, and are left out. {cure}"
    warnings.warn(message, stacklevel=level_of_user())
    return is_scored
