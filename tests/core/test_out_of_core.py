"""Operations on tables in files give what numpy gives in memory."""

import joblib
import numpy as np
import pytest

from skmia._core import moments, out_of_core


@pytest.fixture(params=[False, True], ids=["memory", "files"])
def blocks(request, monkeypatch):
    """Blocks of a few rows, and tables in memory or in files."""
    monkeypatch.setattr(moments, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(out_of_core, "_BLOCK_VALUES", 7)
    monkeypatch.setattr(out_of_core, "_MOST_IN_MEMORY", 0 if request.param else 1 << 24)


@pytest.fixture(params=[1, 6, 7, 8, 100])
def values(request, blocks):
    return np.random.default_rng(0).integers(request.param, size=request.param) * 0.5


def test_places_are_those_of_a_sort_by_several_keys(values):
    rng = np.random.default_rng(1)
    keys = [rng.normal(size=len(values)), rng.integers(3, size=len(values)), values]
    for some in (keys[:1], keys[2:], keys[1:], keys, [*keys, np.ones(len(values))]):
        places = out_of_core.sort_places(some)
        np.testing.assert_array_equal(places[np.lexsort(some)], np.arange(len(values)))


def test_distinct_values_and_their_numbers_are_those_of_numpy(values):
    distinct, first, numbers, counts = np.unique(values, True, True, True)
    found = out_of_core.number_table(values)
    np.testing.assert_array_equal(found[0], distinct)
    np.testing.assert_array_equal(found[1], numbers)
    np.testing.assert_array_equal(out_of_core.find_first(numbers), first)
    np.testing.assert_array_equal(out_of_core.find_repeated(values), distinct[counts > 1])
    for some in (distinct[::-2], distinct[:0], np.array([1e9, -1.0])):
        np.testing.assert_array_equal(out_of_core.are_among(values, some), np.isin(values, some))


def test_what_is_taken_is_what_indexing_takes(values):
    mask, n = values < np.median(values), len(values)
    for some in (mask, ~mask):
        np.testing.assert_array_equal(out_of_core.find_where(some), np.flatnonzero(some))
        np.testing.assert_array_equal(out_of_core.take_where(some, values), values[some])
    np.testing.assert_array_equal(out_of_core.count_up(n), np.arange(n))
    table = np.stack([values, -values], axis=1)
    for places in (np.arange(n), np.arange(n)[::-1], np.arange(n)[1:], np.flatnonzero(mask)):
        np.testing.assert_array_equal(out_of_core.take_table(values, places), values[places])
        np.testing.assert_array_equal(out_of_core.take_table(table, places), table[places])


def test_order_is_that_of_numpy(values):
    ordered, others = np.sort(values), values[::2] + 0.5
    np.testing.assert_array_equal(out_of_core.sorted_table(values), ordered)
    assert out_of_core.find_smallest(values, len(values)) == ordered[-1]
    assert out_of_core.find_smallest(values, 1) == ordered[0]
    found = out_of_core.count_below(values, others)
    below = (others < values[:, None]).sum(axis=1), (others <= values[:, None]).sum(axis=1)
    np.testing.assert_array_equal(found, sum(below))


def test_objects_are_never_in_files(monkeypatch):
    monkeypatch.setattr(out_of_core, "_MOST_IN_MEMORY", 0)
    assert out_of_core.empty_table(3, object).tolist() == [None] * 3


def _double(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(out_of_core, "_MOST_IN_MEMORY", 0)
        doubled = out_of_core.empty_table(table.shape)
    doubled[:] = 2 * table
    return doubled


@pytest.mark.usefixtures("copied_workers")
def test_tables_in_files_travel_to_workers_and_back(monkeypatch):
    monkeypatch.setattr(out_of_core, "_MOST_IN_MEMORY", 0)
    table = out_of_core.empty_table((2, 50))
    table[:] = np.arange(100).reshape(2, 50)
    tasks = (joblib.delayed(_double)(some) for some in (table, table[:, 5:9]))
    for found, some in zip(joblib.Parallel(2)(tasks), (table, table[:, 5:9]), strict=True):
        np.testing.assert_array_equal(found, 2 * some)
