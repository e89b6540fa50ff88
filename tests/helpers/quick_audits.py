"""Small models in the parts of an audit that train most, for tests of other things."""

from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from skmia.report import _surrogate, positive_control


def shrink_models(monkeypatch):
    """Use fewer trees, models in the positive control, splits, folds and confidences of queries."""
    for kinds in ("_CLASSIFIERS", "_REGRESSORS"):
        smaller = tuple(map(shrink_forest, getattr(_surrogate, kinds)))
        monkeypatch.setattr(_surrogate, kinds, smaller)
    sizes = {0: {"n_estimators": 20, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)
    control = partial(positive_control, shadows=4)
    monkeypatch.setattr("skmia.report.checks._control.positive_control", control)
    monkeypatch.setattr("skmia.report.checks._drift._N_SPLITS", 1)
    monkeypatch.setattr("skmia.attacks._stacked._N_FOLDS", 2)

    # The stack is then one of its single scores, the regression or what joins both.
    candidates = "skmia.attacks._stack_models.StackCandidates"
    monkeypatch.setattr(f"{candidates}._add_trees", lambda candidates, trees: None)

    queries = "skmia.attacks._transferred_query"
    monkeypatch.setattr(f"{queries}._CONFIDENCES", np.arange(1, 10) / 10)
    monkeypatch.setattr(f"{queries}._N_VICTIMS", 3)
    monkeypatch.setattr(f"{queries}._N_RECORDS", 100)

    boosted = partial(HistGradientBoostingClassifier, max_iter=10)
    monkeypatch.setattr("skmia.attacks._shadow.HistGradientBoostingClassifier", boosted)


def shrink_forest(model):
    """Return a model as it is, and a forest of 100 trees with 10."""
    settings = model.get_params()
    return clone(model).set_params(n_estimators=10) if "n_estimators" in settings else model
