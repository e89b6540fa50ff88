"""Sums in single precision give the moments of the numbers that they were handed."""

import functools

import numpy as np
import pytest

from skmia._core.moments import (
    Moments,
    are_pairs,
    compute_both_moments,
    compute_moments,
    count_models,
    exchange,
)
from skmia._core.pseudo_victims import leave_out_model

N_RECORDS = 60


def draw_pairs(n_models, rng):
    inside = rng.random((n_models, N_RECORDS)) < 0.5
    inside[1::2] = ~inside[::2]
    return inside


def draw_singles(n_models, rng):
    inside = rng.random((n_models, N_RECORDS)) < 0.5
    inside[0], inside[-1] = True, False
    return inside


def draw_blocks(n_models, rng):
    """The first models were trained on half of the records, the last ones on the other half."""
    inside = np.zeros((n_models, N_RECORDS), dtype=bool)
    inside[: n_models // 2, ::2] = inside[n_models // 2 :, 1::2] = True
    return inside


def draw_few(n_models, rng):
    inside = np.zeros((n_models, N_RECORDS), dtype=bool)
    inside[rng.integers(n_models, size=N_RECORDS), np.arange(N_RECORDS)] = True
    return inside


DESIGNS = [draw_pairs, draw_singles, draw_blocks, draw_few]


def known_moments(shadows, chosen):
    """Of each record by itself, in double precision."""
    groups = [
        [values[chosen[:, i], i].astype(np.float64) for i in range(shadows.shape[2])]
        for values in shadows
    ]
    mean = np.array([[group.mean() for group in row] for row in groups])
    squares = np.array([[((group - group.mean()) ** 2).sum() for group in row] for row in groups])
    return Moments(chosen.sum(axis=0), mean, squares)


@functools.cache
def draw_known(n_models, design, n_queries):
    """Values of models, what these were trained on, and the moments of both sides."""
    rng = np.random.default_rng(0)
    inside = design(n_models, rng)
    shadows = rng.normal(3, 2, size=(n_queries, *inside.shape)).astype(np.float32) + inside
    return shadows, inside, known_moments(shadows, inside), known_moments(shadows, ~inside)


def check_moments(moments, expected, rtol=1e-5, atol=1e-6):
    np.testing.assert_array_equal(moments.count, expected.count)
    np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-6, atol=atol)
    np.testing.assert_allclose(moments.squares, expected.squares, rtol=rtol, atol=atol)


@pytest.mark.parametrize("block", [(50, 1), (7, 4), (1 << 13, 32)])
@pytest.mark.parametrize("n_queries", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_models", [2, 6, 130])
def test_moments_of_each_side(monkeypatch, n_models, design, n_queries, block):
    for name, size in zip(("_N_RECORDS", "_N_MODELS"), block, strict=True):
        monkeypatch.setattr(f"skmia._core.moments.{name}", size)
    shadows, inside, known_into, known_out = draw_known(n_models, design, n_queries)
    into, out = compute_both_moments(shadows, inside, ~inside)
    check_moments(into, known_into)
    check_moments(out, known_out)
    check_moments(compute_moments(shadows, ~inside), known_out)


@pytest.mark.parametrize("narrow_inside", [True, False])
@pytest.mark.parametrize("design", [draw_pairs, draw_singles, draw_blocks])
def test_narrow_side_keeps_its_digits_far_from_a_wide_one(design, narrow_inside):
    # Sums around a common origin would leave nothing of squares a millionth of the others.
    rng = np.random.default_rng(1)
    inside = design(64, rng)
    narrow = inside == narrow_inside
    shadows = np.where(narrow, 5.0, -4.0) + np.where(narrow, 1e-3, 3.0) * rng.normal(
        size=inside.shape
    )
    shadows = shadows[None].astype(np.float32)
    for moments, chosen in zip(
        compute_both_moments(shadows, inside, ~inside), (inside, ~inside), strict=True
    ):
        check_moments(moments, known_moments(shadows, chosen), rtol=1e-5, atol=0)


def test_one_far_value_does_not_spoil_the_moments():
    # It is the first of its side, which the origin of the sums rests on.
    rng = np.random.default_rng(2)
    inside = np.tile([[True], [False]], (32, N_RECORDS))
    shadows = rng.normal(size=(1, *inside.shape)).astype(np.float32)
    shadows[:, :2] = 1e4
    into, out = compute_both_moments(shadows, inside, ~inside)
    check_moments(into, known_moments(shadows, inside), rtol=1e-5)
    check_moments(out, known_moments(shadows, ~inside), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ">f4"])
