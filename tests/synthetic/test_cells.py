import itertools

import numpy as np
import pandas as pd
import pytest
from cells import slow_but

from skmia.synthetic._cells import (
    TableCells,
    find_nearest_rows,
    find_rows_within,
    iter_blocks,
    iter_nearest_without,
    take,
)


def draw_table(rng, n_rows, kind):
    numbers = rng.normal(size=(n_rows, 3))
    numbers[:, 1] = rng.integers(0, 4, n_rows)
    if kind == "missing":
        numbers[rng.random((n_rows, 3)) < 0.2] = np.nan
    table = pd.DataFrame(numbers).add_prefix("number ")
    words = pd.DataFrame(rng.choice(list("abc"), (n_rows, 4))).add_prefix("word ")
    words[rng.random((n_rows, 4)) < 0.1] = None
    return {"numbers": table, "words": words}.get(kind, table.join(words))


def lacks(value):
    """As isna of pandas, which takes a hundred times as long for one value."""
    return value is None or value != value


def measure_by_hand(rows, others):
    """Gower's distances summed over columns, one pair after the other."""
    total = np.zeros((len(rows), len(others)))
    for name in rows:
        is_number = pd.api.types.is_numeric_dtype(others[name])
        scale = np.ptp(others[name].dropna()) if is_number else 1.0
        for i, own in enumerate(rows[name].tolist()):
            for j, other in enumerate(others[name].tolist()):
                if lacks(own) or lacks(other):
                    total[i, j] += lacks(own) != lacks(other)
                else:
                    total[i, j] += abs(own - other) / scale if is_number else own != other
    return total


@pytest.mark.parametrize("kind", ["mixed", "missing", "numbers", "words"])
def test_nearest_rows_are_those_of_all_pairs(kind):
    rng = np.random.default_rng(0)
    rows, others = draw_table(rng, 30, kind), draw_table(rng, 70, kind)
    rows.iloc[0, 0] = 50.0 if kind != "words" else "unknown"
    cells = TableCells((rows, others), ("X", "synthetic"))
    expected = measure_by_hand(rows, others)
    columns = range(rows.shape[1])
    np.testing.assert_allclose(cells.sum_distances(columns, *cells.tables), expected, atol=1e-12)
    for k in (1, 3):
        last = np.sort(expected, axis=1)[:, k - 1]
        near, found = find_nearest_rows(cells, columns, *cells.tables, k)
        np.testing.assert_allclose(found, last, atol=1e-12)
        pairs = np.nonzero(expected <= (last + 1e-9)[:, None])
        np.testing.assert_array_equal(near.row, pairs[0])
        np.testing.assert_array_equal(near.place, pairs[1])
        np.testing.assert_allclose(near.distance, expected[pairs], atol=1e-12)


@pytest.mark.parametrize(
    "kind, many",
    slow_but(
        itertools.product(["mixed", "missing", "numbers", "words"], [0.0, 1.0]),
        *(("mixed", 0.0), ("missing", 1.0), ("numbers", 0.0), ("words", 1.0)),
    ),
)
def test_nearest_rows_without_a_column_are_those_of_a_table_without_it(kind, many, monkeypatch):
    monkeypatch.setattr("skmia.synthetic._cells._MANY", many)
    rng = np.random.default_rng(2)
    rows, others = draw_table(rng, 30, kind), draw_table(rng, 70, kind)
    rows.iloc[0, 0] = 50.0 if kind != "words" else "unknown"
    cells = TableCells((rows, others), ("X", "synthetic"))
    columns = range(rows.shape[1])
    left_out = [*columns, None]
    nearest = iter_nearest_without(cells, columns, *cells.tables, left_out)
    for column, (row, place) in zip(left_out, nearest, strict=True):
        names = [name for c, name in enumerate(rows) if c != column]
        expected = measure_by_hand(rows[names], others[names])
        pairs = np.nonzero(expected <= expected.min(axis=1, keepdims=True) + 1e-9)
        np.testing.assert_array_equal(row, pairs[0])
        np.testing.assert_array_equal(place, pairs[1])


def test_rows_within_a_limit_are_found_in_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    rows, others = draw_table(rng, 9, "missing"), draw_table(rng, 200, "missing")
    cells = TableCells((rows, others), ("X", "synthetic"))
    limit, columns = rng.random(9) * 5, range(rows.shape[1])
    whole = find_rows_within(cells, columns, *cells.tables, limit)
    monkeypatch.setattr("skmia.synthetic._cells._BLOCK", 70)
    parts = find_rows_within(cells, columns, *cells.tables, limit)
    assert len(whole.row) > 100
    for part, other in zip(parts, whole):
        np.testing.assert_array_equal(part, other)
    expected = measure_by_hand(rows, others) <= limit[:, None]
    assert np.array_equal(np.bincount(whole.row, minlength=9), expected.sum(axis=1))


def test_many_categories_are_counted_without_wrapping():
    table = pd.DataFrame(np.zeros((2, 300), dtype=int)).astype(str)
    table.iloc[1] = "1"
    cells = TableCells((table, table), ("X", "synthetic"))
    distances = cells.sum_distances(range(300), *cells.tables)
    assert distances.tolist() == [[0.0, 300.0], [300.0, 0.0]]
    near = find_rows_within(cells, range(300), *cells.tables, np.array([299.0, 300.0]))
    assert near.row.tolist() == [0, 1, 1]


def test_blocks_are_all_rows():
    table = [np.arange(1000), np.arange(1000) / 2]
    for n_others in (1, 10**5, 10**8):
        blocks = list(iter_blocks(table, n_others))
        assert np.array_equal(np.concatenate([block[0] for block in blocks]), table[0])
    assert len(take(table, slice(3))) == 2
