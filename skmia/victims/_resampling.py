"""What the steps of a Pipeline make of the training rows: some, repeated, or new ones."""

import numpy as np
from sklearn.preprocessing import TargetEncoder

from .._core.query import unwrap

# What a step makes of the training rows: it selects some, repeats some, or makes new ones.
SELECTS, REPEATS, MAKES = "selects", "repeats", "makes"


# A TargetEncoder encodes each training row by the targets of the other folds alone.
BY_FOLDS = "its features were encoded by TargetEncoder, which encodes training rows by folds"


def encodes_by_folds(step):
    """Whether a step, or one inside it, gives training rows other features than it gives later."""
    step = unwrap(step)
    if isinstance(step, TargetEncoder):
        return True
    inside = (getattr(step, name, ()) for name in ("steps", "transformers_", "transformer_list"))
    return any(encodes_by_folds(part[1]) for parts in inside for part in parts)


def is_sampler(step):
    """Return whether a step of a Pipeline changes the training rows, and no others."""
    return hasattr(step, "fit_resample")


def judge_sampler(sampler):
    """Return whether a fitted sampler selects, repeats or makes rows.

    The last if it is not known.
    """
    chosen = getattr(sampler, "sample_indices_", None)
    if chosen is None:
        return MAKES
    return SELECTS if len(np.unique(chosen)) == len(chosen) else REPEATS


def why_not_resampled(model, *, repeats=False):
    """Return the reason why the training rows of a model are not records, or None."""
    model = unwrap(model)
    if hasattr(model, "best_estimator_"):
        return why_not_resampled(model.best_estimator_, repeats=repeats)
    for _, step in getattr(model, "steps", ()):
        if encodes_by_folds(step):
            return BY_FOLDS
        kind = judge_sampler(step) if is_sampler(step) else SELECTS
        if kind == MAKES:
            return f"the step {type(step).__name__} adds training rows that are not records"
        if kind == REPEATS and not repeats:
            return f"the step {type(step).__name__} repeats training rows"
    return None