def test_evidence_of_other_types_is_read(dtype):
    # A memory-mapped file can hold any of them.
    rng = np.random.default_rng(3)
    inside = draw_pairs(32, rng)
    shadows = rng.normal(size=(1, *inside.shape)).astype(dtype)
    for moments, chosen in zip(
        compute_both_moments(shadows, inside, ~inside), (inside, ~inside), strict=True
    ):
        check_moments(moments, known_moments(shadows, chosen))


def test_moments_of_a_record_do_not_depend_on_its_company():
    rng = np.random.default_rng(4)
    inside = draw_singles(40, rng)
    shadows = rng.normal(size=(1, *inside.shape)).astype(np.float32)
    together = compute_both_moments(shadows, inside, ~inside)
    for i in range(N_RECORDS):
        alone = compute_both_moments(shadows[..., [i]], inside[:, [i]], ~inside[:, [i]])
        for moments, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(single.squares[0, 0], moments.squares[0, i], rtol=1e-5)


def test_models_on_neither_side_are_left_out_of_account():
    rng = np.random.default_rng(5)
    inside = draw_pairs(16, rng)
    shadows = rng.normal(size=(1, *inside.shape)).astype(np.float32)
    rest = np.ones((16, 1), dtype=bool)
    rest[[4, 5]] = False
    assert are_pairs(inside, ~inside)
    assert not are_pairs(inside & rest, ~inside & rest)
    assert not are_pairs(inside, ~inside & rest)
    for chosen in (inside & rest, ~inside & rest):
        check_moments(compute_moments(shadows, chosen), known_moments(shadows, chosen))
    into, out = compute_both_moments(shadows, inside & rest, ~inside & rest)
    check_moments(into, known_moments(shadows, inside & rest))
    check_moments(out, known_moments(shadows, ~inside & rest))


def test_sides_that_agree_have_no_spread():
    # Models of a record often agree on one side, such as trees that have seen it.
    rng = np.random.default_rng(8)
    inside = draw_singles(300, rng)
    for values in (np.where(inside, 1 / 3, rng.normal(size=inside.shape)), inside - 1 / 7):
        shadows = values[None].astype(np.float32)
        into, out = compute_both_moments(shadows, inside, ~inside)
        assert (into.squares == 0).all()
    assert out.squares.max() < 1e-11


def test_models_are_counted_beyond_a_byte():
    chosen = np.random.default_rng(9).random((700, N_RECORDS)) < 0.9
    np.testing.assert_array_equal(count_models(chosen), chosen.sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exchange_is_a_choice_and_its_own_inverse(dtype):
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(2, 3, 5, 7)).astype(dtype)
    first[0, 0, 0], second[0, 0, 1], second[0, 0, 2] = np.inf, -0.0, np.finfo(dtype).tiny
    where = rng.random((5, 7)) < 0.5
    left, right = first.copy(), second.copy()
    exchange(left, right, where)
    np.testing.assert_array_equal(left, np.where(where, second, first))
    np.testing.assert_array_equal(right, np.where(where, first, second))
    exchange(left, right, where)
    np.testing.assert_array_equal(left, first)
    np.testing.assert_array_equal(right, second)


@pytest.mark.parametrize("all_chosen", [True, False])
def test_moments_without_a_model_are_those_of_the_others(all_chosen):
    rng = np.random.default_rng(7)
    chosen = np.ones((9, N_RECORDS), bool) if all_chosen else draw_singles(9, rng)
    chosen[:2] = True
    values = rng.normal(4, 1, size=(2, 9, N_RECORDS))
    whole = known_moments(values, chosen)
    whole = Moments(whole.count, whole.mean[:, None], whole.squares[:, None])
    rest = leave_out_model(whole, values, True if all_chosen else chosen)
    for k in range(9):
        others = chosen & (np.arange(9) != k)[:, None]
        expected = known_moments(values, others)
        count = rest.count if all_chosen else rest.count[k]
        single = Moments(count, rest.mean[:, k], rest.squares[:, k])
        check_moments(single, expected, rtol=1e-9, atol=1e-9)
