"""Audits of regressors with several targets."""

import numpy as np
import pytest
from quick_audits import permute_less
from sklearn.linear_model import Ridge

from skmia import Outputs, Records, audit

N, RNG = 200, np.random.default_rng(0)
X = RNG.normal(size=(N, 30))
Y = (X @ RNG.normal(size=(30, 3)) / 5 + RNG.normal(size=(N, 3))) * [1.0, 10.0, 0.1]
MEMBERS = np.arange(N) < N // 2
RIDGE = Ridge(0.1).fit(X[MEMBERS], Y[MEMBERS])
SETTINGS = {"shadows": 4, "controls": False, "random_state": 0}


def test_an_audit_by_its_natural_call():
    sides = {"train": (X[MEMBERS], Y[MEMBERS]), "held_out": (X[~MEMBERS], Y[~MEMBERS])}
    report = audit(RIDGE, **sides, **SETTINGS)
    assert report.evidence == "leak"
    assert set(report.to_frame()["attack"]) >= {"LiRA", "RMIA", "StackedAttack"}
    assert report.performance["metric"] == "r2"
    failed = {name: check.text for name, check in report.checks.items() if "failed" in check.text}
    assert not failed
    assert report.checks["model and table"].status == "passed"


def test_stored_predictions_of_a_model_that_is_not_at_hand():
    records = Records(X, Y, outputs=Outputs(RIDGE.predict(X), kind="values"))
    report = audit(Ridge(0.1), records, MEMBERS, **SETTINGS)
    assert report.evidence == "leak"


def test_targets_in_another_order_than_the_predictions_are_found(monkeypatch):
    permute_less(monkeypatch)  # what is left of the order is close to chance
    report = audit(RIDGE, Records(X, Y[:, ::-1]), MEMBERS, **SETTINGS)
    assert report.evidence == "unknown"


def test_predictions_and_targets_must_be_as_many():
    with pytest.raises(ValueError, match="3 numbers for each record, .* and y has 1"):
        audit(RIDGE, Records(X, Y[:, 0]), MEMBERS, **SETTINGS)
