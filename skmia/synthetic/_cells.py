"""Tables as arrays, and the rows of one that are nearest to rows of another."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ._kinds import unify_frames
from ._neighbors import align_columns, as_frame, is_number_dtype

# Distances by column lie in [0, 1], so that smaller differences of a sum are rounding.
TIE = 1e-9
# Cells of a block of distances, which caches hold, and of those of all others for some rows.
_BLOCK, _MOST_PAIRS = 200_000, 2_000_000
# Rows of the other table among which a first bound is looked for, and the share of them.
_FEWEST, _SHARE = 2000, 0.1
# Share of pairs from which it is faster to compute all distances than to single them out.
_MANY = 0.1


class TableCells:
    """Tables of the same columns as arrays: numbers, or codes of categories; NaN is missing.

    There are two to four tables, and the last one sets the order of the columns and their scales. A
    missing category is a category, and one that is not in the last table has the code -1. Columns
    that hold values of one kind in several types are read in one of them.
    """

    def __init__(self, tables, names):
        frames = _align_tables([as_frame(table, name) for table, name in zip(tables, names)], names)
        self.columns = list(frames[-1].columns)
        frames, self._held = unify_frames(frames, names)
        self.is_number = [
            all(is_number_dtype(frame[c].dtype) for frame in frames) for c in self.columns
        ]
        self.sizes = [len(frame) for frame in frames]
        encoded = [
            (_read_number_cells if number else _code_categories)([frame[c] for frame in frames])
            for c, number in zip(self.columns, self.is_number)
        ]
        # Each column is one array, of which those of the tables are parts.
        ends = np.cumsum(self.sizes)[:-1]
        self._columns = [whole for whole, _ in encoded]
        self.tables = [list(table) for table in zip(*(np.split(c, ends) for c in self._columns))]
        # The scale of a number is its range, or 1; the values of a category are those of its codes.
        self.kinds = [kind for _, kind in encoded]

    def join_first(self, n_tables):
        """Return the cells of the first tables, one after the other, without a copy."""
        return take(self._columns, slice(sum(self.sizes[:n_tables])))

    def show_value(self, column, value):
        """Return a cell of one column as a value of the tables; None where it is missing."""
        if self.is_number[column]:
            return self._held[column].show(value)
        return self.kinds[column][int(value)]

    def measure_gap(self, column, own, other):
        """Return the distances of values of one column from others, of any shapes that fit."""
        if not self.is_number[column]:
            return own != other
        gap = own - other
        np.abs(gap, out=gap)
        gap /= self.kinds[column]
        lacks = np.isnan(gap)
        if lacks.any():
            gap[lacks] = 1.0
            gap[np.isnan(own) & np.isnan(other)] = 0.0
        return gap

    def sum_distances(self, columns, rows, others):
        """Return the distances of rows from others, summed over columns, of shape (n, m)."""
        total = self._count_words(columns, rows, others).astype(float)
        for column in self._list_numbers(columns):
            total += self.measure_gap(column, rows[column][:, None], others[column])
        return total

    def _list_numbers(self, columns):
        return [column for column in columns if self.is_number[column]]

    def _count_words(self, columns, rows, others):
        """Return the number of the categories that differ."""
        words = [column for column in columns if not self.is_number[column]]
        shape = len(rows[columns[0]]), len(others[columns[0]])
        count = np.zeros(shape, dtype=np.min_scalar_type(len(words)))
        for column in words:
            count += (rows[column][:, None] != others[column]).view(np.uint8)  # without a copy
        return count

    def find_near(self, columns, rows, others, limit):
        """Return the pairs of rows and others whose distance is within the limit of the row.

        Most pairs differ in too many categories, which are counted in bytes.
        """
        numbers, n_others = self._list_numbers(columns), len(others[columns[0]])
        total = self._count_words(columns, rows, others)
        most = np.floor(np.minimum(limit, np.iinfo(total.dtype).max)).astype(total.dtype)
        is_near = total <= most[:, None]
        while numbers and np.count_nonzero(is_near) > _MANY * is_near.size:
            column = numbers.pop(0)
            gap = self.measure_gap(column, rows[column][:, None], others[column])
            total = np.add(total, gap, out=gap)
            is_near = total <= limit[:, None]
        places = np.flatnonzero(is_near)
        near = NearRows(*divmod(places, n_others), total.ravel()[places].astype(float))
        for column in numbers:
            gap = self.measure_gap(column, rows[column][near.row], others[column][near.place])
            distance = near.distance + gap
            near = NearRows(near.row, near.place, distance).select(distance <= limit[near.row])
        return near


class NearRows(NamedTuple):
    """Pairs of rows that are near each other, and their distances."""

    row: np.ndarray
    place: np.ndarray  # in the other table
    distance: np.ndarray

    def select(self, pairs):
        """Return some of the pairs."""
        return NearRows(*(part[pairs] for part in self))

    def split(self):
        """Return the distances of each row, where pairs are in the order of the rows."""
        return np.split(self.distance, np.flatnonzero(np.diff(self.row)) + 1)


def take(table, rows):
    """Return the cells of some rows."""
    return [column[rows] for column in table]


def iter_blocks(table, n_others):
    """Yield the blocks of the rows of a table for which pairs with all others fit into memory."""
    step = int(np.clip(_MOST_PAIRS // n_others, 1, 64))
    for start in range(0, len(table[0]), step):
        yield take(table, slice(start, start + step))


def find_nearest_rows(cells, columns, rows, others, k=1):
    """Return all others that are as near to a row as its k-th nearest, which may have ties.

    Return pairs, at least k of each row, in the order of the rows; distances of the k-th nearest of
    shape (n,).
    """
    bound = np.partition(_measure_some(cells, columns, rows, others, k), k - 1, axis=1)[:, k - 1]
    near = find_rows_within(cells, columns, rows, others, bound + 2 * TIE)
    last = np.array([np.partition(part, k - 1)[k - 1] for part in near.split()])
    return near.select(near.distance <= (last + 2 * TIE)[near.row]), last


def _measure_some(cells, columns, rows, others, k=1):
    """Distances from every tenth of the others, whose nearest are a bound for those of all."""
    step = max(1, len(others[0]) // max(_FEWEST, k, int(_SHARE * len(others[0]))))
    return cells.sum_distances(columns, rows, take(others, slice(None, None, step)))


def iter_nearest_without(cells, columns, rows, others, left_out):
    """All others that are nearest to a row, once without each of some columns, or without none.

    left_out: a list of columns and None -> for each of them the rows, and places of others Without
    a column, another row comes nearer by at most its largest distance in that column.
    """
    some = _measure_some(cells, columns, rows, others)
    gaps = [_find_largest_gap(cells, c, rows, others) for c in left_out if c is not None]
    limit = some.min(axis=1) + np.max(gaps, axis=0, initial=0.0) + 2 * TIE
    if np.count_nonzero(some <= limit[:, None]) > _MANY * some.size:
        yield from _iter_nearest_of_all(cells, columns, rows, others, left_out)
        return
    near = find_rows_within(cells, columns, rows, others, limit)
    starts = np.flatnonzero(np.diff(near.row, prepend=-1))
    for column in left_out:
        distance = near.distance
        if column is not None:
            own, other = rows[column][near.row], others[column][near.place]
            distance = distance - cells.measure_gap(column, own, other)
        least = np.minimum.reduceat(distance, starts)
        nearest = distance <= least[near.row] + TIE
        yield near.row[nearest], near.place[nearest]


def _iter_nearest_of_all(cells, columns, rows, others, left_out):
    """As :func:`iter_nearest_without`, from all distances, where most rows would be near."""
    total = cells.sum_distances(columns, rows, others)
    for column in left_out:
        distance = total
        if column is not None:
            distance = total - cells.measure_gap(column, rows[column][:, None], others[column])
        yield np.nonzero(distance <= distance.min(axis=1, keepdims=True) + TIE)


def _find_largest_gap(cells, column, rows, others):
    """Return the largest distance of each row from others in a column, at least 1."""
    if not cells.is_number[column]:
        return np.ones(len(rows[column]))
    ends = np.array([np.fmin.reduce(others[column]), np.fmax.reduce(others[column])])
    return cells.measure_gap(column, rows[column][:, None], ends).max(axis=1, initial=1.0)


def find_rows_within(cells, columns, rows, others, limit):
    """Return all others within a limit of the distance of each row, in the order of the rows."""
    n_rows, n_others = len(rows[0]), len(others[0])
    step = max(1, _BLOCK // n_rows)
    found = []
    for start in range(0, n_others, step):
        block = take(others, slice(start, start + step))
        near = cells.find_near(columns, rows, block, limit)
        found.append(near._replace(place=near.place + start))
    pairs = NearRows(*map(np.concatenate, zip(*found)))
    return pairs.select(np.argsort(pairs.row.astype(np.min_scalar_type(n_rows)), kind="stable"))


def _align_tables(frames, names):
    for frame, name in zip(frames, names):
        if len(frame) == 0 or frame.shape[1] == 0:
            raise ValueError(f"{name} needs at least 1 row and 1 column; got shape {frame.shape}.")
    return align_columns(frames, names, -1)


def _read_number_cells(parts):
    cells = [part.to_numpy() for part in parts]
    known = cells[-1][~np.isnan(cells[-1])]
    scale = float(np.ptp(known / 2)) * 2 if len(known) else 0.0
    return np.concatenate(cells), scale if 0 < scale < np.inf else 1.0


def _code_categories(parts):
    parts = [part.astype(object) for part in parts]
    known = pd.Index(parts[-1].dropna().unique())
    # Short codes are compared faster.
    short = np.min_scalar_type(-len(known) - 1)
    cells = [known.get_indexer(part).astype(short) for part in parts]
    for codes, part in zip(cells, parts):
        codes[part.isna().to_numpy()] = len(known)
    return np.concatenate(cells), [*known, None]
