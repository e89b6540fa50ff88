"""Small functions of leakage at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array, inf, nan

from skmia.leakage import _gaussian, _mean_glir, _refits, _total_variation, _witness, bounds, gaps


def compare_neighbors(n, n_neighbors, n_features):
    """Return whether votes of neighbors are those of a search by hand, of others and itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features)) * 3 ** np.arange(n_features)
    members = np.arange(n) % 3 > 0
    X[members] += 1.0
    witness = _witness.NeighborsWitness(n_neighbors, None)
    places = X / X.std(axis=0)
    order = np.argsort(((places[:, None] - places) ** 2).sum(axis=2), axis=1)
    k = 2 * int(np.sqrt(n) / 2) + 1 if n_neighbors is None else n_neighbors
    inside = members[order[:, :k]].sum(axis=1) / members.sum()
    outside = (~members)[order[:, :k]].sum(axis=1) / (~members).sum()
    posterior = witness.learn(X, members, None).posterior(X)
    guesses = []
    for row in range(n):
        found = members[order[row, 1 : k + 1]]
        rest = members.sum() - members[row], (~members).sum() - (not members[row])
        guesses.append(found.sum() / rest[0] > (~found).sum() / rest[1])
    advantage = np.mean(array(guesses)[members]) - np.mean(array(guesses)[~members])
    labelings = array([members, np.roll(members, 1)])
    estimated = witness.estimate(X, labelings, np.random.default_rng(1))
    return np.allclose(posterior, inside / (inside + outside)), np.isclose(estimated[0], advantage)


def compare_votes_beside(constant):
    """Return whether a column of one value leaves the votes of neighbors as they are."""
    rng = np.random.default_rng(0)
    X, members = rng.normal(size=(60, 20)), np.arange(60) % 2 > 0
    columns = X, np.column_stack([X, np.full(60, constant)])
    votes = [_witness.NeighborsWitness(5, 1).learn(Z, members, None).posterior(Z) for Z in columns]
    return np.array_equal(*votes)


def count_neighbors(n, n_neighbors=None):
    witness = _witness.NeighborsWitness(n_neighbors, None)
    counts = []
    for n_spare in (0, 1):
        witness._build(np.arange(n)[:, None] * 1.0, n_spare)
        counts.append(witness._n_neighbors)
    return tuple(counts)


