"""How many training rows a model says that it was fitted on."""

from numbers import Real

import numpy as np

from ..victims.resampling import SELECTS, is_sampler, judge_sampler
from ._stored import is_fitted

# What estimators note in whole numbers, some of them for each column.
_NOTED = ("n_samples_fit_", "n_samples_seen_", "n_samples_", "_n_samples")
# Arrays with one row, or one entry, for each training row.
_EACH = {
    "rows": {"_fit_X", "X_train_", "X_fit_", "X_", "_raw_data", "data"},
    "per-record": {"labels_"},
}
# Arrays of nodes whose first one is the root.
_ROOTS = {"['n_node_samples']", "['count']", "['internal_count']"}
# Numbers of rows in all leaves of a tree of CatBoost.
_LEAVES = "['leaf_weights']"


def count_training_rows(owned, estimators):
    """The largest number of training rows that a part of a model states, or None.

    Parts that were fitted on a share of the rows, such as models of a cross-validation or trees on
    samples, state a smaller one. It is None if a sampler of imbalanced-learn has repeated rows, or
    made new ones, because other parts count them.

    Parameters
    ----------
    owned : list of OwnedArray
    estimators : tuple of StoredEstimator
    """
    if any(is_sampler(one.estimator) and _adds_rows(one.estimator) for one in estimators):
        return None
    stated = [_read_array(one.stored, one.kind) for one in owned]
    stated += [_read_notes(one.estimator) for one in estimators]
    return max((int(one) for one in stated if one), default=None)


def _adds_rows(sampler):
    """Whether other parts may count rows that a fitted sampler repeated or made."""
    return is_fitted(sampler) and judge_sampler(sampler) != SELECTS


def _read_array(stored, kind):
    name = stored.path.rpartition(".")[2]
    if name in _EACH.get(kind, ()):
        return stored.array.shape[0]
    if name == "class_count_" or stored.path.endswith(_LEAVES):
        return _as_count(stored.array.sum())
    is_root = any(stored.path.endswith(one) for one in _ROOTS)
    return _as_count(stored.array.ravel()[0]) if is_root else 0


def _read_notes(estimator):
    state = getattr(estimator, "__dict__", {})
    noted = [np.max(np.asarray(state[one])) for one in _NOTED if _is_noted(state.get(one))]
    shape = state.get("shape_fit_")  # of a support vector machine
    noted += list(shape[:1]) if isinstance(shape, tuple) else []
    if _is_noted(state.get("t_")) and _is_noted(state.get("n_iter_")) and state["n_iter_"]:
        noted.append(_count_by_epochs(estimator, state))
    return max(map(_as_count, noted), default=0)


def _is_noted(value):
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number or (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size)


def _count_by_epochs(estimator, state):
    """Stochastic gradients count their steps: one for each row in each epoch."""
    first = 0 if hasattr(estimator, "coefs_") else 1
    return (np.max(state["t_"]) - first) / np.max(state["n_iter_"])


def _as_count(number):
    """A number as a count of rows, or 0 if it is none."""
    if not isinstance(number, Real) or not np.isfinite(number) or not 0 < number < 2**63:
        return 0
    return int(number) if number == int(number) else 0
