"""Gradients as factors are the matrix that they stand for."""

import numpy as np
import pytest
from scipy import sparse

from skmia._core.coefficients import (
    GradientRows,
    as_dense,
    count_coefficients,
    multiply_columns,
    multiply_pairs,
    multiply_rows,
    multiply_transposed,
    square_columns,
    square_rows,
    take_record_coefficients,
)

N, D, K = 40, 7, 3


def make_factors(kind, has_intercept, n_outputs=K, n=N):
    """Factors of gradients, and their matrix, computed entry by entry."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    X[:, 2] = 0
    slopes = rng.normal(size=(n, n_outputs))
    given = sparse.csr_array(X) if kind == "sparse" else X
    rows = GradientRows(given, slopes, has_intercept=has_intercept)
    columns = np.column_stack([X, np.ones(n)]) if has_intercept else X
    matrix = np.array([slopes[:, k] * column for k in range(n_outputs) for column in columns.T])
    kept = np.flatnonzero(np.abs(matrix).sum(axis=1))
    return rows.keep(kept), matrix[kept]


def test_as_many_equations_as_records_are_not_all_equations():
    X = np.arange(8.0).reshape(4, 2)
    rows = GradientRows(X, np.ones((4, 3)), has_intercept=False)
    kept = rows.keep(np.array([0, 2, 3, 5]))
    assert (rows.shape, kept.shape) == ((6, 4), (4, 4))
    np.testing.assert_array_equal(as_dense(kept), X.T[[0, 0, 1, 1]])
    assert rows.keep(np.arange(6)).kept is None


@pytest.fixture(params=["dense", "sparse"])
def kind(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["intercept", "no intercept"])
def has_intercept(request):
    return request.param


@pytest.fixture(params=[1, K], ids=["one output", "several outputs"])
def pair(kind, has_intercept, request):
    rows, matrix = make_factors(kind, has_intercept, request.param)
    assert rows.shape == matrix.shape and len(matrix) % (D + has_intercept)
    rng = np.random.default_rng(0)
    by_row, by_column = rng.random(len(matrix)) + 0.5, rng.random(N)
    rows = multiply_columns(multiply_rows(rows, by_row), by_column)
    return rows, by_row[:, None] * matrix * by_column


@pytest.mark.parametrize("block", [1 << 20, 1], ids=["at once", "in blocks"])
def test_products_are_those_of_the_matrix(pair, block, monkeypatch):
    monkeypatch.setattr("skmia._core.coefficients.BLOCK", block)
    rows, matrix = pair
    rng = np.random.default_rng(1)
    bits, values = rng.random(N), rng.normal(size=len(matrix))
    np.testing.assert_allclose(rows @ bits, matrix @ bits, atol=1e-12)
    np.testing.assert_allclose(rows.T @ values, matrix.T @ values, atol=1e-12)
    np.testing.assert_allclose(square_rows(rows), (matrix**2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(square_columns(rows), (matrix**2).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(as_dense(rows), matrix, atol=1e-12)
    gram = multiply_transposed(rows, np.float64)
    np.testing.assert_allclose(gram, matrix.T @ matrix, atol=1e-12)
    assert multiply_transposed(rows, np.float32).dtype == np.float32


def test_some_records_have_their_columns(pair):
    rows, matrix = pair
    some = np.array([3, 1, 30])
    np.testing.assert_allclose(
        as_dense(take_record_coefficients(rows, some)), matrix[:, some], atol=1e-12
    )
    found = multiply_pairs(rows, take_record_coefficients(rows, some))
    np.testing.assert_allclose(found, matrix.T @ matrix[:, some], atol=1e-12)
    single = rows.astype(np.float32)
    assert (single @ np.ones(N, dtype=np.float32)).dtype == np.float32
    np.testing.assert_allclose(as_dense(single), matrix, rtol=1e-6, atol=1e-6)


def test_a_sparse_matrix_has_the_same_functions(pair):
    rows, matrix = pair
    stored = sparse.csr_array(matrix)
    weights = np.linspace(1, 2, len(matrix))
    both = multiply_rows(rows, weights), multiply_rows(stored, weights)
    for one in (square_rows, square_columns, as_dense):
        np.testing.assert_allclose(*map(one, both), atol=1e-12)
    np.testing.assert_allclose(
        *(multiply_pairs(some, take_record_coefficients(some, np.arange(5))) for some in both),
        atol=1e-12,
    )
    moved = [as_dense(multiply_columns(some, np.linspace(0, 1, N))) for some in both]
    np.testing.assert_allclose(*moved, atol=1e-12)


def test_coefficients_are_counted_and_not_held():
    X = np.random.default_rng(0).normal(size=(100, 50))
    rows = GradientRows(X, X[:, :20])
    assert count_coefficients(rows) == 100 * 51 * 20
    assert rows.X is X  # nothing is copied
    text = sparse.random(100, 500, 0.01, format="csr", random_state=0)
    assert count_coefficients(GradientRows(text, X[:, :2])) == 2 * (text.nnz + 100)
