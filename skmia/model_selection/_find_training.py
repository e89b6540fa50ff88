"""Which records a model of a search was trained on: what it remembers, or what it proves."""

import warnings
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.ensemble import AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._core.containers import as_rows
from .._core.copies import copy_unfitted
from .._core.foreign_words import describe_error
from .._core.hashing import hash_records
from .._core.query import query_victim, take_first_steps, unwrap
from .._core.randomness import preserved_randomness
from ..inspection import StatedRows, count_stated_rows
from ..victims import find_model, has_leaves, iter_leaves
from ._remember_training import RememberTraining

# Their trees are grown on rows that are drawn with repeats.
_REPEATING = AdaBoostRegressor, BaggingClassifier, BaggingRegressor

# Outputs that differ by less, relative to the largest one, were summed in another order.
_ROUNDING = 1e-6


def find_training(estimator, records, tested, sample_weight=None):
    """Return the bare model, and which records it was trained on; `tested` are the scored rows."""
    model, memory, seen = _find_memory(estimator, records)
    if memory is None:
        if sample_weight is not None and (np.asarray(sample_weight) == 0).any():
            raise _make_refusal(estimator, "rows with a sample weight of 0 are not trained on")
        return model, _prove_training(estimator, model, records, tested)
    check_is_fitted(memory)
    rows = memory.training_rows_
    others = ~np.isin(rows, seen)
    if others.any():
        around = "" if memory is estimator else ", and wrap the whole Pipeline in RememberTraining"
        raise ValueError(
            f"{others.sum()} of the {len(rows)} different rows that the model was trained on are "
            "not among the records of make_leakage_scorer; pass it the X and y of the "
            f"search{around}."
        )
    return model, np.isin(seen, rows)


def _find_memory(estimator, records):
    """Return the bare model, the estimator that remembers, and the records as that one saw them."""
    if isinstance(estimator, FrozenEstimator):
        return _find_memory(estimator.estimator, records)
    if hasattr(estimator, "best_estimator_"):
        return _find_memory(estimator.best_estimator_, records)
    if isinstance(estimator, RememberTraining):
        return getattr(estimator, "estimator_", None), estimator, records.fingerprint
    if isinstance(estimator, Pipeline) and isinstance(estimator.steps[-1][1], RememberTraining):
        name, last = estimator.steps[-1]
        check_is_fitted(last)
        model = deepcopy(estimator).set_params(**{name: last.estimator_})
        steps = take_first_steps(estimator)
        rows = as_rows(steps.transform(records.X)) if len(estimator) > 1 else records.X
        return model, last, hash_records(rows, records.y)
    return estimator, None, None


class _FoldSide(NamedTuple):
    """One of the two parts of the records: those outside of the scored fold, and those in it."""

    rows: np.ndarray  # positions
    is_larger: bool  # whether the other part has fewer


def _prove_training(estimator, model, records, tested):
    """Mark the records that a model which does not remember them was trained on."""
    check_is_fitted(model)
    if any(map(_is_frozen_model, [estimator, *estimator.get_params().values()])):
        raise _make_refusal(estimator, "it is in a FrozenEstimator, which no fold trains")
    # A scorer is called with a test fold, and the model was trained on all other records, or for a
    # training score with the training fold. Anything else cannot be proved.
    sides, stated = _divide_records(records, tested), _count_model_rows(model)
    rows = next((one.rows for one in sides if _states_rows(model, stated, records, one)), None)
    if rows is None:
        rows, reason = _compare_with_clones(model, stated, sides, records)
    if rows is None:
        raise _make_refusal(estimator, reason)
    return np.isin(records.fingerprint, records.fingerprint[rows])


def _states_rows(model, stated, records, side):
    """Return whether a model states that it was trained on all rows of the larger side.

    Folds are disjoint, and a number in which no row counts twice is at most that of the training
    rows. If it is that of the larger side, these are the rows, unless a fold repeats some. A sum
    of weights can be anything, unless all leaves hold as many rows as it says.
    """
    n_rows = len(side.rows)
    if not side.is_larger or n_rows not in stated:
        return False
    fits = _compare_leaves(model, records, side)
    return fits == "equal" or (n_rows == stated.n_sure and fits != "contradicts")


def _is_frozen_model(value):
    return isinstance(value, FrozenEstimator) and hasattr(value, "predict")


def _divide_records(records, tested):
    """Return the records outside of the scored fold and those in it, if they are any.

    Of equal records, as many are in the fold as are scored.
    """
    known = pd.Series(records.fingerprint)
    n_scored = known.map(pd.Series(tested.fingerprint).value_counts()).fillna(0)
    scored = (known.groupby(known).cumcount() < n_scored).to_numpy()
    sides = np.flatnonzero(~scored), np.flatnonzero(scored)
    smallest = min(map(len, sides))
    return [_FoldSide(rows, len(rows) > smallest) for rows in sides if len(rows)]


