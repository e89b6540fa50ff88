"""Sequences of tokens of different lengths, as the rows of one matrix."""

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from .containers import read_only
from .numbers import as_numbers, check_number, show, to_array
from .outputs import Outputs, as_key
from .probabilities import PROBABILITY_FLOOR
from .types import ArrayLike

# Behind the last token of a shorter sequence; tokens are numbered from 0.
PAD = -1

# The field of records that says how many tokens each row holds.
LENGTHS = "n_tokens"

# A count for each of these is enough to tell two populations of texts apart.
_MOST_COUNTED = 1_000


def pad_tokens(sequences, length=None):
    """Pad sequences of tokens on the right to one length."""
    # -> tokens (n, length): with -1 behind the last token of each sequence
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
    """Number of tokens of each row of a padded matrix."""
    # X (n, length) -> tokens (n, length)
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
    """Counts of the most frequent tokens of some rows, and the length of each row."""

    # X (n, length)

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


# Tokens that the model excludes, and sequences that it is certain of, get finite numbers.
_LOWEST = np.log(PROBABILITY_FLOOR)
_ROUNDING = 1e-5


class TokenOutputs(Outputs):
    r"""Log-probabilities of the tokens of n sequences, given the tokens before them.

    As a single number per sequence, which attacks on classifiers read, it has the *log odds of the
    geometric mean* :math:`\bar p` of the probabilities of its T tokens,

    .. math::

        \log \frac{\bar p}{1 - \bar p}, \qquad \log \bar p = \frac1T \sum_t \log p(x_t | x_{<t}),

    so the signal ``"loss"`` is the mean log-likelihood per token. The log odds rise with it and
    spread out what is close to certain, where mean losses of different models pile up at 0.

    Parameters
    ----------
    log_proba : array-like of shape (n, length)
        Log-probability of each token, in nats, with NaN behind the last token of each sequence.
    mean, std : array-like of shape (n, length), default=None
        Mean and standard deviation of log p over the vocabulary, under the model, at each position:
        minus the entropy of the prediction, and how the log-probabilities of tokens vary.

    Attributes
    ----------
    log_proba, mean, std : ndarray of shape (n, length) or None
        As given; probabilities below 1e-12 are raised to it.
    lengths : ndarray of shape (n,)
        Number of tokens of each sequence.
    values : ndarray of shape (n,)
        Log odds of the geometric mean.
    kind : str
        ``"log_odds"``.

    Raises
    ------
    ValueError
        If the arrays differ in shape, a sequence is empty, NaN stands before a token, or a
        log-probability is above 0.

    See Also
    --------
    skmia.memorization.SequenceVictim : Returns such outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import TokenOutputs
    >>> outputs = TokenOutputs(np.log([[0.5, 0.5, 0.5], [0.9, 0.4, np.nan]]))
    >>> outputs.lengths
    array([3, 2])
    >>> outputs.values.round(3)  # log odds of 0.5 and of 0.6
    array([0.   , 0.405])
    """

    log_proba: np.ndarray
    mean: np.ndarray | None
    std: np.ndarray | None

    def __init__(
        self, log_proba: ArrayLike, mean: ArrayLike | None = None, std: ArrayLike | None = None
    ) -> None:
        given = as_numbers(log_proba, "log_proba", "a matrix of log-probabilities")
        given = given.astype(np.float64, copy=False)
        _check_log_proba(given)
        self.log_proba = read_only(np.clip(given, _LOWEST, 0.0))
        self.mean = _check_moment(mean, "mean", given)
        self.std = _check_moment(std, "std", given)
        mean_log = np.nanmean(self.log_proba, axis=1) if len(given) else np.zeros(0)
        certain = np.log1p(-PROBABILITY_FLOOR)
        mean_log = np.minimum(mean_log, certain)
        super().__init__(mean_log - np.log(-np.expm1(mean_log)), kind="log_odds")

    @property
    def lengths(self) -> np.ndarray:
        return (~np.isnan(self.log_proba)).sum(axis=1)

    @classmethod
    def concat(cls, parts: "Sequence[Outputs]") -> Self:
        """Concatenate the outputs for several sets of sequences.

        Parameters
        ----------
        parts : sequence of TokenOutputs
            One or more outputs; shorter ones are padded.

        Returns
        -------
        outputs : TokenOutputs

        Raises
        ------
        TypeError
            If something else is among them.
        """
        parts = list(parts) if np.iterable(parts) else []
        if not parts or not all(isinstance(part, TokenOutputs) for part in parts):
            raise TypeError("TokenOutputs.concat takes a sequence of one or more TokenOutputs.")
        tokens = cast("list[TokenOutputs]", parts)
        moments = [
            _stack([getattr(part, name) for part in tokens])
            for name in ("log_proba", "mean", "std")
        ]
        return cls(*moments)

    def __getitem__(self, key: Any) -> "TokenOutputs":
        outputs, key = object.__new__(TokenOutputs), as_key(key, len(self))
        outputs.values, outputs.classes, outputs.kind = self.values[key], None, self.kind
        for name in ("log_proba", "mean", "std"):
            held = getattr(self, name)
            setattr(outputs, name, None if held is None else held[key])
        return outputs

    def __repr__(self):
        moments = "" if self.mean is None else ", with mean and std"
        longest = self.log_proba.shape[1]
        return f"TokenOutputs({len(self)} sequences of up to {longest} tokens{moments})"


def _check_log_proba(given):
    if given.ndim != 2:
        raise ValueError(f"log_proba must be a matrix; got an array of shape {given.shape}.")
    known = ~np.isnan(given)
    n_known = known.sum(axis=1)
    wrong = (known != (np.arange(given.shape[1]) < n_known[:, None])).any(axis=1) | (n_known == 0)
    if wrong.any():
        raise ValueError(
            "Each row of log_proba must hold one log-probability or more, and NaN behind them; "
            f"row {wrong.argmax()} does not."
        )
    if np.nanmax(given, initial=-np.inf) > _ROUNDING:
        raise ValueError(f"Log-probabilities are at most 0; got {np.nanmax(given):g}.")


def _check_moment(moment, name, given):
    if moment is None:
        return None
    moment = as_numbers(moment, name, "a matrix of numbers").astype(np.float64, copy=False)
    if moment.shape != given.shape or (np.isnan(moment) != np.isnan(given)).any():
        raise ValueError(
            f"{name} must have the shape {given.shape} of log_proba, with NaN at its places; got "
            f"an array of shape {moment.shape}."
        )
    if name == "std" and np.nanmin(moment, initial=0.0) < 0:
        raise ValueError(f"std must be at least 0; got {np.nanmin(moment):g}.")
    return read_only(moment)


def _stack(arrays):
    held = [array for array in arrays if array is not None]
    if len(held) < len(arrays):
        return None
    width = max(array.shape[1] for array in held)
    fill = [((0, 0), (0, width - array.shape[1])) for array in held]
    padded = [np.pad(a, w, constant_values=np.nan) for a, w in zip(held, fill, strict=True)]
    return np.concatenate(padded)
