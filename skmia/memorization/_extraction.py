"""Extraction of memorized sequences by a search."""

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np
from sklearn.base import BaseEstimator

from .._core.sklearn import at_least, validate_arguments
from .._core.types import TokenModel
from ._format import CanaryFormat
from ._model import check_sequence_model, log_perplexity, next_bits

_CONSTRAINTS = {
    "secrets": [CanaryFormat],
    "n_sequences": [at_least(1)],
    "max_nodes": [at_least(1)],
    "batch_size": [at_least(1)],
}


@dataclass(frozen=True)
class ExtractionResult:
    """Result of a search; returned by :func:`shortest_path_extraction`.

    Attributes
    ----------
    sequences : ndarray of shape (n_found, length)
        Tokens, least perplexing first.
    log_perplexity : ndarray of shape (n_found,)
        Log-perplexity of each sequence, in bits.
    n_expanded : int
        Number of prefixes that the model was queried with.
    complete : bool
        Whether the search was completed. If False, the budget was exhausted first.
    lower_bound : float
        No candidate but those found has a log-perplexity below this, in bits; infinite where all
        others are impossible.
    """

    sequences: np.ndarray
    log_perplexity: np.ndarray
    n_expanded: int
    complete: bool
    lower_bound: float


class _SearchFrontier:
    """Beginnings of sequences that wait for being continued, cheapest first."""

    def __init__(self, length):
        self._heap, self._number, self._length = [], count(), length

    def push(self, bits, prefix):
        # Of equal costs the longest first: it is nearest to the end.
        heapq.heappush(self._heap, (bits, -len(prefix), next(self._number), prefix))

    @property
    def lower_bound(self):
        return self._heap[0][0] if self._heap else np.inf

    def pop(self, most, whole):
        """Return the cheapest ones, as long as they are whole sequences, or beginnings."""
        popped = []
        while self._heap and len(popped) < most and (-self._heap[0][1] == self._length) == whole:
            bits, _, _, prefix = heapq.heappop(self._heap)
            popped.append((bits, prefix))
        return popped


def _expand_frontier(model, secrets, popped, frontier):
    """Push all continuations of some beginnings, asking once for each length among them."""
    for length in {len(prefix) for _, prefix in popped}:
        some = [entry for entry in popped if len(entry[1]) == length]
        choice = secrets.choices[length]
        prefixes = np.array([prefix for _, prefix in some], dtype=np.intp)
        prefixes = prefixes.reshape(len(some), length)
        steps = next_bits(model, prefixes, choice)[:, choice]
        for (bits, prefix), row in zip(some, steps.tolist(), strict=True):
            for token, step in zip(choice.tolist(), row, strict=True):
                if step < np.inf:
                    frontier.push(bits + step, (*prefix, token))


def shortest_path_extraction(
    model: TokenModel | BaseEstimator,
    secrets: CanaryFormat,
    *,
    n_sequences: int = 1,
    max_nodes: int = 100_000,
    batch_size: int = 32,
) -> ExtractionResult:
    """Find the candidates with the lowest log-perplexity by uniform-cost search.

    Candidates with the same beginning share a path in a tree, on which each token costs its -log2
    probability. The search always extends the cheapest beginning, so the first complete sequence
    that is the cheapest is the best of all candidates: no cost is negative.

    Parameters
    ----------
    model : SequenceModel
        Model of the probability of the next token.
    secrets : CanaryFormat
        Format of the candidates.
    n_sequences : int, default=1
        Number of sequences to find. A canary that is found as the k-th has rank k.
    max_nodes : int, default=100_000
        Maximum number of prefixes that the model is queried with.
    batch_size : int, default=32
        Number of prefixes per query. With 1, the fewest prefixes are queried; the result is the
        same.

    Returns
    -------
    result : ExtractionResult
        Sequences found. If ``max_nodes`` did not suffice, ``complete=False`` and there are fewer
        sequences.

    Raises
    ------
    TypeError
        If ``model`` is not a sequence model.

    See Also
    --------
    Exposure : Exposure of a known canary.

    Notes
    -----
    The order of sequences with the same log-perplexity is not defined.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security, section 7.

    Examples
    --------
    >>> from skmia.memorization import (
    ...     CanaryFormat,
    ...     NGramModel,
    ...     insert_canaries,
    ...     shortest_path_extraction,
    ... )
    >>> secrets = CanaryFormat("pin ####", "0123456789", alphabet="0123456789 pin")
    >>> others, canary = secrets.sample(200, random_state=0), secrets.encode(["pin 1234"])
    >>> model = NGramModel(4).fit(insert_canaries(others, canary, 20, random_state=0))
    >>> result = shortest_path_extraction(model, secrets, batch_size=1)
    >>> secrets.decode(result.sequences), result.n_expanded
    (['pin 1234'], 9)
    """
    check_sequence_model(model)
    validate_arguments(_CONSTRAINTS, locals(), "shortest_path_extraction")
    frontier, found, n_expanded = _SearchFrontier(len(secrets)), [], 0
    # What all candidates share, and what it costs.
    given = tuple(int(choice[0]) for choice in secrets.choices[: secrets.n_given])
    frontier.push(float(log_perplexity(model, [given])[0]) if given else 0.0, given)
    while len(found) < n_sequences and frontier.lower_bound < np.inf:
        found += frontier.pop(n_sequences - len(found), whole=True)
        if len(found) == n_sequences:
            break
        popped = frontier.pop(min(batch_size, max_nodes - n_expanded), whole=False)
        if not popped:
            break
        n_expanded += len(popped)
        _expand_frontier(model, secrets, popped, frontier)
    sequences = np.array([sequence for _, sequence in found], dtype=np.intp)
    return ExtractionResult(
        sequences=sequences.reshape(-1, len(secrets)),
        log_perplexity=np.array([bits for bits, _ in found]),
        n_expanded=n_expanded,
        complete=len(found) == n_sequences or frontier.lower_bound == np.inf,
        lower_bound=float(frontier.lower_bound),
    )
