"""What steps with noise cost, by formula, by published numbers and by the other accountant."""

import numpy as np
import pytest
import scipy.optimize
from scipy.special import gammaln, logsumexp

from skmia._core import accountant
from skmia._core.accountant import (
    choose_noise_multiplier,
    compute_divergences,
    spent_epsilon,
    total_epsilon,
)
from skmia._core.tradeoff import privacy_profile
from skmia.defenses.mechanisms import gaussian_sigma

compute_rdp = pytest.importorskip("opacus.accountants.analysis.rdp").compute_rdp


def epsilon_by_hand(noise, q, n_steps, delta):
    """Rényi differential privacy at integer orders, and its conversion, as they are written."""
    epsilons = []
    for a in range(2, 500):
        k = np.arange(a + 1)
        binomial = gammaln(a + 1) - gammaln(k + 1) - gammaln(a - k + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(k == a, 0, (a - k) * np.log1p(-q))
        terms = binomial + rest + k * np.log(q) + k * (k - 1) / (2 * noise**2)
        step = logsumexp(terms) / (a - 1)
        epsilons.append(n_steps * step + np.log1p(-1 / a) - np.log(delta * a) / (a - 1))
    return min(epsilons)


@pytest.mark.parametrize(
    "noise, q, n_steps, delta",
    [
        (4.0, 0.01, 10_000, 1e-5),
        pytest.param(1.1, 256 / 60_000, 60 * 235, 1e-5, marks=pytest.mark.slow),
        (2.0, 0.1, 50, 1e-3),
        (5.0, 1.0, 10, 1e-5),
        pytest.param(20.0, 0.05, 20, 1e-6, marks=pytest.mark.slow),
    ],
)
def test_the_accountant_agrees_with_the_formula(noise, q, n_steps, delta):
    by_opacus = spent_epsilon([(noise, q, n_steps)], delta, "rdp")
    by_hand = epsilon_by_hand(noise, q, n_steps, delta)
    # The orders differ: opacus has tenths below 11, and not all of the large ones.
    assert by_opacus == pytest.approx(by_hand, rel=0.01)


@pytest.mark.parametrize(
    "noise, rate",
    # Series of one block of terms, of little and much noise, and of thousands of terms.
    [(1.1, 0.004), (0.02, 0.3), (1e6, 0.999), (0.5, 0.3)],
)
def test_divergences_of_a_step_are_those_of_opacus_to_the_last_bit(noise, rate):
    expected = compute_rdp(q=rate, noise_multiplier=noise, steps=1, orders=accountant._ORDERS)
    np.testing.assert_array_equal(compute_divergences([(noise, rate, 1)]), expected)


def test_published_costs():
    # Abadi et al. (2016), section 5.1: q = 0.01, noise 4, 10,000 steps, delta 1e-5 cost 1.26.
    assert 1.0 < spent_epsilon([(4.0, 0.01, 10_000)], 1e-5, "rdp") < 1.26
    # A single release of everything is the Gaussian mechanism, which costs 0.5 at noise 7.0318.
    for name in ("rdp", "prv"):
        assert 0.5 <= spent_epsilon([(7.0318, 1.0, 1)], 1e-5, name) < 0.65


@pytest.mark.parametrize(
    "noise, rate, n_steps",
    [(8, 0.1, 10), (200, 1, 1)]
    # Those between them, and much noise, take seconds each.
    + [
        pytest.param(*steps, marks=pytest.mark.slow)
        for steps in [
            (0.7, 0.05, 100),
            (1.17, 0.99, 3025),
            (30, 0.1, 10),
            (100, 0.1, 100),
            (300, 0.1, 100),
            (50, 1, 1),
            (1, 0.01, 1000),
        ]
    ],
)
def test_prv_is_never_looser_than_rdp(noise, rate, n_steps):
    steps = [(noise, rate, n_steps)]
    prv = spent_epsilon(steps, 1e-5, "prv")
    assert 0 < prv <= spent_epsilon(steps, 1e-5, "rdp")
    if rate == 1:  # one release of everything is a Gaussian mechanism, whose epsilon is exact
        exact = scipy.optimize.brentq(lambda e: privacy_profile(e, 1 / noise) - 1e-5, 1e-6, 5)
        assert exact <= prv < exact + 1e-3


@pytest.mark.parametrize(
    "noise, rate, n_steps, delta",
    [
        (50.0, 0.25, 12, 0.3),
        (300.0, 1.0, 1, 0.05),
        pytest.param(27.7, 0.16, 427, 0.072, marks=pytest.mark.slow),
    ],
)
def test_epsilon_is_not_negative(noise, rate, n_steps, delta):
    # Where delta is large enough to cover what the steps show.
    rdp, prv = (spent_epsilon([(noise, rate, n_steps)], delta, name) for name in ("rdp", "prv"))
    assert 0 <= prv <= rdp < 0.002


@pytest.mark.parametrize("name", ["rdp", "prv"])
def test_noise_at_the_ends_of_double_precision_has_a_cost(name):
    tiny, huge = (spent_epsilon([(noise, 0.1, 10)], 1e-5, name) for noise in (1e-300, 1e300))
    assert tiny == np.inf
    assert 0 <= huge < 0.005


@pytest.mark.slow  # a smaller target is reached below
def test_prv_reaches_a_small_target_with_no_more_noise():
    target = 0.01
    rdp, prv = (choose_noise_multiplier(target, 1e-5, 0.1, 20, name) for name in ("rdp", "prv"))
    assert prv <= rdp
    assert spent_epsilon([(prv, 0.1, 20)], 1e-5, "prv") <= target


def test_the_same_steps_are_counted_once(monkeypatch):
    steps = (1.5, 0.2, 12)
    epsilons = [spent_epsilon([steps], 1e-4, name) for name in ("rdp", "prv")]

    def refuse(*args, **settings):
        raise AssertionError("another accountant")

    monkeypatch.setattr("opacus.accountants.create_accountant", refuse)
    monkeypatch.setattr(accountant, "_sum_whole_orders", refuse)
    assert [spent_epsilon([steps], 1e-4, name) for name in ("rdp", "prv")] == epsilons
    assert spent_epsilon([steps], 2e-4, "rdp") < epsilons[0]
    with pytest.raises(AssertionError, match="another accountant"):
        spent_epsilon([steps], 2e-4, "prv")
    with pytest.raises(AssertionError, match="another accountant"):
        spent_epsilon([(1.6, 0.2, 12)], 1e-4, "rdp")


def test_steps_of_the_same_noise_are_added_up():
    parts = [(1.5, 0.2, 12), (3.0, 1.0, 2), (1.5, 0.2, 5), (9.0, 0.1, 0)]
    for name in ("rdp", "prv"):
        assert spent_epsilon(parts, 1e-4, name) == spent_epsilon(
            [(1.5, 0.2, 17), (3.0, 1.0, 2)], 1e-4, name
        )


def test_the_cost_of_randomized_response_is_its_own():
    # Known answer: with the probability p of the truth, the divergence at the order a is
    # log(p**a (1 - p)**(1 - a) + (1 - p)**a p**(1 - a)) / (a - 1).
    orders = np.array(accountant._ORDERS)
    orders = orders[orders < 60]
    for epsilon in (0.02, 0.3, 1.0, 4.0):
        p = 1 / (1 + np.exp(-epsilon))
        known = np.log(p**orders * (1 - p) ** (1 - orders) + (1 - p) ** orders * p ** (1 - orders))
        found = accountant._pure_curve(epsilon)[: len(orders)]
        np.testing.assert_allclose(found, known / (orders - 1), rtol=1e-9)
        limits = np.minimum(epsilon, orders * epsilon**2 / 2)
        assert (found <= limits * (1 + 1e-12)).all()
    # No more than basic composition, and less than it for many.
    assert spent_epsilon([], 1e-5, "rdp", [(0.5, 1)]) == 0.5
    assert spent_epsilon([], 1e-5, "rdp", [(0.1, 100)]) < 5
    mixed = spent_epsilon([(2.0, 1.0, 1)], 1e-5, "rdp", [(0.5, 1)])
    assert mixed <= 0.5 + spent_epsilon([(2.0, 1.0, 1)], 1e-5, "rdp")


def test_releases_of_normal_noise_are_one_with_less_noise():
    for epsilon, delta in [(0.5, 1e-5), (3.0, 1e-9), (0.01, 1e-3)]:
        noise = gaussian_sigma(epsilon, delta)
        assert total_epsilon([], [(noise, 1)], [], delta, "rdp") == pytest.approx(epsilon, rel=1e-8)
        four = total_epsilon([], [(2 * noise, 4)], [], delta, "rdp")
        assert four == pytest.approx(epsilon, rel=1e-8)
        with_laplace = total_epsilon([], [(noise, 1)], [(0.2, 1)], delta, "rdp")
        assert epsilon < with_laplace <= epsilon + 0.2 + 1e-8
    # A training is counted with Renyi divergences, and both at once cost more than either.
    both = total_epsilon([(1.0, 0.1, 10)], [(noise, 1)], [], 1e-3, "rdp")
    assert max(0.01, spent_epsilon([(1.0, 0.1, 10)], 1e-3, "rdp")) < both
    assert total_epsilon([(1.0, 0.1, 10)], [(noise, 1)], [], 1e-3, "prv") <= both
    assert total_epsilon([], [], [], 1e-3, "rdp") == 0


def test_what_no_accountant_shows_is_said_with_the_cure():
    with pytest.raises(ValueError, match="Rényi accounting does not go below 0.0036.*'?prv") as one:
        choose_noise_multiplier(3e-3, 1e-5, 1.0, 1, "rdp")
    assert "\n" not in str(one.value)
    noise = choose_noise_multiplier(3e-3, 1e-5, 1.0, 1, "prv")
    assert noise > 10 and spent_epsilon([(noise, 1.0, 1)], 1e-5, "prv") <= 3e-3
    with pytest.raises(ValueError, match="^Neither accountant shows"):
        choose_noise_multiplier(1e-5, 1e-5, 0.25, 4, "prv")
    with pytest.raises(ValueError, match="a noise multiplier of up to 1e.06; allow more, or train"):
        choose_noise_multiplier(0.1, 1e-5, 1.0, 2**40, "rdp")


def test_very_many_steps_do_not_take_for_ever():
    n = 2**31 - 1
    for noise, rate in [(0.3, 1.0), (1.0, 1e-9)]:
        steps = [(noise, rate, n)]
        assert spent_epsilon(steps, 1e-5, "prv") == spent_epsilon(steps, 1e-5, "rdp")


@pytest.mark.slow  # test_accountant_oracle.py has bounds from both sides
def test_prv_is_tighter_and_less_noise_costs_more():
    spent = {
        (name, noise): spent_epsilon([(noise, 0.1, 100)], 1e-5, name)
        for name in ("rdp", "prv")
        for noise in (1.0, 2.0)
    }
    assert spent["prv", 1.0] < spent["rdp", 1.0]
    assert spent["rdp", 2.0] < spent["rdp", 1.0] / 1.5
