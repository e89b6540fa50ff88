"""What random changes do to the loss."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.signals import Loss, Merlin, Signals, _perturbation

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 4)), RNG.integers(2, size=80)
VICTIM = FrozenEstimator(LogisticRegression().fit(X, Y))


def test_for_a_linear_model_it_counts_the_changes_against_the_label():
    merlin = Merlin(n_changes=50, scale=0.1, random_state=3)
    noise = np.random.RandomState(3).normal(scale=0.1, size=(50, 4))
    toward = np.where(Y == 1, 1, -1)[:, None] * VICTIM.estimator.coef_
    np.testing.assert_array_equal(
        merlin.of(VICTIM, Records(X, Y)), (toward @ noise.T < 0).mean(axis=1)
    )


def test_it_is_that_of_a_loop_for_a_regressor():
    y = X[:, 0] + RNG.normal(size=80)
    victim = FrozenEstimator(LinearRegression().fit(X, y))
    noise = np.random.RandomState(0).normal(scale=0.01, size=(7, 4))
    shares = Merlin(n_changes=7).of(victim, Records(X, y))
    for k in range(5):
        loss = (y[k] - victim.predict(X[[k]])) ** 2
        changed = [(y[k] - victim.predict(X[[k]] + step)) ** 2 > loss for step in noise]
        assert shares[k] == np.mean(changed)


def test_a_victim_that_always_says_the_same_has_no_changed_loss():
    victim = FrozenEstimator(DummyClassifier().fit(X, Y))
    np.testing.assert_array_equal(Merlin(5).of(victim, Records(X, Y)), np.zeros(80))


def test_a_change_within_rounding_raises_nothing():
    class Noisy(DummyClassifier):
        def predict_proba(self, X):
            return np.tile([0.3, 0.7], (len(X), 1)) * (1 + 1e-16 * np.sign(X[:, :1]))

    victim = FrozenEstimator(Noisy().fit(X, Y))
    np.testing.assert_array_equal(Merlin(20, scale=10.0).of(victim, Records(X, Y)), np.zeros(80))


def test_forms_of_x_give_the_same(monkeypatch):
    expected = Merlin(20).of(VICTIM, Records(X, Y))
    table = pd.DataFrame(X, columns=list("abcd"))
    by_name = FrozenEstimator(LogisticRegression().fit(table, Y))
    np.testing.assert_array_equal(Merlin(20).of(by_name, Records(table, Y)), expected)
    monkeypatch.setattr("skmia.signals._perturbation.CHUNK", 200)
    np.testing.assert_array_equal(Merlin(20).of(VICTIM, Records(X, Y)), expected)


def test_changes_of_whole_numbers_are_not_cut_off():
    whole = np.round(3 * X).astype(int)
    found = Merlin(20, scale=0.5).of(VICTIM, Records(whole, Y))
    np.testing.assert_array_equal(
        found, Merlin(20, scale=0.5).of(VICTIM, Records(whole.astype(float), Y))
    )
    assert 0 < found.mean() < 1


def test_changes_of_whole_numbers_are_not_cut_off_in_a_tensor():
    torch = pytest.importorskip("torch")
    whole = np.round(3 * X).astype(int)
    merlin = Merlin(20, scale=0.5)  # above the rounding of single precision
    expected = merlin.of(VICTIM, Records(whole, Y))
    assert 0 < expected.mean() < 1
    tensors = Records(torch.tensor(whole), Y)
    np.testing.assert_array_equal(merlin.of(VICTIM, tensors), expected)
    assert _perturbation.as_rows_of_numbers(tensors.X, "It")[1](whole).dtype == torch.int64


@parametrize_refusals(
    (lambda: Merlin().of(VICTIM, Records(sparse.csr_matrix(X), Y)), "must not be sparse"),
    (
        lambda: Merlin().of(VICTIM, Records(pd.DataFrame({"a": X[:, 0], "sex": ["f"] * 80}), Y)),
        "'sex' holds no numbers. LabelRobustness",
    ),
    (lambda: Merlin().of(VICTIM, Records(np.full((80, 4), "text"), Y)), "X holds no numbers"),
    (
        lambda: ThresholdAttack(signal="merlin").fit(Records(X, Y).with_outputs(VICTIM)),
        "Signal 'merlin' needs the victim itself",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_it_stands_beside_signals_of_answers():
    columns = Signals(VICTIM, ["merlin", "loss"]).fit_transform(Records(X, Y)).T
    np.testing.assert_array_equal(columns[0], Merlin().of(VICTIM, Records(X, Y)))
    np.testing.assert_array_equal(columns[1], Loss().of(VICTIM, Records(X, Y)))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_changes": 0},
        {"n_changes": 1.5},
        {"n_changes": 1_000_001},
        {"scale": 0.0},
        {"random_state": -1},
    ],
)
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        Merlin(**settings)
    for n_changes in (1, 1_000_000):
        assert Merlin(n_changes, scale=1e-300, random_state=0).n_changes == n_changes
