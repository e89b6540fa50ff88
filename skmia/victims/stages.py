"""Answers of the earlier rounds of a boosted model."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from .._core.asking import CHUNK, check_victim, unwrap
from .._core.containers import take_rows
from .._core.outputs import Outputs


def query_stages(victim, X, n_stages):
    """Return the outputs of a boosted model after equal shares of its rounds.

    Parameters
    ----------
    victim : fitted estimator
        Boosted trees of scikit-learn or XGBoost, also at the end of a Pipeline.
    X : array-like of n rows
        Rows in the form that the victim expects.
    n_stages : int
        Number of shares; the last stage is the whole model.

    Returns
    -------
    stages : list of Outputs
        As many as ``n_stages``; with fewer rounds, some are equal.

    Raises
    ------
    TypeError
        If the victim is not trained in rounds.
    """
    model, steps = unwrap(check_victim(victim)), []
    while isinstance(model, Pipeline):
        steps += [model[:-1]] if len(model) > 1 else []
        model = unwrap(model[-1])
    parts = []
    for rows in gen_batches(X.shape[0], CHUNK):
        part = take_rows(X, rows)
        for step in steps:
            part = step.transform(part)
        parts.append(_ask(model, part, n_stages))
    return [Outputs.concat(of_stage) for of_stage in zip(*parts, strict=True)]


def _ask(model, X, n_stages):
    by_value = is_regressor(model)
    if hasattr(model, "get_booster"):
        n_rounds = _count_rounds_of_xgboost(model)
        ask = model.predict if by_value else model.predict_proba
        found = {k: ask(X, iteration_range=(0, k)) for k in _share(n_rounds, n_stages)}
    else:
        name = "staged_predict" if by_value else "staged_predict_proba"
        if not hasattr(model, name):
            raise TypeError(
                f"{type(model).__name__} has no rounds to read; the boosted trees of scikit-learn "
                "and XGBoost have, and of other models checkpoints can be given."
            )
        n_rounds = sum(1 for _ in getattr(model, name)(take_rows(X, slice(1))))
        wanted = set(_share(n_rounds, n_stages))
        rounds = enumerate(getattr(model, name)(X), 1)
        found = {k: np.array(answers) for k, answers in rounds if k in wanted}
    classes, kind = (None, "value") if by_value else (model.classes_, "proba")
    return [Outputs(found[k], classes, kind) for k in _share(n_rounds, n_stages)]


def _share(n_rounds, n_stages):
    return [-(-k * n_rounds // n_stages) for k in range(1, n_stages + 1)]


def _count_rounds_of_xgboost(model):
    """Number of rounds that XGBoost predicts with: up to the best one if it stopped early."""
    try:
        return model.best_iteration + 1
    except AttributeError:
        return model.get_booster().num_boosted_rounds()
