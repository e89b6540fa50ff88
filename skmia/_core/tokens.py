"""Sequences of tokens of different lengths, as the rows of one matrix."""

import numpy as np
from scipy import sparse

from .numbers import check_number, show, to_array

# Behind the last token of a shorter sequence; tokens are numbered from 0.
PAD = -1

# The field of records that says how many tokens each row holds.
LENGTHS = "n_tokens"

# A count for each of these is enough to tell two populations of texts apart.
_MOST_COUNTED = 1_000


def pad_tokens(sequences, length=None):
    """Pad sequences of tokens on the right to one length.

    Parameters
    ----------
    sequences : sequence of n array-likes of int
        Tokens from 0 on, at least one for each sequence.
    length : int, default=None
        Number of columns. If None, the length of the longest sequence.

    Returns
    -------
    tokens : ndarray of shape (n, length), dtype int64
        With -1 behind the last token of each sequence.

    Raises
    ------
    ValueError
        If something is not a sequence of tokens, is empty, or is longer than `length`.
    """
    rows = _read_rows(sequences)
    longest = max(len(row) for row in rows)
    allowed = f"None or at least {longest}, the length of the longest sequence"
    if length is not None:
        check_number(length, "length", allowed, longest, whole=True)
    tokens = np.full((len(rows), longest if length is None else int(length)), PAD, dtype=np.int64)
    for row, place in zip(rows, tokens, strict=True):
        place[: len(row)] = row
    return tokens


def _read_rows(sequences):
    must = "be a sequence of one or more sequences of tokens, whole numbers of 0 and above"
    if isinstance(sequences, str | bytes) or not np.iterable(sequences):
        raise ValueError(f"sequences must {must}; got {show(sequences)}.")
    rows = []
    for sequence in sequences:
        row = to_array(sequence, "A sequence", "hold tokens, whole numbers of 0 and above")
        if row.ndim != 1 or not len(row) or row.dtype.kind not in "iu" or row.min() < 0:
            raise ValueError(f"sequences must {must}; got {show(sequence)} at place {len(rows)}.")
        rows.append(row)
    if not rows:
        raise ValueError(f"sequences must {must}; got none.")
    return rows


def count_tokens(X):
    """Number of tokens of each row of a padded matrix.

    Parameters
    ----------
    X : array-like of shape (n, length), dtype int
        Tokens, with -1 behind the last one of each row.

    Returns
    -------
    tokens : ndarray of shape (n, length)
    lengths : ndarray of shape (n,), dtype int

    Raises
    ------
    ValueError
        If X is not such a matrix.
    """
    tokens = to_array(X, "X", "be a matrix of tokens")
    if tokens.ndim != 2 or tokens.dtype.kind not in "iu":
        raise ValueError(
            "X must be a matrix of tokens, as token_records makes it; got an array of "
            f"{tokens.dtype} of shape {tokens.shape}."
        )
    lengths = (tokens >= 0).sum(axis=1)
    inside = np.arange(tokens.shape[1]) < lengths[:, None]
    wrong = (inside != (tokens >= 0)).any(axis=1) | (tokens < PAD).any(axis=1) | (lengths == 0)
    if wrong.any():
        raise ValueError(
            "Each row must begin with tokens, whole numbers of 0 and above, and may end with -1; "
            f"row {wrong.argmax()} is {show(tokens[wrong.argmax()].tolist())}."
        )
    return tokens, lengths


def hold_tokens(records):
    """Whether records hold sequences of tokens with their lengths."""
    lengths, X = records.fields.get(LENGTHS), records.X
    if lengths is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iu":
        return False
    return np.array_equal((X >= 0).sum(axis=1), lengths)


class BagOfTokens:
    """Counts of the most frequent tokens of some rows, and the length of each row.

    Parameters
    ----------
    X : ndarray of shape (n, length)
        Tokens, with -1 behind the last one of each row.
    """

    def __init__(self, X):
        tokens, counts = np.unique(X[X >= 0], return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:_MOST_COUNTED]
        self._known = np.sort(tokens[frequent])

    def encode(self, X):
        """Return the counts and the length, a sparse matrix of shape (n, n_known + 1)."""
        rows, columns = np.nonzero(X >= 0)
        found, rows = X[rows, columns], rows.astype(np.int32)  # trees take no larger indices
        place = np.searchsorted(self._known, found).clip(max=len(self._known) - 1)
        is_known = self._known[place] == found
        ones, place = np.ones(is_known.sum(), dtype=np.float32), place.astype(np.int32)
        shape = len(X), len(self._known)
        counts = sparse.coo_array((ones, (rows[is_known], place[is_known])), shape=shape)
        lengths = sparse.csr_array((X >= 0).sum(axis=1, dtype=np.float32)[:, None])
        return sparse.hstack([counts, lengths], format="csr")
