import re

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from skmia import Outputs, Records
from skmia.signals import ODIN, Loss, Signals
from skmia.signals._registry import get_signal


@pytest.fixture(scope="module")
def audit():
    X, y = make_classification(n_samples=200, flip_y=0.3, random_state=0)
    membership = np.arange(200) % 2
    victim = RandomForestClassifier(10, random_state=0).fit(X[membership == 1], y[membership == 1])
    return FrozenEstimator(victim), Records(X, y), membership


def test_each_signal_is_a_column(audit):
    victim, records, _ = audit
    signals = Signals(victim, ["entropy", Loss(), ODIN(temperature=5.0)]).fit(records)
    outputs = records.with_outputs(victim)["outputs"]
    columns = signals.transform(records).T
    np.testing.assert_array_equal(columns[0], get_signal("entropy")(outputs, records.y))
    np.testing.assert_array_equal(columns[1], get_signal("loss")(outputs, records.y))
    np.testing.assert_array_equal(columns[2], ODIN(5.0)(outputs, records.y))
    assert signals.get_feature_names_out().tolist() == ["entropy", "loss", "odin"]


def test_stored_answers_give_the_same_columns(audit):
    victim, records, _ = audit
    names = ["loss", "hinge"]
    asked = Signals(victim, names).fit_transform(records)
    stored = Signals(signals=names).fit_transform(records.with_outputs(victim))
    np.testing.assert_array_equal(asked, stored)


def test_selected_records_have_the_columns_of_all(audit):
    victim, records, _ = audit
    signals = Signals(victim, ["loss", "modified_entropy"]).fit(records)
    rows = [7, 3, 150]
    np.testing.assert_array_equal(
        signals.transform(records[rows]), signals.transform(records)[rows]
    )
    np.testing.assert_array_equal(signals.transform(records[5]), signals.transform(records)[[5]])


def test_a_classifier_on_top_is_an_attack(audit):
    victim, records, membership = audit
    attack = make_pipeline(Signals(victim, ["loss", "entropy"]), LogisticRegression())
    scores = cross_val_predict(attack, records, membership, cv=4, method="decision_function")
    assert roc_auc_score(membership, scores) > 0.8


def test_clone_has_the_same_parameters(audit):
    signals = clone(Signals(audit[0], ["loss"]))
    assert signals.signals == ["loss"]
    assert signals.victim.estimator is audit[0].estimator


@pytest.mark.parametrize("signals", ["loss", Loss(), 3])
def test_signals_are_a_sequence(audit, signals):
    with pytest.raises(ValueError, match="'signals' parameter of Signals must be"):
        Signals(audit[0], signals).fit(audit[1])


@parametrize_refusals(
    (lambda audit: Signals(audit[0], []).fit(audit[1]), "at least one signal"),
    (
        lambda audit: Signals(signals=["loss"]).fit(audit[1]).transform(audit[1]),
        "victim is None and the records hold no outputs",
    ),
    (lambda audit: Signals(audit[0]).fit(Records(audit[1].X)), "carry no task labels"),
    (
        lambda audit: Signals(audit[0]).fit(audit[1]).transform(Records(audit[1].X)),
        "carry no task labels",
    ),
    (
        lambda audit: Signals(audit[0]).fit(audit[1].X),
        "Expected skmia.Records, got ndarray",
        TypeError,
    ),
)
def test_wrong_calls_with_audit_are_refused(call, words, error, audit):
    check_refusal(call, words, error, audit)


@pytest.mark.parametrize("name", ["los", ["loss"], np.array(["loss", "auto"]), {}, None])
def test_unknown_name_is_refused(audit, name):
    with pytest.raises(ValueError, match=re.escape(f"Unknown signal {name!r}; the signals are")):
        Signals(audit[0], [name]).fit(audit[1])


def test_bare_array_of_answers_is_refused(audit):
    records = audit[1].with_fields(outputs=np.full((200, 2), 0.5))
    with pytest.raises(ValueError, match=r"bare array; wrap it as Outputs\(values, classes="):
        Signals().fit(records).transform(records)


def test_transform_needs_fit(audit):
    with pytest.raises(NotFittedError):
        Signals(audit[0]).transform(audit[1])


def test_nan_never_leaves():
    outputs = Outputs([[np.inf, np.inf], [0, 1]], [0, 1], "logits")
    records = Records(np.eye(2), [0, 1], outputs=outputs)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match="no score for 1 of 2 records, first at position 0"),
    ):
        Signals(signals=["loss"]).fit(records).transform(records)


def test_a_victim_that_answers_nothing_is_refused_before_it_is_asked():
    with pytest.raises(TypeError, match="victim"):
        Signals(victim="a model").fit(Records(np.zeros((2, 1)), [0, 1]))
