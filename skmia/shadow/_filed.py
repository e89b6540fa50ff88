"""Signals, outputs and training sets of a pool that stay in the files of its checkpoint."""

from .._core.filed import FiledArray, Rows
from .._training.stored import read_stored, read_stored_bits


def open_arrays(paths, n_records, with_outputs):
    """Return the arrays of a pool, read from files on request.

    Parameters
    ----------
    paths : list of Path
        File of each model.
    n_records : int
        Number of records of the pool.
    with_outputs : bool
        Whether the files hold outputs.

    Returns
    -------
    signals : FiledArray of shape (n_signals, n_queries, n_estimators, n)
    outputs : FiledArray of shape (n_estimators, n, n_classes) or None
    membership : FiledArray of shape (n_estimators, n), dtype bool
    """
    signals = read_stored(paths, "raw", axis=2)
    outputs = read_stored(paths, "outputs", n_tail=1) if with_outputs else None
    return signals, outputs, read_stored_bits(paths, "subset", n_records)


class SmoothedRows(Rows):
    """Rows of signals, smoothed when they are read.

    Parameters
    ----------
    rows : StoredRows
        Rows whose first leading axis runs over signals.
    smoothings : list of Smoothing
        Smoothing of each signal.
    """

    def __init__(self, rows, smoothings):
        self._rows, self._smoothings = rows, list(smoothings)
        self.n_columns, self.dtype = rows.n_columns, rows.dtype

    def read(self, number, start, stop):
        place = number % self._rows.rows_per_model // self._rows.lead[1]
        return self._smoothings[place].of_models(self._rows.read(number, start, stop))


def smooth_when_read(signals, smoothings):
    """Return an array in files whose values are smoothed when they are read."""
    return FiledArray(SmoothedRows(signals.rows, smoothings), signals.numbers)
