"""Interface of sequence models, the log-perplexity of sequences, and a model that counts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.containers import table_to_rows
from .._core.numbers import as_numbers, check_number, show, to_array
from .._core.query import check_fitted
from .._core.sklearn import Interval, at_least
from .._core.tokens import check_given, read_tokens
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, TokenModel
from ._texts import read_matrix

# Sequences asked about at once: bounds the memory, n_tokens numbers for each.
CHUNK = 20_000


class SequenceModel(ABC):
    """Base class of models of the next token of a sequence.

    Any object with this method serves, whatever its class. A method ``token_log_proba(sequences,
    n_given)`` that returns the log-probabilities of all tokens after the first ``n_given`` in one
    pass, an array of shape (n, length - n_given), is used where there is one; so is a method
    ``token_moments(sequences)`` that returns them for all tokens, with the mean and the standard
    deviation of the log-probabilities of the vocabulary at each position, in one array of shape (3,
    n, length).

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import SequenceModel, log_perplexity
    >>> class FairDice(SequenceModel):
    ...     def next_log_proba(self, prefixes):
    ...         return np.full((len(prefixes), 6), -np.log(6))
    >>> log_perplexity(FairDice(), [[0, 3, 5]]).round(3)
    array([7.755])
    """

    @abstractmethod
    def next_log_proba(self, prefixes: np.ndarray) -> ArrayLike:
        """Return log-probabilities of the next token.

        Parameters
        ----------
        prefixes : ndarray of shape (n, length), dtype int
            Tokens so far; the length may be 0.

        Returns
        -------
        log_proba : array-like of shape (n, n_tokens)
            Log-probability of each token, in nats; -inf for impossible tokens.
        """


def is_model(model):
    """Return whether something can be asked for the next token, a frozen estimator included."""
    return hasattr(model, "next_log_proba")


def check_sequence_model(model):
    """Check that something is a sequence model, and a fitted one if it is an estimator."""
    if not is_model(model):
        is_module = hasattr(model, "forward")
        wrap = "; wrap a torch module as TransformersModel or TorchSequenceModel"
        raise TypeError(
            "A sequence model needs a method next_log_proba(prefixes) that gives the "
            f"log-probabilities of the next token; got {type(model).__name__}"
            f"{wrap if is_module else ''}."
        )
    if isinstance(model, BaseEstimator):
        check_fitted(model, "sequence model")
    return model


def check_sequences(sequences, *, least=1):
    """Return sequences of one length, one token or as many as ``least``, as an array of tokens."""
    tokens = to_array(sequences, "Sequences", "be an array of whole numbers")
    is_whole = tokens.dtype.kind in "iu" or not tokens.size
    if tokens.ndim != 2 or not is_whole or tokens.size < least:
        raise ValueError(
            "Sequences must be an array of whole numbers, one row for each and all of one length; "
            f"got an array of {tokens.dtype} of shape {tokens.shape}."
        )
    if tokens.min(initial=0) < 0:
        raise ValueError(f"Tokens are whole numbers of 0 and above; got {tokens.min()}.")
    return tokens.astype(np.intp, copy=False)


def check_n_given(n_given, length):
    """Return a number of known tokens at the start of sequences of one length."""
    allowed = f"between 0 and the {length} tokens of a sequence"
    return check_number(n_given, "n_given", allowed, 0, length, whole=True)


def next_bits(model, prefixes, asked=()):
    """Return what each next token costs, -log2 of its probability.

    Take asked, tokens that must be among them; return bits of shape (n, n_tokens).
    """
    log_proba = _as_log_proba(model.next_log_proba(prefixes))
    if log_proba.ndim != 2 or len(log_proba) != len(prefixes):
        raise ValueError(
            f"next_log_proba must return an array of shape ({len(prefixes)}, n_tokens), with a row "
            f"for each prefix; got one of shape {log_proba.shape}."
        )
    if np.max(asked, initial=-1) >= log_proba.shape[1]:
        raise ValueError(
            f"The model knows tokens from 0 to {log_proba.shape[1] - 1}; got {np.max(asked)}."
        )
    return _nats_to_bits(log_proba)


def _as_log_proba(answer):
    return as_numbers(answer, "What the model answers", "an array of log-probabilities")


def _nats_to_bits(log_proba):
    if np.isnan(log_proba).any() or log_proba.max(initial=0) > 1e-5:
        raise ValueError("The model's log-probabilities must be numbers of at most 0.")
    # A rounding error above 0 would be a negative cost; + 0.0 turns -0.0 into 0.0.
    return np.maximum(-log_proba / np.log(2), 0) + 0.0


def token_bits(model, tokens, n_given):
    """Return what each token after the given ones costs."""
    if hasattr(model, "token_log_proba"):
        log_proba = _as_log_proba(model.token_log_proba(tokens, n_given))
        shape = len(tokens), tokens.shape[1] - n_given
        if log_proba.shape != shape:
            raise ValueError(
                f"token_log_proba must return an array of shape {shape}, with a number for each "
                f"token that is not given; got one of shape {log_proba.shape}."
            )
        return _nats_to_bits(log_proba)
    rows = np.arange(len(tokens))
    columns = [
        next_bits(model, tokens[:, :i], tokens[:, i])[rows, tokens[:, i]]
        for i in range(n_given, tokens.shape[1])
    ]
    return np.column_stack(columns) if columns else np.zeros((len(tokens), 0))


def token_moments(model, tokens):
    """Log-probability of each token, and their mean and standard deviation over the vocabulary.

    Return moments of shape (3, n, length).
    """
    if hasattr(model, "token_moments"):
        found = np.asarray(model.token_moments(tokens), dtype=np.float64)
        if found.shape != (3, *tokens.shape):
            raise ValueError(
                f"token_moments must return an array of shape {(3, *tokens.shape)}; got "
                f"{found.shape}."
            )
        return found
    rows, moments = np.arange(len(tokens)), np.empty((3, *tokens.shape))
    for i in range(tokens.shape[1]):
        log_proba = -np.log(2) * next_bits(model, tokens[:, :i], tokens[:, i])
        moments[0, :, i] = log_proba[rows, tokens[:, i]]
        proba = np.exp(log_proba)
        log_proba = np.where(proba > 0, log_proba, 0.0)  # p log p is 0 for what cannot come
        mean = (proba * log_proba).sum(axis=1)
        moments[1, :, i] = mean
        moments[2, :, i] = np.sqrt((proba * (log_proba - mean[:, None]) ** 2).sum(axis=1))
    return moments


def sum_bits(model, X, n_given=0):
    """Return what the tokens of each row that count cost together; -1 stands behind shorter ones.

    X (n, length), n_given (n,) or a number.
    """
    is_plain = np.ndim(n_given) == 0 and X.min(initial=0) >= 0
    tokens = counts = None
    if not is_plain:
        tokens, _, counts = read_tokens(X)
        counts &= np.arange(X.shape[1]) >= np.reshape(n_given, (-1, 1))
    sums = []
    for start in range(0, len(X), CHUNK):
        rows = slice(start, start + CHUNK)
        if is_plain:
            bits = token_bits(model, check_sequences(X[rows]), n_given)
        else:
            bits = token_bits(model, np.maximum(tokens[rows], 0), 0)
            bits = np.where(counts[rows], bits, 0.0)
        sums.append(bits.sum(axis=1))
    return np.concatenate(sums)


def log_perplexity(
    model: TokenModel | BaseEstimator,
    sequences: ArrayLike | Sequence[ArrayLike] | Mapping[str, Any],
    *,
    n_given: int | ArrayLike = 0,
) -> np.ndarray:
    """Return the log-perplexity of sequences, the bits that it takes to write them down.

    It is the sum of -log2 Pr(token | tokens before it) under the model. Low means that the model
    expects the sequence.

    Parameters
    ----------
    model : SequenceModel
        Gives the probability of the next token.
    sequences : array-like of shape (n, length), dtype int
        Tokens; sequences of different lengths, what a tokenizer returned, or the ``X`` of
        :func:`token_records`, whose padding does not count.
    n_given : int or array-like of shape (n,), default=0
        Number of known tokens at the start, which do not count.

    Returns
    -------
    log_perplexity : ndarray of shape (n,)
        Log-perplexity, in bits; infinite for what the model excludes.

    Raises
    ------
    TypeError
        If ``model`` is not a sequence model.
    ValueError
        If the sequences are not tokens, or the answers not log-probabilities.

    See Also
    --------
    Exposure : Comparison of a canary's log-perplexity with other candidates.

    Notes
    -----
    The slides that this follows print "Pr" where the sum of logarithms is meant.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, log_perplexity
    >>> coin = NGramModel(1, n_tokens=2, smoothing=0).fit([[0, 0, 0, 1]])
    >>> log_perplexity(coin, [[1, 1], [0, 1]]).round(3)
    array([4.   , 2.415])
    """
    check_sequence_model(model)
    X = check_token_rows(read_matrix(sequences))
    if np.ndim(n_given) == 1 and len(n_given) == len(X):
        return sum_bits(model, X, check_given(n_given, len(X)))
    return sum_bits(model, X, check_n_given(n_given, X.shape[1]))


def check_token_rows(X):
    """Check a matrix of tokens, which may end with -1 if its rows differ in length."""
    if X.ndim == 2 and X.dtype.kind == "i" and X.min(initial=0) < 0:
        read_tokens(X)
        return X.astype(np.int64, copy=False)
    return check_sequences(X)


def _read_sequences(X):
    """Return each sequence as an array of tokens."""
    X = table_to_rows(X)
    try:
        sequences = [to_array(sequence, "A sequence") for sequence in X]
    except (TypeError, ValueError):
        sequences = [None]
    if isinstance(X, str | bytes) or not all(map(_are_whole_tokens, sequences)):
        raise ValueError(f"X must be a sequence of sequences of whole numbers; got {show(X)}.")
    return [sequence.astype(np.intp) for sequence in sequences]


def _are_whole_tokens(tokens):
    """Return whether something is a row of whole numbers."""
    if tokens is None or tokens.ndim != 1:
        return False
    largest = np.iinfo(np.intp).max
    return tokens.size == 0 or (tokens.dtype.kind in "iu" and tokens.max() <= largest)


class NGramModel(TransactionMixin, BaseEstimator):
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
        impossible: its log-probability is -inf, which searches leave out, ``TokenOutputs`` raises
        to log 1e-12, and a log-perplexity holds as inf.

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
    >>> model.predict([[1, 0], [0, 0, 1]])
    array([1, 0])
    >>> round(model.score([[0, 1, 0, 1], [0, 0]]), 3)
    -0.4
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
        """Return sorted numbers of what comes before the last token of a run, and their counts."""
        contexts, first = np.unique(runs // (self.n_tokens_ + 1), return_index=True)
        return contexts, np.add.reduceat(counts, first)

    def _number(self, runs):
        """Run as the digits of one number each."""
        number = np.zeros(len(runs), dtype=np.int64)
        for column in runs.T:
            number = number * (self.n_tokens_ + 1) + column
        return number

    def predict(self, X: ArrayLike | Sequence[Sequence[int]]) -> np.ndarray:
        """Return the most probable next token of each sequence.

        Parameters
        ----------
        X : sequence of n sequences of int, of any lengths
            Tokens so far.

        Returns
        -------
        token : ndarray of shape (n,), dtype int
            The first one of those that are equally probable.
        """
        check_is_fitted(self)
        parts = [self.next_log_proba(one[None]).argmax() for one in _read_sequences(X)]
        return np.array(parts, dtype=np.intp)

    def score(self, X: ArrayLike | Sequence[Sequence[int]], y: Any = None) -> float:
        """Return the average log-probability of tokens; higher means that the model fits better.

        Parameters
        ----------
        X : sequence of n sequences of int, of any lengths
            Sequences with at least one token.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean over the tokens of all sequences, in nats; minus infinity if one of them is
            impossible, which it can be with ``smoothing=0``.
        """
        check_is_fitted(self)
        parts = [self.token_log_proba(one[None]).ravel() for one in _read_sequences(X)]
        found = np.concatenate([*parts, np.zeros(0)])
        if not len(found):
            raise ValueError("X must hold at least 1 token to be scored; got none.")
        return float(found.mean())

    def next_log_proba(self, prefixes: ArrayLike) -> np.ndarray:
        """Return the log-probabilities of what comes next.

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
        """Return the log-probabilities of the tokens of whole sequences.

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
        padded = self._pad(sequences)
        padded = padded[:, check_n_given(n_given, padded.shape[1] - self.order + 1) :]
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
        """Return log-probabilities of some tokens after each context, shortest context first."""
        shape = np.broadcast_shapes((len(contexts), 1), tokens.shape)
        proba = np.full(shape, 1 / self.n_tokens_)
        for length in range(1, self.order + 1):
            context = self._number(contexts[:, self.order - length :])
            runs = context[:, None] * (self.n_tokens_ + 1) + tokens
            counts = _look_up_counts(self._counts[length - 1], runs)
            total = _look_up_counts(self._totals[length - 1], context)[:, None] + self.smoothing
            np.divide(counts + self.smoothing * proba, total, out=proba, where=total > 0)
        with np.errstate(divide="ignore"):
            return np.log(proba)


def _look_up_counts(table, wanted):
    """Return the counts of some numbers, 0 for those that did not occur."""
    numbers, counts = table
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[at] == wanted, counts[at], 0)
