"""Small models in the parts of an audit that train most, for tests of other things."""

from functools import partial

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier


def shrink_models(monkeypatch):
    """Give the blind baseline a fifth of its trees, and the ShadowAttack a tenth."""
    trees = ExtraTreesClassifier(20, min_samples_leaf=5)
    monkeypatch.setattr("skmia.report.checks._baseline._MODEL", trees)
    boosted = partial(HistGradientBoostingClassifier, max_iter=10)
    monkeypatch.setattr("skmia.attacks._shadow.HistGradientBoostingClassifier", boosted)
