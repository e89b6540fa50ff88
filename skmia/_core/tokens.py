"""Sequences of tokens of different lengths, as the rows of one matrix."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from scipy import sparse, special

from .callers import level_of_user
from .containers import is_tensor, read_only, table_to_rows
from .numbers import as_numbers, check_number, denullify, show, to_array
from .outputs import Outputs, as_key
from .probabilities import PROBABILITY_FLOOR
from .types import ArrayLike

# Behind the last token of a shorter sequence; tokens are numbered from 0.
PAD = -1

# A token that is given and does not count, such as one of a prompt, is stored minus this number.
GIVEN = 1_000_000_000

# The field of records that says how many tokens each row holds.
LENGTHS = "n_tokens"

# A count for each of these is enough to tell two populations of texts apart.
_MOST_COUNTED = 1_000


def stack_tokens(rows, counts, length=None):
    """Stack rows of tokens, and which of them count, as one matrix.

    Return X of shape (n, length): with -1 behind the last token of each row.
    """
    longest = max(map(len, rows))
    if length is not None:
        allowed = f"None or at least {longest}, the length of the longest sequence"
        check_number(length, "length", allowed, longest, whole=True)
    X = np.full((len(rows), longest if length is None else int(length)), PAD, dtype=np.int64)
    for row, own, place in zip(rows, counts, X, strict=True):
        place[: len(row)] = np.where(own, row, row - GIVEN)
    return X


def show_given(X):
    """Return all tokens of a matrix in plain numbers, those that do not count too."""
    return np.where(X <= -GIVEN // 2, X + GIVEN, X)


def read_tokens(X):
    """Return tokens in plain numbers, the length of each row, and which tokens count.

    Take X of shape (n, length); return tokens of shape (n, length), lengths of shape (n,), counts
    of shape (n, length).
    """
    X = to_array(X, "X", "be a matrix of tokens")
    if X.ndim != 2 or X.dtype.kind not in "iu":
        raise ValueError(
            "X must be a matrix of tokens, as token_records makes it; got an array of "
            f"{X.dtype} of shape {X.shape}."
        )
    X = X.astype(np.int64, copy=False)
    tokens = show_given(X)
    lengths = (tokens >= 0).sum(axis=1)
    inside = np.arange(tokens.shape[1]) < lengths[:, None]
    wrong = (inside != (tokens >= 0)).any(axis=1) | (tokens < PAD).any(axis=1) | (lengths == 0)
    if wrong.any():
        raise ValueError(
            "Each row must begin with tokens, whole numbers of 0 and above, and may end with -1; "
            f"row {wrong.argmax()} is {show(tokens[wrong.argmax()].tolist())}."
        )
    return tokens, lengths, X >= 0


def name_rows(is_wrong, what="Record"):
    """Return the first positions of some rows, and how many more there are."""
    rows = np.flatnonzero(is_wrong)
    more = f" and {len(rows) - 3} more" if len(rows) > 4 else ""
    shown = rows if len(rows) <= 4 else rows[:3]
    first = ", ".join(map(str, shown[:-1]))
    last = f"{', ' if more else ' and '}{shown[-1]}" if first else f"{shown[-1]}"
    return f"{what}{'s' if len(rows) > 1 else ''} {first}{last}{more}"


def hold_tokens(records):
    """Return whether records hold sequences of tokens with their lengths."""
    lengths, X = records.fields.get(LENGTHS), records.X
    if lengths is None or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iu":
        return False
    return np.array_equal((show_given(X) >= 0).sum(axis=1), lengths)


class BagOfTokens:
    """Counts of the most frequent tokens of some rows, and the length of each row.

    Shapes: X (n, length).
    """

    def __init__(self, X):
        X = show_given(X)
        tokens, counts = np.unique(X[X >= 0], return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:_MOST_COUNTED]
        self._known = np.sort(tokens[frequent])

    def encode(self, X):
        """Return the counts and the length, a sparse matrix of shape (n, n_known + 1)."""
        X = show_given(X)
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
    log_proba : array-like of shape (n, length), or n sequences of different lengths
        Log-probability of each token, given the tokens before it. NaN or None stands for what does
        not count: the place behind the last token, padding, a token of a prompt, or one that a
        service gave no number for.
    mean, std : array-like of shape (n, length), default=None
        Mean and standard deviation of log p over the vocabulary, under the model, at each position:
        minus the entropy of the prediction, and how the log-probabilities of tokens vary.
    n_given : int or array-like of shape (n,), default=0
        Number of columns at the start of each row that do not count.
    base : float, default=None
        Base of the logarithms, such as 2 or 10. If None, they are natural.

    Attributes
    ----------
    log_proba, mean, std : ndarray of shape (n, length) or None
        In nats; probabilities below 1e-12 are raised to it.
    lengths : ndarray of shape (n,)
        Number of tokens of each sequence that count.
    values : ndarray of shape (n,)
        Log odds of the geometric mean.
    kind : str
        ``"log_odds"``.

    Raises
    ------
    ValueError
        If the arrays differ in shape, nothing counts in a row, or a log-probability is above 0.

    Warns
    -----
    UserWarning
        If the numbers of each row fall from token to token, as sums up to each token do.

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
    >>> TokenOutputs([[None, -0.5, -2.0], [None, -0.1]], n_given=[1, 0]).lengths
    array([2, 1])
    """

    log_proba: np.ndarray
    mean: np.ndarray | None
    std: np.ndarray | None

    def __init__(
        self,
        log_proba: ArrayLike | Sequence[Sequence[float | None]],
        mean: ArrayLike | None = None,
        std: ArrayLike | None = None,
        *,
        n_given: int | ArrayLike = 0,
        base: float | None = None,
    ) -> None:
        given = _read_token_numbers(log_proba, "log_proba") * _get_scale(base)
        _check_log_proba(given)
        moments = [_check_moment(*moment, given) for moment in ((mean, "mean"), (std, "std"))]
        moments = [None if one is None else one * _get_scale(base) for one in moments]
        left_out = np.arange(given.shape[1]) < check_given(n_given, len(given))[:, None]
        self._hold(given, moments, left_out)
        super().__init__(self._compute_log_odds(), kind="log_odds")

    def _hold(self, log_proba, moments, left_out):
        """Take the numbers, with NaN for what does not count."""
        empty = (left_out | np.isnan(log_proba)).all(axis=1)
        if empty.any():
            raise ValueError(
                f"{name_rows(empty)} of log_proba must hold one log-probability or more that "
                f"counts; {empty.sum()} of {len(empty)} hold none. Leave these records out."
            )
        self.log_proba = read_only(np.where(left_out, np.nan, np.clip(log_proba, _LOWEST, 0.0)))
        self.mean, self.std = (
            None if one is None else read_only(np.where(left_out, np.nan, one)) for one in moments
        )

    def _compute_log_odds(self):
        n_known = np.maximum(self.lengths, 1)
        mean_log = np.nansum(self.log_proba, axis=1) / n_known
        mean_log = np.minimum(mean_log, np.log1p(-PROBABILITY_FLOOR))
        return mean_log - np.log(-np.expm1(mean_log))

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
            _stack_token_arrays([getattr(part, name) for part in tokens])
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
        longest, known = self.log_proba.shape[1], ~np.isnan(self.log_proba)
        begun = np.logical_or.accumulate(known, axis=1)
        ended = np.logical_or.accumulate(known[:, ::-1], axis=1)[:, ::-1]
        inside = (begun & ended & ~known).sum()
        inside = f", {inside} inside without a number" if inside else ""
        return f"TokenOutputs({len(self)} sequences of up to {longest} tokens{inside}{moments})"


