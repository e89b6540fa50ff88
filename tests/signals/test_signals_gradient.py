"""Gradient norms and statistics: those of a logistic model are known."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kurtosis, skew
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.signals import GradientNorm, GradientStatistics
from skmia.signals._registry import get_signal

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 4)), RNG.integers(2, size=80)
VICTIM = FrozenEstimator(LogisticRegression().fit(X, Y))
RESIDUAL = expit(VICTIM.decision_function(X)) - Y
GRADIENTS = {
    "parameters": RESIDUAL[:, None] * np.column_stack([X, np.ones(80)]),
    "inputs": RESIDUAL[:, None] * VICTIM.estimator.coef_,
}


@pytest.mark.parametrize("wrt, letter", [("parameters", "w"), ("inputs", "x")])
def test_the_norm_is_that_of_the_closed_form(wrt, letter):
    signal = get_signal(f"gradient_norm_{letter}")
    assert signal == GradientNorm(wrt)
    expected = -np.linalg.norm(GRADIENTS[wrt], axis=1)
    np.testing.assert_allclose(signal.of(VICTIM, Records(X, Y)), expected, rtol=1e-9)
    attack = ThresholdAttack(VICTIM, signal=signal.name).fit(Records(X, Y))
    np.testing.assert_allclose(attack.score_samples(Records(X, Y)), expected, rtol=1e-9)


@pytest.mark.parametrize("wrt", ["parameters", "inputs"])
def test_statistics_are_those_of_scipy(wrt):
    statistics = GradientStatistics(VICTIM, wrt=wrt).fit(Records(X, Y))
    g = GRADIENTS[wrt]
    expected = np.column_stack(
        [
            np.abs(g).sum(axis=1),
            np.linalg.norm(g, axis=1),
            np.abs(g).max(axis=1),
            g.mean(axis=1),
            skew(g, axis=1),
            kurtosis(g, axis=1),
            np.abs(g).min(axis=1),
        ]
    )
    np.testing.assert_allclose(statistics.transform(Records(X, Y)), expected, rtol=1e-6, atol=1e-9)
    names = statistics.get_feature_names_out()
    assert len(names) == 7 and all(name.startswith("gradient_") for name in names)


def test_a_victim_without_gradients_is_told_what_would_work():
    victim = FrozenEstimator(SVC().fit(X, Y))
    with pytest.raises(TypeError, match=r"needs gradients.*got SVC\. Signals that need only answ"):
        ThresholdAttack(victim, signal="gradient_norm_x").fit(Records(X, Y))


def test_what_the_gradient_is_taken_of():
    with pytest.raises(ValueError, match="wrt must be one of .*'inputs'.*; got 'weights'"):
        GradientNorm("weights")
    with pytest.raises(ValueError, match="'wrt' parameter of GradientStatistics must be"):
        GradientStatistics(VICTIM, wrt="weights").fit(Records(X, Y))
    assert GradientNorm().has_unit_of_target
