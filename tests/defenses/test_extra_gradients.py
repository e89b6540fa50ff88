"""Gradients that an audit adds to the steps of a private training."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier
from skmia.epsilon import one_run_epsilon_lower_bound
from skmia.epsilon.bounds import gaussian_epsilon
from skmia.epsilon.canaries import make_gradient_canaries, trace_scores

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")
pytest.importorskip("opacus")

N = 24
X = np.random.default_rng(0).normal(size=(N, 6)).astype(np.float32)
Y = np.arange(N) % 2
SEEDED = {"classes": [0, 1], "noise_seed": 0, "random_state": 0}


def make_net(**settings):
    return partial(make_small_net, **{"batch_size": -1, "max_epochs": 3, **settings})


def train(make, y=Y, extra=None, **settings):
    """Released gradients, weights before each step, and the classifier."""
    steps, weights = [], []

    def watch(step, noisy, before):
        steps.append(noisy)
        weights.append(before)

    settings = {"noise_multiplier": 1.0, **settings}
    private = DPSGDClassifier(make, on_step=watch, extra_gradients=extra, **settings).fit(X, y)
    return np.array(steps), np.array(weights), private


N_PARAMETERS = train(make_net(), **SEEDED)[0].shape[1]


def always(gradients):
    return lambda step, parameters: gradients


# What is added


def test_a_full_batch_adds_each_gradient_once_a_step():
    extra = make_gradient_canaries(5, kind="spread", n_parameters=N_PARAMETERS, random_state=0)[0]
    settings = {**SEEDED, "noise_multiplier": 0}
    # The weights are the same in all steps, as the learning rate is 0.
    exact, _, _ = train(make_net(lr=0.0), **settings)
    added, _, _ = train(make_net(lr=0.0), extra=always(extra), **settings)
    np.testing.assert_allclose((added - exact) * N, np.tile(extra.sum(axis=0), (3, 1)), atol=1e-6)


def test_an_extra_gradient_is_clipped_as_a_row_is():
    large = np.zeros((2, N_PARAMETERS))
    large[0, 3], large[1, 5] = 1e6, 0.1
    settings = {**SEEDED, "noise_multiplier": 0, "max_grad_norm": 0.5}
    exact, _, _ = train(make_net(lr=0.0), **settings)
    added, _, _ = train(make_net(lr=0.0), extra=always(large), **settings)
    difference = (added - exact)[0] * N
    expected = np.zeros(N_PARAMETERS)
    expected[3], expected[5] = 0.5, 0.1
    np.testing.assert_allclose(difference, expected, atol=1e-6)


def test_an_empty_lot_takes_them_too():
    extra = np.eye(N_PARAMETERS)[:2]
    y = np.full(N, 7)  # labels that are unknown contribute nothing
    settings = {**SEEDED, "noise_multiplier": 0}
    steps, _, _ = train(make_net(), y=y, extra=always(extra), **settings)
    np.testing.assert_allclose(steps * N, np.tile(extra.sum(axis=0), (3, 1)), atol=1e-6)


def test_the_function_gets_the_step_and_the_weights_before_it():
    seen = []

    def extra(step, parameters):
        seen.append((step, parameters.copy()))
        parameters[:] = 99  # a copy, which the net does not see
        return np.empty((0, len(parameters)))

    _, weights, _ = train(make_net(), extra=extra, **SEEDED)
    assert [step for step, _ in seen] == [0, 1, 2]
    np.testing.assert_array_equal([before for _, before in seen], weights)


# When


def shares(extra, poisson):
    """Which extra gradients were in each step, without noise."""
    settings = {**SEEDED, "noise_multiplier": 0, "poisson_sampling": poisson}
    make = make_net(batch_size=6, max_epochs=10, lr=0.0)
    if poisson:  # labels that are unknown contribute nothing
        exact, settings["y"] = 0.0, np.full(N, 7)
    else:
        exact, _, _ = train(make, **settings)
    steps, _, _ = train(make, extra=always(extra), **settings)
    return ((steps - exact) * 6 @ extra.T).round(3)


def test_poisson_samples_take_them_by_separate_coins():
    taken = shares(np.eye(N_PARAMETERS)[:10], poisson=True)
    assert set(np.unique(taken)) == {0.0, 1.0} and taken.shape == (40, 10)
    assert binom.ppf(1e-4, 400, 0.25) <= taken.sum() <= binom.ppf(1 - 1e-4, 400, 0.25)
    assert len(np.unique(taken.reshape(10, 4, 10).sum(axis=1))) > 2  # not once an epoch


def test_fixed_batches_take_each_once_an_epoch():
    taken = shares(np.eye(N_PARAMETERS)[:10], poisson=False).reshape(10, 4, 10)
    np.testing.assert_array_equal(taken.sum(axis=1), 1)
    assert (taken.mean(axis=(0, 2)) > 0.1).all()


# What does not change


@pytest.mark.parametrize("poisson", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_planted_fit_leaves_nothing_behind(poisson):
    make, steps = make_net(batch_size=6), []
    settings = {**SEEDED, "poisson_sampling": poisson}
    before, _, model = train(make, **settings)
    model.set_params(extra_gradients=always(np.eye(N_PARAMETERS)[:3]), on_step=None).fit(X, Y)
    model.set_params(extra_gradients=None, on_step=lambda *step: steps.append(step[1])).fit(X, Y)
    np.testing.assert_array_equal(before, steps)


@pytest.mark.parametrize("poisson", [True, False])
def test_an_empty_set_of_extra_gradients_changes_no_coin_and_no_noise(poisson):
    settings = {**SEEDED, "poisson_sampling": poisson}
    make, nothing = make_net(batch_size=6), always(np.empty((0, N_PARAMETERS)))
    without, _, _ = train(make, **settings)
    np.testing.assert_array_equal(without, train(make, extra=nothing, **settings)[0])


def test_what_is_claimed_does_not_change():
    settings = {"classes": [0, 1], "target_delta": 1e-5}
    _, _, without = train(make_net(batch_size=6), **settings)
    extra = always(np.eye(N_PARAMETERS)[:3])
    _, _, planted = train(make_net(batch_size=6), extra=extra, **settings)
    assert without.epsilon_ == planted.epsilon_ and without.sample_rate_ == planted.sample_rate_


# Errors


@pytest.mark.parametrize(
    "extra, message",
    [
        (always(np.ones((2, 3))), f"gradients of {N_PARAMETERS} parameters"),
        (always(np.full((1, N_PARAMETERS), np.nan)), "extra_gradients"),
        (
            lambda step, parameters: np.ones((1 + step, len(parameters))),
            "as many gradients in all steps of an epoch; got 1 and 2",
        ),
    ],
)
def test_bad_extra_gradients_are_refused(extra, message):
    with pytest.raises(ValueError, match=message):
        train(make_net(batch_size=6), extra=extra, poisson_sampling=False, **SEEDED)


# An audit


@pytest.mark.parametrize("kind", ["dirac", pytest.param("spread", marks=pytest.mark.slow)])
def test_an_audit_of_a_few_full_steps_comes_close_to_what_is_claimed(kind):
    make = make_net(module__n_hidden=120, max_epochs=4)
    n_canaries, n_parameters = 1000, 6 * 120 + 120 + 2 * 120 + 2
    made, _ = make_gradient_canaries(
        n_canaries, kind=kind, n_parameters=n_parameters, random_state=0
    )
    coins = np.random.default_rng(0).integers(2, size=n_canaries).astype(bool)
    settings = {"noise_multiplier": 2.0, "target_delta": 1e-5, **SEEDED}
    steps, _, _ = train(make, extra=always(made[coins]), **settings)
    scores = trace_scores(steps, made, batch_size=N, noise_multiplier=2.0)
    found = {
        bound: one_run_epsilon_lower_bound(coins, scores, bound=bound, n_guesses=r, delta=1e-5)
        for bound, r in (("any", 100), ("gdp", 100), ("order_statistics", 500))
    }
    claimed = gaussian_epsilon(np.sqrt(4) / 2.0, 1e-5)
    bounds = [bound.epsilon for bound in found.values()]
    assert 0 < bounds[0] < bounds[1] < bounds[2] < claimed
    assert bounds[2] > 0.75 * claimed
