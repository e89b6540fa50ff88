"""Arrays in files are indexed like arrays in memory, and read no more than is asked for."""

import numpy as np
import pytest

from skmia._core.filed_array import FiledArray, RowSource, rows_of
from skmia.signals._base import compute_middle


class CountedRows(RowSource):
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
