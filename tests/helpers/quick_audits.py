"""Small models in the parts of an audit that train most, for tests of other things."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.report import _surrogate, positive_control
from skmia.report._permutations import count_permutations
from skmia.report.checks import _control

_BOOSTINGS = HistGradientBoostingClassifier, HistGradientBoostingRegressor


def shrink_models(monkeypatch):
    """Use fewer trees, splits, permutations of groups, queries, and attacks in the control."""
    for kinds in ("_CLASSIFIERS", "_REGRESSORS"):
        smaller = tuple(map(shrink_forest, getattr(_surrogate, kinds)))
        monkeypatch.setattr(_surrogate, kinds, smaller)
    sizes = {0: {"n_estimators": 20, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)
    monkeypatch.setattr(_control, "positive_control", control_by_loss)
    comparison = partial(DisparityTest, n_permutations=199)
    monkeypatch.setattr("skmia.report._examine.DisparityTest", comparison)
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
    """Return a model as it is, and a forest or a boosting of 100 trees with 10."""
    names = {"n_estimators", "max_iter"} & set(model.get_params())
    is_of_trees = "n_estimators" in names or isinstance(model, _BOOSTINGS)
    return clone(model).set_params(**dict.fromkeys(names, 10)) if is_of_trees else model


def shrink_models_of_tables(monkeypatch):
    """Use fewer trees to tell synthetic rows from others and two tables apart, and fewer draws."""
    monkeypatch.setattr("skmia.synthetic._generator_attack._N_TREES", 20)
    forest = {"n_estimators": 30, "min_samples_leaf": 5}
    monkeypatch.setattr("skmia.synthetic._table._audit._FOREST", forest)
    monkeypatch.setattr("skmia.synthetic._table._audit._N_DRAWS", 50)
    monkeypatch.setattr("skmia.synthetic._table._measure._N_DRAWS", 25)
    sizes = {0: {"n_estimators": 20, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)


def permute_no_table(monkeypatch):
    """Permute rows of tables nine times, for tests of numbers other than p-values."""
    permutations = "skmia.synthetic._table._measure.count_table_permutations"
    monkeypatch.setattr(permutations, lambda n_numbers, alpha: 9)


def permute_less(monkeypatch):
    """Permute membership 199 times, which decides all but numbers that are close to chance."""
    monkeypatch.setattr("skmia.report.checks._permutation.count_permutations", count_few)


def count_few(confidence_level):
    """Return 199 at 95%, with which a two-sided p-value can fall to 1%."""
    wanted = count_permutations(confidence_level)
    return 199 if confidence_level <= 0.95 else wanted


def control_by_loss(records, membership, **settings):
    """Attack the model of the positive control by its loss alone, which needs no shadow models."""
    attack_control = _control.attack_control

    def attack_by_loss(kind, victim, records, membership, attacks, *others):
        attacks = {"threshold (loss)": ThresholdAttack()}
        return attack_control(kind, victim, records, membership, attacks, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_control, "attack_control", attack_by_loss)
        return positive_control(records, membership, **settings)
