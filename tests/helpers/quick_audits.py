"""Small models in the parts of an audit that train most, for tests of other things."""

from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from skmia.report import positive_control


def shrink_models(monkeypatch):
    """Use fewer trees, models in the positive control, splits, folds and confidences of queries."""
    sizes = {0: {"n_estimators": 20, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)
    control = partial(positive_control, shadows=4)
    monkeypatch.setattr("skmia.report.checks._control.positive_control", control)
    monkeypatch.setattr("skmia.report.checks._drift._N_SPLITS", 1)
    monkeypatch.setattr("skmia.attacks._stacked._N_FOLDS", 2)

    queries = "skmia.attacks._transferred_query"
    monkeypatch.setattr(f"{queries}._CONFIDENCES", np.arange(1, 10) / 10)
    monkeypatch.setattr(f"{queries}._N_VICTIMS", 3)
    monkeypatch.setattr(f"{queries}._N_RECORDS", 100)

    def boost(max_iter, **settings):
        return HistGradientBoostingClassifier(max_iter=5, **settings)

    monkeypatch.setattr("skmia.attacks._stack_models.HistGradientBoostingClassifier", boost)
    boosted = partial(HistGradientBoostingClassifier, max_iter=10)
    monkeypatch.setattr("skmia.attacks._shadow.HistGradientBoostingClassifier", boosted)
