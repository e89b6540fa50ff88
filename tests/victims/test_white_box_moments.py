import numpy as np
import pytest
from scipy import stats

from skmia.victims._white_box import _base
from skmia.victims._white_box._base import STATISTICS, summarize_rows


def by_scipy(matrix):
    size = abs(matrix)
    return np.column_stack(
        [
            size.sum(1),
            np.linalg.norm(matrix, axis=1),
            size.max(1),
            matrix.mean(1),
            stats.skew(matrix, axis=1),
            stats.kurtosis(matrix, axis=1),
            size.min(1),
        ]
    )


@pytest.mark.parametrize("cuts", [[], [1], [3, 4, 17], list(range(1, 40))])
def test_statistics_are_those_of_scipy_however_the_columns_come(cuts):
    matrix = np.random.default_rng(0).standard_t(5, size=(6, 40)) + 0.3
    found = summarize_rows(np.split(matrix, cuts, axis=1), np.ones(6))
    np.testing.assert_allclose(found, by_scipy(matrix), rtol=1e-11)


def test_names_say_what_the_columns_are():
    found = summarize_rows([np.array([[3.0, -4.0, 1.0]])], np.ones(1))
    named = dict(zip(STATISTICS, found[0]))
    assert (named["l1"], named["linf"], named["mean"], named["min_abs"]) == (8, 4, 0, 1)
    assert named["l2"] == pytest.approx(26**0.5)


def test_scale_multiplies_the_rows():
    matrix = np.random.default_rng(1).normal(size=(3, 10))
    scale = np.array([1e-9, 2.0, 1e6])
    np.testing.assert_allclose(
        summarize_rows([matrix[:, :4], matrix[:, 4:]], scale), by_scipy(matrix * scale[:, None])
    )


def test_large_mean_costs_no_digits():
    matrix = np.random.default_rng(2).exponential(size=(4, 200))
    found = summarize_rows(np.split(matrix + 1e6, 5, axis=1), np.ones(4))
    np.testing.assert_allclose(found[:, 4:6], by_scipy(matrix)[:, 4:6], rtol=1e-7)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_equal_entries_have_no_skewness(value):
    parts = [np.full((2, 7), value), np.full((2, 3), value)]
    np.testing.assert_array_equal(summarize_rows(parts, np.ones(2))[:, 4:6], 0)


def test_single_entry():
    found = summarize_rows([np.array([[-2.0]])], np.ones(1))
    np.testing.assert_array_equal(found, [[2, 2, 2, -2, 0, 0, 2]])


@pytest.mark.parametrize("on_gpu", [False, True])
def test_tensors_are_summed_in_double_precision(on_gpu, monkeypatch):
    torch = pytest.importorskip("torch")
    if on_gpu:  # what is done there runs anywhere
        monkeypatch.setattr(_base, "_cut", lambda part: [part])
    matrix = np.random.default_rng(3).normal(size=(3, 1000)).astype(np.float32)
    parts = [torch.from_numpy(part.copy()) for part in np.split(matrix, 4, axis=1)]
    found = summarize_rows(parts, np.ones(3))
    np.testing.assert_allclose(found, by_scipy(matrix.astype(np.float64)), rtol=1e-10)


def test_blocks_of_columns_do_not_matter(monkeypatch):
    matrix = np.random.default_rng(4).normal(size=(3, 100))
    monkeypatch.setattr(_base, "_BLOCK", 21)
    np.testing.assert_allclose(summarize_rows([matrix], np.ones(3)), by_scipy(matrix), rtol=1e-11)
