"""Arrays in files are indexed like arrays in memory, and read no more than is asked for."""

import joblib
import numpy as np
import pytest

from skmia._core import filed
from skmia._core.filed import FiledArray, Rows, rows_of
from skmia.signals._base import compute_middle


class CountedRows(Rows):
    """Rows of an array in memory that note which columns were read."""

    def __init__(self, array, n_lead):
        self._rows = array.reshape(-1, *array.shape[n_lead:])
        self.n_columns, self.tail = array.shape[n_lead], array.shape[n_lead + 1 :]
        self.dtype, self.spans = array.dtype, []

    def read(self, number, start, stop):
        self.spans.append((int(start), int(stop)))
        return self._rows[number, start:stop]


def make_both(shape=(2, 3, 4, 50), n_lead=3):
    array = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    rows = CountedRows(array, n_lead)
    numbers = np.arange(len(rows._rows)).reshape(shape[:n_lead])
    return array, FiledArray(rows, numbers), rows


KEYS = [
    (0,),
    (1, 2, 3),
    (slice(None), slice(None), slice(2)),
    ([1, 0],),
    (..., slice(5, 9)),
    (..., slice(None, None, -2)),
    (..., 7),
    (..., -1),
    (slice(1), ..., [30, 3, 3, -2]),
    (..., np.arange(50) % 7 == 0),
    (..., np.arange(0)),
]


@pytest.mark.parametrize("key", range(len(KEYS)))
def test_it_is_indexed_like_an_array(key):
    array, filed, _ = make_both()
    key = KEYS[key]
    assert filed[key].shape == array[key].shape
    np.testing.assert_array_equal(np.asarray(filed[key]), array[key])


def test_entries_may_be_arrays():
    array, filed, _ = make_both((3, 20, 4), n_lead=1)
    assert filed.shape == array.shape
    for key in [(slice(None), [4, 2]), (1,), (slice(None), slice(3), 2), (slice(None),) * 2 + (1,)]:
        np.testing.assert_array_equal(np.asarray(filed[key]), array[key])


def test_only_the_columns_asked_for_are_read():
    _, filed, rows = make_both((2, 100_000), n_lead=1)
    filed[:1][..., 10:20]
    filed[:1].take([5, 99_000, 6])
    assert rows.spans == [(10, 20), (5, 7), (99_000, 99_001)]


def test_columns_are_taken_along_the_axis_of_records_alone():
    _, filed, _ = make_both()
    np.testing.assert_array_equal(filed.take([1], axis=-1), filed[..., [1]])
    with pytest.raises(ValueError, match="axis of records"):
        filed.take([1], axis=0)


def test_pieces_are_those_of_rows():
    array, filed, _ = make_both()
    for one, other in zip(rows_of(array), rows_of(filed), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_the_middle_of_pieces_is_that_of_all(n):
    values = np.random.default_rng(n).normal(size=n).astype(np.float32)
    values[: n // 3] = [-np.inf, np.inf, -0.5][n % 3]
    middle = compute_middle(lambda: iter(np.array_split(values, 3)), n)
    np.testing.assert_array_equal(middle, np.sort(values)[[(n - 1) // 2, n // 2]])


# Tables with an entry for each record


@pytest.fixture(params=[False, True], ids=["memory", "files"])
def blocks(request, monkeypatch):
    """Blocks of a few rows, and tables in memory or in files."""
    monkeypatch.setattr(filed, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(filed, "_MOST_IN_MEMORY", 0 if request.param else 1 << 24)


@pytest.fixture(params=[1, 6, 7, 8, 100])
def values(request, blocks):
    return np.random.default_rng(0).integers(request.param, size=request.param) * 0.5


def test_places_are_those_of_a_sort_by_several_keys(values):
    rng = np.random.default_rng(1)
    keys = [rng.normal(size=len(values)), rng.integers(3, size=len(values)), values]
    for some in (keys[:1], keys[2:], keys[1:], keys, [*keys, np.ones(len(values))]):
        order = np.lexsort(some)
        np.testing.assert_array_equal(filed.sort_places(some)[order], np.arange(len(values)))
        sorted_keys = [filed.put_table(key, filed.sort_places(some)) for key in some]
        np.testing.assert_array_equal(sorted_keys, [key[order] for key in some])


def test_distinct_values_and_their_numbers_are_those_of_numpy(values):
    distinct, first, numbers, counts = np.unique(values, True, True, True)
    np.testing.assert_array_equal(filed.distinct_table(values), distinct)
    np.testing.assert_array_equal(filed.find_places(distinct, values), numbers)
    np.testing.assert_array_equal(filed.find_first(numbers), first)
    np.testing.assert_array_equal(filed.find_repeated(values), distinct[counts > 1])
    for some in (distinct[::2], distinct[:0], np.array([-1.0, 1e9])):
        np.testing.assert_array_equal(filed.are_among(some, values), np.isin(values, some))


def test_what_is_taken_is_what_indexing_takes(values):
    mask, n = values < np.median(values), len(values)
    for side in (True, False):
        np.testing.assert_array_equal(filed.find_where(mask, side), np.flatnonzero(mask == side))
        np.testing.assert_array_equal(filed.take_where(mask, side, values), values[mask == side])
    np.testing.assert_array_equal(filed.count_up(n), np.arange(n))
    for places in (np.arange(n), np.arange(n)[::-1], np.arange(n)[1:], np.flatnonzero(mask)):
        np.testing.assert_array_equal(filed.take_table(values, places), values[places])
    assert filed.are_neighbors(np.arange(3, 3 + n))
    assert n == 1 or not filed.are_neighbors(np.append(np.arange(n - 1), n))


def test_objects_are_never_in_files(monkeypatch):
    monkeypatch.setattr(filed, "_MOST_IN_MEMORY", 0)
    assert filed.empty_table(3, object).tolist() == [None] * 3


def _double(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filed, "_MOST_IN_MEMORY", 0)
        doubled = filed.empty_table(table.shape)
    doubled[:] = 2 * table
    return doubled


def test_tables_in_files_travel_to_workers_and_back(monkeypatch):
    monkeypatch.setattr(filed, "_MOST_IN_MEMORY", 0)
    table = filed.empty_table((2, 50))
    table[:] = np.arange(100).reshape(2, 50)
    tasks = (joblib.delayed(_double)(some) for some in (table, table[:, 5:9]))
    for found, some in zip(joblib.Parallel(2)(tasks), (table, table[:, 5:9]), strict=True):
        np.testing.assert_array_equal(found, 2 * some)