_WAY = "Give log_proba one row for each text and one number for each token"
# Sums up to each token are told from log-probabilities if these fall so by chance this rarely.
_LEAST_LOG_CHANCE = np.log(1e6)


def check_given(n_given, n_records):
    """Return a number of tokens that do not count for each record."""
    given = to_array(n_given, "n_given", "be an integer or one integer for each record")
    is_whole = given.dtype.kind in "iu" and given.min(initial=0) >= 0
    if not is_whole or given.shape not in ((), (n_records,)):
        raise ValueError(
            "n_given must be an integer of 0 or more, or one for each of "
            f"{n_records} records; got {show(n_given)}."
        )
    return np.broadcast_to(given, (n_records,))


def _get_scale(base):
    """Return nats per unit of a logarithm."""
    if base is None:
        return 1.0
    check_number(base, "base", "None or a number above 1, such as 2 or 10", np.nextafter(1, 2))
    return float(np.log(base))


def _read_token_numbers(values, name):
    """Return the numbers of tokens as a matrix, rows of different lengths with NaN behind them."""
    values = table_to_rows(values)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        values = denullify(values)
    if _is_list_of_rows(values):
        if _find_mapping(values) is not None:
            raise ValueError(
                f"{name} holds dictionaries, as services list the most probable tokens: "
                f"{show(_find_mapping(values))}. {_WAY}: the log-probability of the token that "
                "stands in the text, or None."
            )
        rows = [_read_row(row, i, name) for i, row in enumerate(values)]
        width = max(map(len, rows))
        return np.array([np.pad(r, (0, width - len(r)), constant_values=np.nan) for r in rows])
    given = as_numbers(values, name, "a matrix of numbers").astype(np.float64, copy=False)
    if given.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix; got an array of shape {given.shape}. {_WAY}; for one number "
            "per text, such as a mean loss, store Outputs(values, kind='log_odds') instead."
        )
    return given


