"""N-gram model, a sequence model that counts."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.numbers import show, to_array
from .._core.sklearn import Interval, at_least, validate_params_of
from .._core.types import ArrayLike
from ._model import check_sequences


def _read_sequences(X):
    """Each sequence as an array of tokens."""
    try:
        sequences = [to_array(sequence, "A sequence") for sequence in X]
    except (TypeError, ValueError):
        sequences = [None]
    if isinstance(X, str | bytes) or not all(map(_is_whole, sequences)):
        raise ValueError(f"X must be a sequence of sequences of whole numbers; got {show(X)}.")
    return [sequence.astype(np.intp) for sequence in sequences]


def _is_whole(tokens):
    """Whether something is a row of whole numbers."""
    if tokens is None or tokens.ndim != 1:
        return False
    largest = np.iinfo(np.intp).max
    return tokens.size == 0 or (tokens.dtype.kind in "iu" and tokens.max() <= largest)


class NGramModel(BaseEstimator):
    """Probability of the next token from counts of short runs of tokens.

    The last ``order - 1`` tokens decide. How often each token followed them is mixed with the
    probability after one token less, and so on down to equal probabilities: a context that was seen
    c times counts c / (c + ``smoothing``).

    Parameters
    ----------
    order : int, default=3
        Length of the longest runs that are counted; 1 looks at no context.
    n_tokens : int, default=None
        Number of tokens, which are numbered from 0. If None, one more than the largest token seen.
    smoothing : float, default=1.0
        Weight of the shorter context, in counts. With 0 what was not seen after a known context is
        impossible.

    Attributes
    ----------
    n_tokens_ : int
        Number of tokens.

    Raises
    ------
    ValueError
        If the training sequences hold no tokens, or runs of this length have more values than
        there are 64-bit numbers.

    See Also
    --------
    TorchSequenceModel : The same questions to a net.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import NGramModel
    >>> model = NGramModel(2, smoothing=1.0).fit([[0, 1, 0, 1], [0, 0]])
    >>> np.exp(model.next_log_proba(np.array([[1, 0]]))).round(3)
    array([[0.411, 0.589]])
    """

    _parameter_constraints = {
        "order": [at_least(1)],
        "n_tokens": [at_least(1), None],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, order: int = 3, *, n_tokens: int | None = None, smoothing: float = 1.0
    ) -> None:
        self.order = order
        self.n_tokens = n_tokens
        self.smoothing = smoothing

    def fit(self, X: ArrayLike | Sequence[Sequence[int]], y: Any = None) -> Self:
        """Count.

        Parameters
        ----------
        X : sequence of n sequences of int, of any lengths
            Training sequences. What comes first is counted as following the start.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        sequences = _read_sequences(X)
        largest = max((sequence.max() for sequence in sequences if sequence.size), default=-1)
        smallest = min((sequence.min() for sequence in sequences if sequence.size), default=0)
        self.n_tokens_ = int(largest) + 1 if self.n_tokens is None else self.n_tokens
        if largest < 0 or smallest < 0 or largest >= self.n_tokens_:
            raise ValueError(
                f"Training sequences need tokens from 0 to {max(self.n_tokens_ - 1, 0)}; got "
                f"{'none' if largest < 0 else f'{smallest} to {largest}'}."
            )
        # The power of a large order is never computed: there are two values of a token at least.
        if self.order > 62 or (self.n_tokens_ + 1) ** self.order >= 2**63:
            raise ValueError(
                f"Runs of {self.order} out of {self.n_tokens_} tokens have too many values to be "
                "counted; choose a smaller order."
            )
        padded = [np.concatenate([self._start(), sequence]) for sequence in sequences]
        self._counts = [self._count_runs(padded, length) for length in range(1, self.order + 1)]
        self._totals = [self._count_contexts(*counted) for counted in self._counts]
        return self

    def _start(self):
        # A token of its own, so that the first tokens of a sequence have a context as well.
        return np.full(self.order - 1, self.n_tokens_)

    def _count_runs(self, padded, length):
        """Sorted numbers of all runs of a length that end in a real token, and their counts."""
        skip = self.order - length
        ends = [
            np.lib.stride_tricks.sliding_window_view(sequence[skip:], length)
            for sequence in padded
            if len(sequence) - skip >= length
        ]
        return np.unique(np.concatenate([self._number(runs) for runs in ends]), return_counts=True)

    def _count_contexts(self, runs, counts):
        """Sorted numbers of what comes before the last token of a run, and their counts."""
        contexts, first = np.unique(runs // (self.n_tokens_ + 1), return_index=True)
        return contexts, np.add.reduceat(counts, first)

    def _number(self, runs):
        """Runs as the digits of one number each."""
        number = np.zeros(len(runs), dtype=np.int64)
        for column in runs.T:
            number = number * (self.n_tokens_ + 1) + column
        return number

    def next_log_proba(self, prefixes: ArrayLike) -> np.ndarray:
        """Log-probabilities of what comes next.

        Parameters
        ----------
        prefixes : array-like of shape (n, length), dtype int
            Tokens so far.

        Returns
        -------
        log_proba : ndarray of shape (n, n_tokens)
            Log-probability of each token, in nats.
        """
        check_is_fitted(self)
        padded = self._pad(prefixes)
        contexts = padded[:, padded.shape[1] - self.order + 1 :]
        return self._log_proba(contexts, np.arange(self.n_tokens_)[None])

    def token_log_proba(self, sequences: ArrayLike, n_given: int = 0) -> np.ndarray:
        """Log-probabilities of the tokens of whole sequences.

        Parameters
        ----------
        sequences : array-like of shape (n, length), dtype int
            Tokens.
        n_given : int, default=0
            Number of tokens at the start that are not asked for.

        Returns
        -------
        log_proba : ndarray of shape (n, length - n_given)
            Log-probability of each token, in nats.
        """
        check_is_fitted(self)
        padded = self._pad(sequences)[:, n_given:]
        n_asked = padded.shape[1] - self.order + 1
        if n_asked <= 0:
            return np.zeros((len(padded), 0))
        runs = np.lib.stride_tricks.sliding_window_view(padded, self.order, axis=1)
        runs = runs.reshape(-1, self.order)
        return self._log_proba(runs[:, :-1], runs[:, -1:]).reshape(len(padded), n_asked)

    def _pad(self, sequences):
        tokens = check_sequences(sequences, least=0)
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < self.n_tokens_:
            raise ValueError(
                f"The model knows tokens from 0 to {self.n_tokens_ - 1}; got {tokens.min()} to "
                f"{tokens.max()}."
            )
        return np.concatenate([np.tile(self._start(), (len(tokens), 1)), tokens], axis=1)

    def _log_proba(self, contexts, tokens):
        """Log-probabilities of some tokens after each context, shortest context first."""
        shape = np.broadcast_shapes((len(contexts), 1), tokens.shape)
        proba = np.full(shape, 1 / self.n_tokens_)
        for length in range(1, self.order + 1):
            context = self._number(contexts[:, self.order - length :])
            runs = context[:, None] * (self.n_tokens_ + 1) + tokens
            counts = _look_up(self._counts[length - 1], runs)
            total = _look_up(self._totals[length - 1], context)[:, None] + self.smoothing
            np.divide(counts + self.smoothing * proba, total, out=proba, where=total > 0)
        with np.errstate(divide="ignore"):
            return np.log(proba)


def _look_up(table, wanted):
    """Counts of some numbers, 0 for those that did not occur."""
    numbers, counts = table
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[at] == wanted, counts[at], 0)
