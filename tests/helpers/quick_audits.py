"""Small models in the parts of an audit that train most, for tests of other things."""

from functools import partial

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier


def shrink_models(monkeypatch):
    """Use fewer trees in the baseline, ShadowAttack and StackedAttack, fewer splits and folds."""
    trees = ExtraTreesClassifier(20, min_samples_leaf=5)
    monkeypatch.setattr("skmia._core.blind._MODEL", trees)
    monkeypatch.setattr("skmia.report.checks._drift._N_SPLITS", 1)
    monkeypatch.setattr("skmia.attacks._stacked._N_FOLDS", 2)

    def boost(max_iter, **settings):
        return HistGradientBoostingClassifier(max_iter=5, **settings)

    monkeypatch.setattr("skmia.attacks._stack_models.HistGradientBoostingClassifier", boost)
    boosted = partial(HistGradientBoostingClassifier, max_iter=10)
    monkeypatch.setattr("skmia.attacks._shadow.HistGradientBoostingClassifier", boosted)
