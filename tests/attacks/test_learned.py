"""Attacks that train a classifier are what one would build by hand."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skmia import Records
from skmia.attacks.white_box import (
    EnsembleAttack,
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
)
from skmia.signals import GradientStatistics, Signals
from skmia.victims import open_white_box

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 8)), RNG.integers(3, size=400)
MEMBERSHIP = np.arange(400) % 2
RECORDS = Records(X, Y)


@pytest.fixture(scope="module")
def victim():
    model = MLPClassifier((30,), solver="lbfgs", max_iter=3000, random_state=0)
    return FrozenEstimator(model.fit(X[MEMBERSHIP == 1], Y[MEMBERSHIP == 1]))


def fit_by_hand(evidence, classifier):
    order = np.argsort(RECORDS[:300].fingerprint, kind="stable")
    model = make_pipeline(MinMaxScaler(), classifier)
    model.fit(evidence[:300][order], MEMBERSHIP[:300][order])
    return model.predict_proba(evidence[300:])[:, 1]


@pytest.mark.parametrize("wrt", ["parameters", "inputs"])
def test_gradient_attack_is_a_pipeline_of_statistics(victim, wrt):
    evidence = GradientStatistics(victim, wrt=wrt).fit_transform(RECORDS)
    attack = GradientAttack(victim, wrt=wrt, random_state=0).fit(RECORDS[:300], MEMBERSHIP[:300])
    expected = fit_by_hand(evidence, LogisticRegression(max_iter=1000))
    np.testing.assert_allclose(attack.score_samples(RECORDS[300:]), expected, rtol=1e-6)


def test_an_estimator_of_the_user_gets_the_evidence_as_it_is(victim):
    evidence = Signals(victim, ["loss", "entropy"]).fit_transform(RECORDS)
    attack = EnsembleAttack(
        victim, signals=["loss", "entropy"], attack_estimator=LogisticRegression(), random_state=0
    ).fit(RECORDS[:300], MEMBERSHIP[:300])
    by_hand = LogisticRegression().fit(evidence[:300], MEMBERSHIP[:300])
    np.testing.assert_allclose(
        attack.score_samples(RECORDS[300:]), by_hand.predict_proba(evidence[300:])[:, 1], rtol=1e-4
    )


def test_layers_are_read_by_position_and_by_name(victim):
    white_box = open_white_box(victim)
    outputs = np.column_stack(white_box.layer_outputs(X))
    for layers, columns in ((["output"], outputs[:, 30:]), ([0], outputs[:, :30])):
        attack = LayerOutputsAttack(
            victim, layers=layers, attack_estimator=LogisticRegression(max_iter=5000)
        )
        np.testing.assert_array_equal(attack._collect(RECORDS)[0], columns)
    # Three layers from the end on a model with two: all that there are.
    attack = LayerOutputsAttack(victim, layers=[-3, -2, -1])
    np.testing.assert_array_equal(attack._collect(RECORDS)[0], outputs)


@pytest.mark.parametrize(
    "layers, message",
    [
        ((), r"must name one or more layers; got \(\)"),
        ([-7], "must name at least one layer of the victim, which"),
    ],
)
def test_layers_that_are_not_there_are_refused(victim, layers, message):
    with pytest.raises(ValueError, match=message):
        LayerOutputsAttack(victim, layers=layers)._collect(RECORDS)


@pytest.mark.parametrize(
    "attack",
    [GradientAttack(), GradientAttack(wrt="inputs"), EnsembleAttack(max_iter=30, cv=2)],
    ids=["gradient w", "gradient x", "ensemble"],
)
def test_members_of_an_overfit_victim_are_found(victim, attack):
    attack = attack.set_params(victim=victim, random_state=0).fit(RECORDS[:300], MEMBERSHIP[:300])
    assert roc_auc_score(MEMBERSHIP[300:], attack.score_samples(RECORDS[300:])) > 0.7


@pytest.mark.parametrize(
    "attack",
    [
        LayerOutputsAttack(attack_estimator=LogisticRegression(max_iter=5000), cv=2),
        MahalanobisAttack(),
        FisherRaoAttack(layers=["hidden_1"], cv=2, max_iter=30),
    ],
    ids=["outputs", "Mahalanobis", "Fisher-Rao"],
)
def test_what_layers_carry_is_found(victim, attack):
    # Members lie elsewhere, which no victim is needed for: a difference that layers show for sure.
    moved = Records(X + 0.8 * MEMBERSHIP[:, None], Y)
    attack = attack.set_params(victim=victim, random_state=0).fit(moved[:300], MEMBERSHIP[:300])
    assert roc_auc_score(MEMBERSHIP[300:], attack.score_samples(moved[300:])) > 0.7


def test_the_white_box_attack_collects_what_the_closed_form_gives():
    pytest.importorskip("torch")
    model = LogisticRegression().fit(X, Y)
    outputs, one_hot, loss, gradient = WhiteBoxAttack(FrozenEstimator(model))._collect(RECORDS)
    np.testing.assert_allclose(outputs, model.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(one_hot.argmax(axis=1), Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(loss[:, 0], -np.log(proba[np.arange(400), Y]), rtol=1e-9)
    expected = (proba - np.eye(3)[Y])[:, :, None] * X[:, None]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


def test_the_white_box_attack_finds_members_and_is_reproducible(victim):
    pytest.importorskip("torch")
    scores = [
        WhiteBoxAttack(victim, max_iter=max_iter, cross_fit=False, random_state=0)
        .fit(RECORDS[:300], MEMBERSHIP[:300])
        .score_samples(RECORDS[300:])
        for max_iter in (4, 1, 1)
    ]
    np.testing.assert_array_equal(scores[1], scores[2])
    assert roc_auc_score(MEMBERSHIP[300:], scores[0]) > 0.7
