"""Influence by coefficients, by records, in blocks and of sparse tables: the same numbers."""

import numpy as np
import pytest
from scipy import sparse

from skmia._core import linear_influence
from skmia._core.linear_influence import (
    CholeskyFactor,
    DualInfluence,
    LinearInfluence,
    expect_influence,
    make_influence,
)
from skmia.victims._linear_model import LogisticLoss, SoftmaxLoss, SquaredLoss


def make_problem(loss, n, d, n_outputs=1, with_ones=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    penalty = np.full(d, 0.7)
    if with_ones:
        X, penalty = np.column_stack([X, np.ones(n)]), np.append(penalty, 0.0)
    y = rng.integers(0, max(2, n_outputs), n)
    curve = loss.curve(rng.normal(size=(n, n_outputs)), y)
    return X, curve, rng.random(n), penalty


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()])
@pytest.mark.parametrize("with_ones", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_pairs_of_records_tell_what_pairs_of_coefficients_do(loss, with_ones, kind, monkeypatch):
    monkeypatch.setattr(linear_influence, "_BLOCK", 300)  # several blocks
    X, curve, weights, penalty = make_problem(loss, 40, 80, with_ones=with_ones)
    rng = np.random.default_rng(1)
    others = np.concatenate([X, rng.normal(size=(5, X.shape[1]))])
    expected = LinearInfluence(X, curve, weights, penalty)
    found = make_influence(kind(X), curve, weights, penalty)
    assert isinstance(found, DualInfluence)
    signs, pulls = rng.choice([-1.0, 1.0], size=(45, 1)), rng.normal(size=(40, 1))
    np.testing.assert_allclose(
        found.lever(kind(others), signs), expected.lever(others, signs), rtol=1e-9
    )
    np.testing.assert_allclose(
        found.project(found.scatter(kind(X), pulls), kind(others), signs),
        expected.project(expected.scatter(X, pulls), others, signs),
        rtol=1e-9,
    )


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_blocks_of_sparse_rows_of_many_classes_are_those_of_one_dense_table(kind, monkeypatch):
    X, curve, weights, penalty = make_problem(SoftmaxLoss(), 50, 6, n_outputs=4)
    # By hand: the sum over records of the bends of pairs of outputs times x x'.
    hessian = np.einsum("n,nab,ni,nj->aibj", weights, curve.bends, X, X).reshape(28, 28)
    free = np.diagonal(hessian).reshape(4, -1).mean(axis=0)
    hessian += np.kron(np.ones((4, 4)), np.diag(free)) + np.diag(np.tile(penalty, 4))
    inverse = np.linalg.inv(hessian)
    monkeypatch.setattr(linear_influence, "_BLOCK", 60)
    found = make_influence(kind(X), curve, weights, penalty)
    np.testing.assert_allclose(found.inverse, inverse, rtol=1e-8, atol=1e-12)
    directions = np.random.default_rng(2).normal(size=(50, 4))
    gradients = (directions[:, :, None] * X[:, None, :]).reshape(50, -1)
    expected = np.einsum("ni,ij,nj->n", gradients, inverse, gradients)
    np.testing.assert_allclose(found.lever(kind(X), directions), expected, rtol=1e-8)
    moves = found.move_alone(kind(X), curve, weights)
    np.testing.assert_allclose(moves, found.move(found.leverage(X), curve, weights), rtol=1e-8)


def test_a_factor_inverts_a_matrix_of_any_scale():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(600, 600))
    matrix = half @ half.T + np.eye(600)
    matrix *= np.outer(*[10.0 ** rng.uniform(-3, 3, 600)] * 2)
    inverse = CholeskyFactor(matrix).invert()
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-14)
    np.testing.assert_allclose(inverse @ matrix, np.eye(600), atol=1e-6)


def test_coefficients_without_a_penalty_that_records_cannot_tell_apart_are_refused():
    X, curve, weights, _ = make_problem(SquaredLoss(), 20, 30, with_ones=False)
    with pytest.raises(ValueError, match="not unique"):
        make_influence(X, curve, weights, np.zeros(30))
    X[:, -1] = 0.0  # one column without a penalty and without a number
    with pytest.raises(ValueError, match="not unique"):
        make_influence(X, curve, weights, np.append(np.ones(29), 0.0))


def test_what_is_held_is_known_before():
    cost = expect_influence(10_000, 310_000, np.ones(31), 1000, 4)
    assert cost.n_bytes > 3 * 8 * 31_000**2
    assert "31,000 x 31,000 coefficients" in cost.what
    dual = expect_influence(1000, 5e6, np.ones(5000), 1, 4)
    assert "1,000 x 1,000 records" in dual.what and dual.n_bytes < 200e6
