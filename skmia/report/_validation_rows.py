"""Whether the held-out rows were the validation rows that ended the training of a model."""

import math

import numpy as np
from sklearn.metrics import mean_squared_error, roc_auc_score

from .._core.outputs import PREDICTIONS
from .._core.query import open_steps
from .._core.records import Records

# Share of the held-out rows that have to be validation rows.
_MANY = 0.5

# Boosters note scores in float32, or print them with six digits.
_SAME = 2e-5


def stops_on_held_out(case):
    """Return how it is known that training was stopped by the held-out rows, in words, or None."""
    if _are_given(case):
        return "they are among the validation rows that fit is given (fit_params)"
    if _are_of_net(case):
        return "they are among the validation rows of the net (train_split)"
    noted = _list_noted(case.victim)
    if not noted:
        return None
    own = (
        _measure_validation_side(case, ~case.membership),
        _measure_validation_side(case, case.membership),
    )
    for value in noted:
        near = [[math.isclose(value, one, rel_tol=_SAME) for one in side] for side in own]
        if any(near[0]) and not any(near[1]):
            return "the score that the model noted of its validation rows is theirs"
    return None


def _are_given(case):
    """Return whether validation rows in the parameters of fit are held-out rows."""
    given = case.request.fit_params
    return isinstance(given, dict) and _are_among(case, _list_validation_pairs(given))


def _are_among(case, pairs):
    """Return whether many of the held-out rows are among features and labels."""
    held_out = case.records.fingerprint[~case.membership]
    for X, y in pairs:
        try:
            prints = Records(X, y).fingerprint
        except Exception:  # of whatever kind: these are no rows and their labels
            continue
        if np.isin(held_out, prints).mean() >= _MANY:
            return True
    return False


def _are_of_net(case):
    """Return whether a net of skorch was stopped by a fixed set of validation rows like these."""
    net = open_steps(case.victim)[1]
    split = getattr(net, "train_split", None)
    data = getattr(split, "keywords", {}).get("valid_ds")  # of skorch.helper.predefined_split
    if data is None or not any(map(_chooses_epoch, getattr(net, "callbacks_", ()))):
        return False
    pair = getattr(data, "tensors", None) or (getattr(data, "X", None), getattr(data, "y", None))
    return len(pair) == 2 and _are_among(case, [pair])


def _chooses_epoch(entry):
    """Return whether a callback of a net chooses an epoch by what it reaches on validation rows."""
    _, callback = entry
    kinds = {base.__name__ for base in type(callback).__mro__}
    chooses = "Checkpoint" in kinds and getattr(callback, "load_best", False)
    monitor = getattr(callback, "monitor", None)
    of_training = isinstance(monitor, str) and monitor.startswith("train")
    return bool("EarlyStopping" in kinds or chooses) and not of_training


def _list_validation_pairs(given):
    """Features and labels that may be validation rows, by the parameters that packages have."""
    pairs = [(given["X_val"], given["y_val"])] if {"X_val", "y_val"} <= set(given) else []
    for name in ("eval_set", "validation_data", "valid_sets"):
        sets = given.get(name)
        sets = [sets] if isinstance(sets, tuple) else sets if isinstance(sets, list) else []
        pairs += [one for one in sets if isinstance(one, tuple | list) and len(one) == 2]
    return pairs


def _list_noted(model):
    """Return the scores of validation rows that a booster has noted.

    The best, and the last of each round.
    """
    _, model = open_steps(model)
    state = getattr(model, "__dict__", {})
    noted = [state.get(name) for name in ("best_score", "best_score_", "_best_score")]
    noted += [getattr(model, "best_score", None), getattr(model, "best_score_", None)]
    return [float(one) for one in _flatten_values(noted) if math.isfinite(one)]


def _flatten_values(values):
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, dict):
            yield from _flatten_values(value)
        elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
            yield float(value)


def _measure_validation_side(case, side):
    """Return the usual scores of the model on one side."""
    queried = case.queried[side]
    outputs, y = queried["outputs"], queried.y
    if outputs.kind in PREDICTIONS:
        values = np.asarray(outputs.values, dtype=float).reshape(y.shape)
        error = mean_squared_error(y, values)
        return [error, error**0.5, float(np.abs(values - y).mean())]
    if outputs.kind != "proba" or outputs.classes is None:
        return []
    labels = outputs.label_index(y)
    found = [-float(outputs.log_proba()[np.arange(len(y)), labels].mean())]
    if len(outputs.classes) == 2 and len(np.unique(labels)) == 2:
        found.append(roc_auc_score(labels, np.asarray(outputs.values)[:, 1]))
    return found