def learn_on_a_grid(scale):
    """Return what a witness of two far groups says on them, between them and beyond."""
    X = np.append(np.arange(8.0), np.arange(200.0, 208.0))[:, None] * scale
    witness = _witness.GridKernelWitness(1.0).learn(X, np.arange(16) < 8, None)
    asked = array([3.5, 60.0, 150.0, 203.5, -1e3, 1e3])[:, None] * scale
    return witness.posterior(asked).round(9)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _gaussian: [
        (
            lambda: np.abs(
                _gaussian._compute_whitening(array([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]]))
            ),
            [[0.0, 0.5], [0.25, 0.0]],
        ),
        (lambda: _gaussian._compute_whitening(array([[1.0, 1.0], [1.0, 1.0]])).shape, (2, 1)),
    ],
    _mean_glir: [
        (lambda: _mean_glir._saddlepoint(3.0, 4.0, 2.0), (-0.920058195, -0.744852194)),
        (lambda: _mean_glir._saddlepoint(0.5, 4.0, 2.0), (-2.56417524, -1.3188468)),
        (lambda: _mean_glir._log_tail(1.5, 2.0), -3.09619513),
    ],
    _refits: [
        (lambda: _refits.sides_of_log_odds(0.0, np.log(3.0)), ((0.5, 0.75), (0.0, 1.09861229))),
        (
            lambda: _refits.sides_of_proba(array([0.0, 0.5]), array([1.0, 0.75]), 0.1),
            (([0.0, 0.5], [1.0, 0.75]), ([-2.19722458, 0.0], [2.19722458, 1.09861229])),
        ),
        (
            lambda: _refits.sides_of_residuals(array([1.0, -2.0]), array([0.5, 4.0])),
            (([-1.0, -2.0], [-0.5, -4.0]), ([-0.0, -0.693147181], [0.693147181, -1.38629436])),
        ),
        (
            lambda: _refits.why_not_bags(NS(bootstrap=False), 3),
            "bootstrap=False, so that each of its estimators may have seen every record",
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=None, estimators_samples_=[array([0, 2, 1])]), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=1.0, estimators_samples_=[array([0, 2])]), 3
            ),
            "it was fitted on another number of records than 3",
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=0.5, estimators_samples_=[array([0, 2])]), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=0.5, estimators_samples_=[array([0, 3])]), 3
            ),
            "it was fitted on another number of records than 3",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=None, priors=None), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=0.1, covariance_estimator=None, priors=None), 3
            ),
            "its covariance is shrunk or estimated by another estimator",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=1, priors=None), 3
            ),
            "its covariance is shrunk or estimated by another estimator",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=None, priors=[1]), 3
            ),
            "its priors are given",
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=4, n_neighbors=1, weights=None), 3),
            "it was fitted on 4 records, not 3",
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=3, n_neighbors=3, weights=None), 3),
            "it has n_neighbors=3, and n_samples=3 has fewer others",
        ),
        (
            lambda: _refits.why_not_neighbors(
                NS(n_samples_fit_=3, n_neighbors=2, weights="uniform"), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=3, n_neighbors=2, weights=len), 3),
            "its weights are a function of its own",
        ),
        (
            lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([1.0])), 3),
            "it was fitted on 2 records, not 3",
        ),
        (lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([1.0])), 2), None),
        (
            lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([[1.0]])), 2),
            "it has several outputs",
        ),
        (
            lambda: _refits._invert_scatter(array([[4.0, 0.0], [0.0, 0.25]])),
            [[0.25, 0.0], [0.0, 4.0]],
        ),
        (
            lambda: _refits._invert_scatter(array([[4.0, 4.0], [4.0, 4.0]])),
            [[0.0625, 0.0625], [0.0625, 0.0625]],
        ),
        (lambda: _refits._log_odds(np.log(array([[1.0, 2.0, 5.0]])), array([2])), [0.510825624]),
    ],
    _total_variation: [
        (lambda: _total_variation.summarize_null(0.5, array([])), (nan, nan)),
        (lambda: _total_variation.summarize_null(nan, array([0.5])), (nan, nan)),
        (lambda: _total_variation.summarize_null(0.5, array([0.5, 0.25, 0.75])), (0.5, 0.75)),
    ],
    _witness: [
        (
            lambda: _witness.log_ratio(array([0.0, 1.0, 0.0, 2.0]), array([0.0, 0.0, 1.0, 1.0])),
            [0.0, inf, -inf, 0.693147181],
        ),
        *(
            (lambda scale=scale: learn_on_a_grid(scale), [1.0, 0.5, 0.5, 0.0, 0.5, 0.5])
            for scale in (1e-6, 1.0, 1e6)
        ),
        (lambda: compare_neighbors(20, 3, 2), (True, True)),
        (lambda: compare_neighbors(21, None, 1), (True, True)),
        (lambda: compare_neighbors(20, 5, 7), (True, True)),
        (lambda: compare_votes_beside(1.0), True),
        (lambda: compare_votes_beside(0.1), True),
        (lambda: count_neighbors(16), (5, 5)),
        (lambda: count_neighbors(35), (5, 5)),
        (lambda: count_neighbors(36), (7, 7)),
        (lambda: count_neighbors(4, 9), (4, 3)),
        (lambda: _witness.balanced_posterior(array([1.0, 0.0]), array([3.0, 0.0])), [0.25, 0.5]),
        (
            lambda: _witness.advantage_of_guesses(
                array([1.0, 0.0, 1.0]), array([True, True, False])
            ),
            -0.5,
        ),
        (lambda: _witness._bandwidth(array([2.0, 2.0]), 0.25, 2.0), 0.25),
        (
            lambda: _witness._log_sum_exp(np.log(array([[1.0, 3.0], [2.0, 2.0]]))),
            [1.38629436, 1.38629436],
        ),
        (lambda: type(_witness.make_kernels(1, 5)).__name__, "GridKernelWitness"),
        (lambda: type(_witness.make_kernels(2, 5)).__name__, "SampledKernelWitness"),
    ],
    bounds: [
        (lambda: bounds.like_input(array(0.5)), 0.5),
        (lambda: bounds.like_input(array([0.5])), [0.5]),
        (
            lambda: bounds._success_from_variation(
                array([0.0, 0.5, 1.0]), array([0.25, 0.75, 0.75]), "a"
            ),
            [0.75, 0.75, 1.0],
        ),
    ],
    gaps: [
        (lambda: gaps._variation(array([0.0, 2 * np.arctanh(0.5)])), [0.0, 0.5]),
        (lambda: gaps._squared_hellinger(array([0.0, 2.0])), [0.0, 0.351945726]),
        (lambda: gaps._shannon(array([0.0, np.log(3.0)])), [0.0, 0.130812036]),
        (lambda: gaps._kullback_leibler(array([0.0, np.log(3.0), -inf])), [0.0, 1.64791843, 0.0]),
        (lambda: gaps._energy(array([[0.0], [2.0]]), array([[1.0], [5.0]])), 1.41421356),
        (
            lambda: gaps._energy(array([[0.0, 0.0], [2.0, 0.0]]), array([[1.0, 0.0], [5.0, 0.0]])),
            1.41421356,
        ),
        (
            lambda: gaps._energy(array([[0.0, 0.0], [2.0, 0.0]]), array([[0.0, 0.0], [2.0, 0.0]])),
            0.0,
        ),
        (
            lambda: gaps._mean_distance(array([[0.0], [2.0], [4.0]]), array([[1.0], [5.0]])),
            2.33333333,
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import leakage
    from skmia.leakage import bounds, gaps

    found, n_compared = compare_defaults_of(leakage, bounds, gaps)
    assert not found
    assert n_compared >= 100
