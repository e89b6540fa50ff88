import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

from skmia.attacks import _bit_solver
from skmia.attacks._bit_solver import DenseInverter, LowRankInverter, multiply_transposed, propagate

N = 200


def draw_rows(n_rows, seed=0):
    """Random coefficients, half of them zero in one half of the rows, and most in the other."""
    rng = np.random.default_rng(seed)
    shares = np.where(np.arange(n_rows) % 2, 0.5, 0.01)[:, None]
    return sparse.csr_array(rng.normal(size=(n_rows, N)) * (rng.random((n_rows, N)) < shares))


def draw_trees(seed=0, n_trees=60, n_leaves=25):
    """Noisy counts of members in the leaves of random trees."""
    rng = np.random.default_rng(seed)
    bits = rng.permutation(N) < N // 2
    leaves = rng.integers(n_leaves, size=(n_trees, N)) + n_leaves * np.arange(n_trees)[:, None]
    entries = np.full(n_trees * N, 0.5), (leaves.ravel(), np.tile(np.arange(N), n_trees))
    rows = sparse.csr_array(entries, shape=(n_trees * n_leaves, N))
    return rows, rows @ bits + rng.normal(size=n_trees * n_leaves), bits


def test_products_do_not_depend_on_the_density_of_rows():
    rows = draw_rows(60)
    expected = (rows.T @ rows).toarray()
    np.testing.assert_allclose(multiply_transposed(rows, np.float64), expected, atol=1e-12)
    assert multiply_transposed(rows[::2], np.float32).dtype == np.float32  # sparse rows alone


@pytest.mark.parametrize("most, error", [(0, 1e-7), (_bit_solver._MOST_ROUNDING, 25e-3)])
def test_moments_of_a_dense_system_are_those_of_its_inverse(most, error, monkeypatch):
    monkeypatch.setattr(_bit_solver, "_MOST_ROUNDING", most)
    rows = draw_rows(300)
    precision, field = np.linspace(1, 9, N), np.arange(float(N))
    whole = np.linalg.inv((rows.T @ rows).toarray() + np.diag(precision))
    mean, evidence, inverse = DenseInverter(rows)(precision, field, np.zeros(N), np.arange(N))
    np.testing.assert_allclose(1 / (evidence + precision), whole.diagonal(), rtol=error)
    np.testing.assert_allclose(mean, whole @ field, atol=1e-4)
    np.testing.assert_allclose(inverse @ np.eye(N), whole, atol=error * whole.max())


def test_single_precision_is_left_where_it_rounds_too_much():
    rows = 1e4 * draw_rows(N - 20)  # some directions of the bits are in no equation
    precision = np.ones(N)
    invert = DenseInverter(rows)
    _, evidence, _ = invert(precision, np.zeros(N), np.zeros(N), np.arange(N))
    assert invert._gram.dtype == np.float64
    whole = np.linalg.inv((rows.T @ rows).toarray() + np.diag(precision))
    np.testing.assert_allclose(1 / (evidence + precision), whole.diagonal(), rtol=1e-3)


def test_bits_of_high_precision_are_known():
    rows, bits = draw_rows(300), np.zeros(N)
    unsure, sure = np.arange(0, 60), np.arange(60, N)
    bits[sure] = sure % 2
    precision = np.where(np.arange(N) < 60, 4.0, 1e10)
    whole = (rows.T @ rows).toarray() + np.diag(precision)
    covariance = np.linalg.inv(whole)
    invert = DenseInverter(rows)
    mean, evidence, inverse = invert(precision, precision * bits, bits, unsure)
    np.testing.assert_allclose(mean, covariance @ (precision * bits), atol=1e-4)
    np.testing.assert_allclose(evidence, 1 / covariance.diagonal()[unsure] - 4, rtol=1e-3)
    # Without its own precision, the evidence about one of the known bits.
    whole[sure[0], sure[0]] -= precision[-1]
    expected = 1 / np.linalg.inv(whole)[sure[0], sure[0]]
    np.testing.assert_allclose(invert.judge_sure(inverse, sure[:1]), expected, rtol=1e-3)


def test_with_all_bits_known_the_evidence_is_that_of_their_columns():
    rows, bits = draw_rows(300), np.ones(N)
    invert = DenseInverter(rows)
    mean, evidence, inverse = invert(np.ones(N), np.ones(N), bits, np.array([], dtype=int))
    np.testing.assert_array_equal(mean, bits)
    assert len(evidence) == 0
    squares = (rows**2).sum(axis=0)
    np.testing.assert_allclose(invert.judge_sure(inverse, np.arange(N)), squares, rtol=1e-6)


def test_both_inverters_agree():
    rows = draw_rows(80)
    precision, field = np.linspace(1, 9, N), np.arange(float(N))
    expected = LowRankInverter(rows)(precision, field, np.zeros(N), np.arange(N))
    found = DenseInverter(rows)(precision, field, np.zeros(N), np.arange(N))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-3)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-2)


@pytest.mark.parametrize("name", ["_MOST_ROUNDING", "_RIGID"])
def test_ratios_do_not_depend_on_what_saves_time(name, monkeypatch):
    rows, targets, _ = draw_trees()
    quick = propagate(rows, targets, 0.5)
    assert len(quick.inverse.bits) < N  # some bits are taken for known
    monkeypatch.setattr(_bit_solver, name, 0)
    slow = propagate(rows, targets, 0.5)
    np.testing.assert_allclose(quick.ratios, slow.ratios, rtol=0.02, atol=0.02)
    assert quick.known == pytest.approx(slow.known, abs=1e-4)


def test_rare_members_are_not_ruled_out_by_weak_equations():
    """With five members in a hundred, every bit is nearly sure before any equation is read."""
    rows, targets, _ = draw_trees(n_trees=8)
    solution = propagate(rows, targets, 0.05)
    inverter = LowRankInverter(rows)  # takes no bit for known
    expected = propagate(rows, targets, 0.05, start=solution._replace(inverter=inverter))
    np.testing.assert_allclose(solution.ratios, expected.ratios, atol=0.02)


def test_a_solution_with_another_prior_is_a_start(monkeypatch):
    rows, targets, bits = draw_trees(1)
    plain = propagate(rows, targets, 0.5)
    prior = np.where(bits != (np.random.default_rng(0).random(N) < 0.3), 0.7, 0.3)
    steps = []
    match = _bit_solver._match_moments
    monkeypatch.setattr(_bit_solver, "_match_moments", lambda *a: steps.append(0) or match(*a))
    anew = propagate(rows, targets, prior)
    n_anew = len(steps)
    again = propagate(rows, targets, prior, start=plain)
    assert len(steps) - n_anew < n_anew
    assert again.known == plain.known
    first, second = (_bit_solver.posterior_of(one.ratios, prior) for one in (anew, again))
    assert np.mean(np.abs(first - second)) < 5 * _bit_solver._SETTLED
    assert np.corrcoef(anew.ratios + logit(prior), again.ratios + logit(prior))[0, 1] > 0.999