def _count_model_rows(model):
    """Return the numbers of training rows that a model states."""
    try:
        return count_stated_rows(model)
    except Exception:  # of whatever kind: the attributes are those of other packages and of users
        return StatedRows(None, None)


def _compare_with_clones(model, stated, sides, records):
    """Return the side on which a clone becomes the model and None, or None and why none does."""
    outputs, reasons = query_victim(model, records.X), []
    for side in sides:
        try:
            clone = _train_clone(model, records[side.rows])
            is_same = _are_same(outputs, query_victim(clone, records.X))
            by_clone = _count_model_rows(clone)
            # Early stopping and samples make a model state fewer rows, and a clone of it as few.
            # A sum, in which rows can count twice, is of these rows if its means are as well.
            is_as_many = side.is_larger and stated.n_rows is not None and stated == by_clone
            is_known = is_same or (
                is_as_many
                and (stated.n_sure is not None or _scale_alike(model, clone, records))
                and _compare_leaves(model, records, side) != "contradicts"
            )
        except Exception as error:  # of whatever kind: the estimators are those of users
            reasons.append(f"a clone of it cannot be trained ({describe_error(error)})")
            continue
        if is_known:
            return side.rows, None
        counts = stated.n_rows, by_clone.n_rows
        reasons.append(_describe_difference(model, len(side.rows), *counts))
    return None, reasons[0]


def _compare_leaves(model, records, side):
    """Compare the rows that each leaf of a model of trees states with those of a side.

    A sample of the rows leaves some out of a leaf and adds none, unless it repeats them.

    Return fits: "equal", "fewer", "contradicts" if a leaf has more; None if no leaf tells.
    """
    if isinstance(find_model(model)[0], _REPEATING) or not has_leaves(model):
        return None
    least, most = np.inf, -np.inf
    try:
        for leaves in iter_leaves(model, records.X):
            places, found = np.unique(leaves.places[side.rows], return_counts=True)
            # A tree without a split states the number of all rows again.
            if leaves.counts is not None and len(places) > 1:
                beyond = leaves.counts[places] - found
                least, most = min(least, beyond.min()), max(most, beyond.max())
            if most > 0:
                return "contradicts"
    except Exception:  # of whatever kind: the steps before the trees are those of users
        return None
    return None if least == np.inf else "fewer" if least < 0 else "equal"


def _scale_alike(model, clone, records):
    """Return whether the steps before the last one of a Pipeline learned the same means."""
    if not isinstance(model, Pipeline) or len(model) < 2:
        return False
    tables = [take_first_steps(one).transform(records.X) for one in (model, clone)]
    own, others = (one.toarray() if sparse.issparse(one) else np.asarray(one) for one in tables)
    return np.allclose(own, others, rtol=_ROUNDING, equal_nan=True)


def _describe_difference(model, n_rows, count, count_of_clone):
    """Say how a model differs from a clone that was trained on the records outside of a fold."""
    trained = f"that is trained on the {n_rows} records outside of the scored fold"
    if None not in (count, count_of_clone) and count != count_of_clone:
        return f"it states {count} training rows, and a clone states {count_of_clone} {trained}"
    seeds = [(name, value) for name, value in model.get_params().items() if "random_state" in name]
    unseeded = next((f" and with {name}=None" for name, value in seeds if value is None), "")
    settings = f"in their order, without further parameters of fit{unseeded}"
    return f"a clone {trained}, {settings}, predicts otherwise"


def _train_clone(model, records):
    """Train a clone of a model on records."""
    clone = copy_unfitted(model)
    with preserved_randomness(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model itself has warned
        return clone.fit(records.X) if records.y is None else clone.fit(records.X, records.y)


def _are_same(outputs, others):
    """Return whether two models make the same predictions."""
    if outputs.kind != others.kind or outputs.values.shape != others.values.shape:
        return False
    if outputs.kind == "label":
        return np.array_equal(outputs.values, others.values)
    size = np.abs(outputs.values).max()
    return np.allclose(outputs.values, others.values, rtol=_ROUNDING, atol=_ROUNDING * size)


def _make_refusal(estimator, reason):
    name = type(unwrap(estimator)).__name__
    return ValueError(
        f"make_leakage_scorer cannot know which records the model was trained on: {reason}. Search "
        f"over RememberTraining({name}(...)), whose parameters are named estimator__<name>; it "
        "remembers them in learning curves, successive halving and splits of any kind."
    )
