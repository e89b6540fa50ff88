"""Interface of sequence models, and the log-perplexity of sequences."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from .._core.asking import check_fitted
from .._core.numbers import as_numbers, check_number, to_array
from .._core.records import Records
from .._core.tokens import LENGTHS, PAD, pad_tokens
from .._core.types import ArrayLike, TokenModel

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
    """Whether something can be asked for the next token, a frozen estimator included."""
    return hasattr(model, "next_log_proba")


def check_model(model):
    """Check that something is a sequence model, and a fitted one if it is an estimator."""
    if not is_model(model):
        raise TypeError(
            "A sequence model needs a method next_log_proba(prefixes) that gives the "
            f"log-probabilities of the next token; got {type(model).__name__}."
        )
    if isinstance(model, BaseEstimator):
        check_fitted(model, "sequence model")
    return model


def check_sequences(sequences, *, least=1):
    """Sequences of one length, one token or as many as ``least``, as an array of tokens."""
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


def next_bits(model, prefixes):
    """What each next token costs, -log2 of its probability."""
    # -> bits (n, n_tokens)
    log_proba = _as_log_proba(model.next_log_proba(prefixes))
    if log_proba.ndim != 2 or len(log_proba) != len(prefixes):
        raise ValueError(
            f"next_log_proba must return {len(prefixes)} prefixes with an array of shape "
            f"({len(prefixes)}, n_tokens); got {log_proba.shape}."
        )
    return _as_bits(log_proba)


def _as_log_proba(answer):
    return as_numbers(answer, "What the model answers", "an array of log-probabilities")


def _as_bits(log_proba):
    if np.isnan(log_proba).any() or log_proba.max(initial=0) > 1e-5:
        raise ValueError("The model's log-probabilities must be numbers of at most 0.")
    # A rounding error above 0 would be a negative cost; + 0.0 turns -0.0 into 0.0.
    return np.maximum(-log_proba / np.log(2), 0) + 0.0


def token_bits(model, tokens, n_given):
    """What each token after the given ones costs."""
    if hasattr(model, "token_log_proba"):
        return _as_bits(_as_log_proba(model.token_log_proba(tokens, n_given)))
    rows = np.arange(len(tokens))
    columns = [
        next_bits(model, tokens[:, :i])[rows, tokens[:, i]] for i in range(n_given, tokens.shape[1])
    ]
    return np.column_stack(columns) if columns else np.zeros((len(tokens), 0))


def token_moments(model, tokens):
    """Log-probability of each token, and their mean and standard deviation over the vocabulary."""
    # -> moments (3, n, length)
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
        log_proba = -np.log(2) * next_bits(model, tokens[:, :i])
        moments[0, :, i] = log_proba[rows, tokens[:, i]]
        proba = np.exp(log_proba)
        log_proba = np.where(proba > 0, log_proba, 0.0)  # p log p is 0 for what cannot come
        mean = (proba * log_proba).sum(axis=1)
        moments[1, :, i] = mean
        moments[2, :, i] = np.sqrt((proba * (log_proba - mean[:, None]) ** 2).sum(axis=1))
    return moments


def log_perplexity(
    model: TokenModel | BaseEstimator, sequences: ArrayLike, *, n_given: int = 0
) -> np.ndarray:
    """Log-perplexity of sequences: the bits that it takes to write them down, given the model.

    The sum of -log2 Pr(token | tokens before it). Low means that the model expects the sequence.

    Parameters
    ----------
    model : SequenceModel
        Gives the probability of the next token.
    sequences : array-like of shape (n, length), dtype int
        Tokens.
    n_given : int, default=0
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
    check_model(model)
    tokens = check_sequences(sequences)
    allowed = f"between 0 and the {tokens.shape[1]} tokens of a sequence"
    check_number(n_given, "n_given", allowed, 0, tokens.shape[1], whole=True)
    parts = [tokens[start : start + CHUNK] for start in range(0, len(tokens), CHUNK)]
    return np.concatenate([token_bits(model, part, n_given).sum(axis=1) for part in parts])


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
        Further facts per record, such as ``record_id``, ``group_by`` and ``text``, which
        :class:`~skmia.signals.sequences.ZlibRatio` reads.

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
