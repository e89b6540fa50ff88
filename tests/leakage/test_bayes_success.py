"""The Bayes attacker of a table of probabilities, by playing it and by bounds."""

import numpy as np
import pytest

from skmia.leakage.bounds import bayes_success, mutual_information_success_bound

RNG = np.random.default_rng(0)


def draw(n_values, n_releases):
    return RNG.dirichlet(np.ones(n_releases), size=n_values), RNG.dirichlet(np.ones(n_values))


def test_no_rule_of_all_does_better():
    likelihoods, prior = draw(3, 4)
    joint = prior[:, None] * likelihoods
    rules = np.stack(np.meshgrid(*[range(3)] * 4), axis=-1).reshape(-1, 4)
    best = max(joint[rule, np.arange(4)].sum() for rule in rules)
    assert bayes_success(likelihoods, prior) == pytest.approx(best, rel=1e-12)


def test_equal_priors_of_two_values_give_the_total_variation():
    likelihoods, _ = draw(2, 6)
    variation = np.abs(likelihoods[0] - likelihoods[1]).sum() / 2
    assert bayes_success(likelihoods) == pytest.approx((1 + variation) / 2, rel=1e-12)


def test_the_information_bounds_it():
    for _ in range(50):
        likelihoods, prior = draw(3, 5)
        joint = prior[:, None] * likelihoods
        information = np.sum(joint * np.log(joint / (prior[:, None] * joint.sum(axis=0))))
        bound = mutual_information_success_bound(information, baseline=prior.max())
        assert prior.max() - 1e-12 <= bayes_success(likelihoods, prior) <= bound + 1e-12


@pytest.mark.parametrize(
    ("likelihoods", "prior", "words"),
    [
        ([0.5, 0.5], None, "likelihoods must be of shape"),
        (np.empty((0, 2)), None, r"likelihoods must be of shape .*; got shape \(0, 2\)"),
        ([[0.5, 0.4]], None, "likelihoods must sum to 1 along the last axis; got a sum of 0.9"),
        ([[0.5, 0.5]], [0.5, 0.5], "prior must have 1 probabilities"),
        ([[0.5, 0.5]] * 2, [0.5, 0.6], "prior must sum to 1 along the last axis; got a sum of 1.1"),
        ([[1.5, -0.5]], None, "likelihoods must be probabilities"),
    ],
)
def test_wrong_input_gets_a_sentence(likelihoods, prior, words):
    with pytest.raises(ValueError, match=words):
        bayes_success(likelihoods, prior)
