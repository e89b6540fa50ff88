"""Accountants against Google's, where it is installed: `pip install ".[oracle]"`."""

import numpy as np
import pytest

from skmia.defenses._accountant import spent_epsilon

pytest.importorskip("opacus")
distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

RNG = np.random.default_rng(0)
SETTINGS = [
    (
        float(np.exp(RNG.uniform(np.log(0.7), np.log(20)))),
        float(np.exp(RNG.uniform(np.log(0.01), 0))),
        int(RNG.integers(1, 100)),
        float(10 ** RNG.uniform(-8, -4)),
    )
    for _ in range(12)
]


def google(noise, rate, n_steps, delta, pessimistic):
    """Epsilon by privacy loss distributions, from above or from below."""
    step = distributions.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic,
        value_discretization_interval=1e-3,
    )
    return step.self_compose(n_steps).get_epsilon_for_delta(delta)


@pytest.mark.parametrize("noise, rate, n_steps, delta", SETTINGS)
def test_accountants_are_bounds_and_prv_is_tight(noise, rate, n_steps, delta):
    steps = [(noise, rate, n_steps)]
    rdp, prv = (spent_epsilon(steps, delta, name) for name in ("rdp", "prv"))
    # From below, rounding every loss down: no valid bound can be less.
    assert min(rdp, prv) >= google(noise, rate, n_steps, delta, pessimistic=False)
    above = google(noise, rate, n_steps, delta, pessimistic=True)
    if above > 0.1:
        assert prv <= 1.02 * above + 1e-3 * np.sqrt(n_steps)
