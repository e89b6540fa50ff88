"""Sequences of tokens as records."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .._core.records import Records
from .._core.tokens import LENGTHS, PAD, pad_tokens

__all__ = ["PAD", "token_records"]


def token_records(
    sequences: Sequence[ArrayLike] | ArrayLike, *, length: int | None = None, **fields: ArrayLike
) -> Records:
    """Make records of sequences of tokens, which may differ in length.

    ``X`` is a matrix of token ids with -1 behind the last token of each sequence, and the field
    ``n_tokens`` holds the lengths. Texts have no task label, so all labels are 0. Checks that look
    at the records without the victim, such as :func:`skmia.report.blind_baseline`, see the counts
    of the tokens of such records instead of positions.

    Parameters
    ----------
    sequences : sequence of n array-likes of int
        Token ids from 0 on, at least one for each sequence.
    length : int, default=None
        Number of columns of ``X``. If None, the length of the longest sequence. Records can be
        joined, and recognized again, if they have the same number of columns.
    **fields : array-like of length n
        Further facts per record, such as ``text``, which :class:`~skmia.signals.ZlibRatio` reads,
        ``record_id`` and ``group_by``.

    Returns
    -------
    records : Records

    Raises
    ------
    ValueError
        If something is not a sequence of tokens, is empty, or is longer than `length`.

    See Also
    --------
    SequenceVictim : A language model as a victim.

    Examples
    --------
    >>> from skmia.memorization import token_records
    >>> records = token_records([[5, 1, 4], [2, 2]], text=["to be or", "not not"])
    >>> records.X
    array([[ 5,  1,  4],
           [ 2,  2, -1]])
    >>> records["n_tokens"]
    array([3, 2])
    """
    tokens = pad_tokens(sequences, length)
    lengths = (tokens != PAD).sum(axis=1)
    labels = np.zeros(len(tokens), dtype=np.int64)
    return Records(tokens, labels, **{**fields, LENGTHS: lengths})
