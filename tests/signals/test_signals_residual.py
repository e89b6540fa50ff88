import numpy as np
import pytest
from asking import answers_of
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import roc_auc_score

from skmia import Outputs
from skmia.signals._registry import get_signal, names_that_read

RESIDUAL_SIGNALS = {"squared_error": [-4.0, -0.25, 0.0]}


@pytest.mark.parametrize("name", RESIDUAL_SIGNALS)
def test_value_computed_by_hand(name):
    outputs = Outputs([1.0, 2.5, -3.0], kind="value")
    assert get_signal(name)(outputs, np.array([3.0, 2.0, -3.0])).tolist() == RESIDUAL_SIGNALS[name]


def test_loss_of_a_regressor_is_the_squared_error():
    rng = np.random.default_rng(0)
    outputs, y = Outputs(rng.normal(size=9), kind="value"), rng.normal(size=9)
    np.testing.assert_array_equal(
        get_signal("loss")(outputs, y), get_signal("squared_error")(outputs, y)
    )


@pytest.mark.parametrize("name", [*RESIDUAL_SIGNALS, "loss"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, int])
def test_members_of_an_overfit_regressor_score_higher(name, dtype):
    X, y = make_regression(n_samples=300, n_features=10, noise=50, random_state=0)
    y = y.astype(dtype)
    membership = np.arange(300) % 2
    victim = RandomForestRegressor(20, random_state=0).fit(X[membership == 1], y[membership == 1])
    scores = get_signal(name)(answers_of(victim, X), y)
    np.testing.assert_allclose(np.sqrt(-scores), np.abs(y - victim.predict(X)))
    assert roc_auc_score(membership, scores) > 0.7


@pytest.mark.parametrize("name", RESIDUAL_SIGNALS)
def test_residual_needs_a_regressor(name):
    with pytest.raises(ValueError, match="needs a regressor's predict; .* only predict_proba"):
        get_signal(name)(Outputs([[0.5, 0.5]], [0, 1]), [0])


@pytest.mark.parametrize("name", names_that_read("value"))
def test_signals_that_change_with_the_unit_of_the_target_say_so(name):
    signal, y = get_signal(name), np.array([3.0, 2.0, -4.0])
    one, other = (
        signal(Outputs(unit * np.array([1.0, 2.5, -3.0]), kind="value"), unit * y)
        for unit in (1.0, 8.0)
    )
    assert (np.ptp(other - one) > 1e-9) == signal.has_unit_of_target
