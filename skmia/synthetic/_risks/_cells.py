"""Cells of tables with numbers and categories, in which values may be missing."""

import numpy as np
import pandas as pd

from .._neighbors import as_frame, check_columns

# Distances by column lie in [0, 1], so that smaller differences of a sum are rounding.
TIE = 1e-9
# Cells of a block of distances.
_BLOCK = 2_000_000


class Cells:
    """Three tables as arrays: numbers as they are, categories as codes, NaN where a number lacks.

    A missing category is a category, and one that is not in the last table has the code -1.

    Parameters
    ----------
    tables : sequence of DataFrame or array-like
        Tables with the same columns; the last one has the synthetic rows, from which ranges and
        categories come.
    names : sequence of str
        Names of the tables, for messages.
    """

    def __init__(self, tables, names):
        frames = _align([as_frame(table, name) for table, name in zip(tables, names)], names)
        self.columns = list(frames[-1].columns)
        self.is_number = [all(_is_number(frame[c]) for frame in frames) for c in self.columns]
        self.sizes = [len(frame) for frame in frames]
        encoded = [
            _read_numbers([frame[c] for frame in frames], c, names)
            if number
            else _read_categories([frame[c] for frame in frames], c)
            for c, number in zip(self.columns, self.is_number)
        ]
        self.tables = [list(table) for table in zip(*(cells for cells, _ in encoded))]
        # The scale of a number is its range, and the values of a category are those of its codes.
        self.kinds = [kind for _, kind in encoded]

    def distance(self, column, rows, others):
        """Distances of rows from others in one column, of shape (n, m)."""
        own, other = rows[column][:, None], others[column]
        if not self.is_number[column]:
            return (own != other).astype(float)
        gap = np.abs(own - other) / self.kinds[column]
        lacks = np.isnan(gap)
        if lacks.any():
            gap[lacks] = 1.0
            gap[np.isnan(own) & np.isnan(other)] = 0.0
        return gap

    def sum_distances(self, columns, rows, others):
        """Distances of rows from others, summed over columns."""
        total = self.distance(columns[0], rows, others)
        for column in columns[1:]:
            total += self.distance(column, rows, others)
        return total


def take(table, rows):
    """Cells of some rows."""
    return [column[rows] for column in table]


def iter_blocks(table, n_others):
    """Blocks of the rows of a table for which distances from all others fit into memory."""
    n_rows = len(table[0])
    step = max(1, _BLOCK // n_others)
    for start in range(0, n_rows, step):
        yield take(table, slice(start, start + step))


def _align(frames, names):
    check_columns(frames, names)
    for frame, name in zip(frames, names):
        if len(frame) == 0 or frame.shape[1] == 0:
            raise ValueError(f"{name} needs at least 1 row and 1 column; got shape {frame.shape}.")
    columns = frames[-1].columns
    if not all(isinstance(name, str) for frame in frames for name in frame.columns):
        return [frame.set_axis(columns, axis=1) for frame in frames]
    for frame, name in zip(frames, names):
        lacking = [column for column in columns if column not in frame.columns]
        if lacking:
            raise ValueError(f"{name} lacks the column {lacking[0]!r} of {names[-1]}.")
    return [frame[columns] for frame in frames]


def _is_number(values):
    dtype = values.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _read_numbers(parts, column, names):
    cells = [part.to_numpy(dtype=float, na_value=np.nan) for part in parts]
    for part, name in zip(cells, names):
        if np.isinf(part).any():
            raise ValueError(f"{name} must hold finite numbers; column {column!r} does not.")
    known = cells[-1][~np.isnan(cells[-1])]
    scale = float(np.ptp(known / 2)) * 2 if len(known) else 0.0
    return cells, scale if 0 < scale < np.inf else 1.0


def _read_categories(parts, column):
    parts = [part.astype(object) for part in parts]
    try:
        known = pd.Index(parts[-1].dropna().unique())
        cells = [known.get_indexer(part) for part in parts]
    except TypeError:
        raise ValueError(
            f"The column {column!r} holds values that cannot be compared, such as lists."
        ) from None
    for codes, part in zip(cells, parts):
        codes[part.isna().to_numpy()] = len(known)
    return cells, [*known, None]