def _is_list_of_rows(values):
    """Return whether something holds rows, each of which may have a length of its own."""
    if isinstance(values, np.ndarray) and (values.ndim != 1 or values.dtype != object):
        return False
    return not is_tensor(values) and np.iterable(values) and any(map(np.iterable, values))


def _find_mapping(rows):
    found = (cell for row in rows if isinstance(row, list | tuple) for cell in row)
    return next((cell for cell in found if isinstance(cell, Mapping)), None)


def _read_row(row, position, name):
    must = f"be a matrix of numbers, with None or NaN for what is missing; record {position} is not"
    numbers = as_numbers(row, name, must)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must be a matrix; got {show(row)} for record {position}. {_WAY}.")
    return numbers


def _check_log_proba(given):
    known = given[~np.isnan(given)]
    if known.max(initial=-np.inf) > _ROUNDING:
        row, column = (int(place[0]) for place in np.nonzero(given > _ROUNDING))
        cure = "Logits are made log-probabilities by log_softmax over the vocabulary."
        if known.min() >= 0:
            cure = "Pass minus the losses if these are losses."
            if known.max() <= 1 + _ROUNDING:
                cure = "Pass np.log of them if these are probabilities."
        raise ValueError(
            f"Log-probabilities are at most 0; got {given[row, column]:g} for record {row} at "
            f"position {column}. {cure}"
        )
    _warn_of_sums(given)


def _warn_of_sums(given):
    """Warn if numbers fall from token to token, as no log-probabilities of texts do."""
    steps = np.diff(given, axis=1)
    falls = np.isnan(steps) | (steps < 0)
    chance = special.gammaln((~np.isnan(given)).sum(axis=1) + 1).sum()
    if len(given) and falls.all() and chance > _LEAST_LOG_CHANCE:
        warnings.warn(
            "The numbers of each text fall from token to token, as sums up to each token do: pass "
            "the log-probability of each token, which is the difference of two sums.",
            UserWarning,
            stacklevel=level_of_user(),
        )


def _check_moment(moment, name, given):
    if moment is None:
        return None
    moment = _read_token_numbers(moment, name)
    if moment.shape != given.shape or (np.isnan(moment) != np.isnan(given)).any():
        raise ValueError(
            f"{name} must have the shape {given.shape} of log_proba, with NaN at its places; got "
            f"an array of shape {moment.shape}."
        )
    if name == "std" and np.nanmin(moment, initial=0.0) < 0:
        raise ValueError(f"std must be at least 0; got {np.nanmin(moment):g}.")
    return moment


def arrange_outputs(outputs, inside, counts):
    """Lay stored outputs out like records that were read from padded rows of tokens.

    inside, counts (n, width): which places hold tokens, and which of those count.
    """
    width = outputs.log_proba.shape[1]
    if len(outputs) != len(inside) or width not in (inside.shape[1], inside.shape[1] - 1):
        raise ValueError(
            f"outputs must have a row for each of {len(inside)} texts and a column for each of "
            f"their {inside.shape[1]} tokens, or for all but the first; got {outputs!r}."
        )
    is_first_missing = width < inside.shape[1]
    lengths = inside.sum(axis=1)
    # Left alone are those that have no number where a text of this length has no token.
    if (lengths - is_first_missing == count_row_lengths(outputs.log_proba)).all():
        inside, counts = (_move_left(one, inside) for one in (inside, counts))
    moments = []
    for name in ("log_proba", "mean", "std"):
        held = getattr(outputs, name)
        if held is not None:
            if is_first_missing:
                held = np.column_stack([np.full(len(held), np.nan), held])
            held = _move_left(np.where(counts, held, np.nan), inside, np.nan)[:, : lengths.max()]
        moments.append(held)
    return TokenOutputs(*moments)


def count_row_lengths(values):
    """Return the number of columns up to the last number of each row, or token that counts."""
    return np.where(np.isnan(values), 0, np.arange(1, values.shape[1] + 1)).max(axis=1, initial=0)


def _move_left(values, inside, fill=False):
    """Return the values of each row at some places, from the first column on."""
    order = np.argsort(~inside, axis=1, kind="stable")
    moved = np.take_along_axis(values, order, axis=1)
    return np.where(np.arange(values.shape[1]) < inside.sum(axis=1)[:, None], moved, fill)


def _stack_token_arrays(arrays):
    held = [array for array in arrays if array is not None]
    if len(held) < len(arrays):
        return None
    width = max(array.shape[1] for array in held)
    fill = [((0, 0), (0, width - array.shape[1])) for array in held]
    padded = [np.pad(a, w, constant_values=np.nan) for a, w in zip(held, fill, strict=True)]
    return np.concatenate(padded)
