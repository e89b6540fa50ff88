"""Signal that compares a text with neighbors of it."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from .._core.numbers import SMALLEST, check_count, check_number
from .._core.randomness import check_seed
from ._tokens import TokenRecordSignal, mean_log_proba

_MOST_NEIGHBORS = 10_000


@dataclass(frozen=True)
class Neighborhood(TokenRecordSignal):
    r"""Mean log-likelihood of a text minus that of neighbors, in which some tokens are replaced.

    .. math::

        \frac1T \log p(x) - \frac1m \sum_{j=1}^m \frac1T \log p(\tilde x_j)

    Source: Mattern et al. (2023), Membership inference attacks against language models via
    neighbourhood comparison. They replace words by words that a masked language model proposes;
    here tokens are replaced by any others, with equal probability, which makes neighbors that every
    model finds less probable, and a weaker signal. The neighbors of a text depend on nothing but
    the text and the seed.

    Parameters
    ----------
    n_tokens : int
        Size of the vocabulary, from which tokens are drawn.
    n_neighbors : int, default=10
        Number m of neighbors, each a query of the victim.
    share : float, default=0.1
        Share of the tokens that are replaced, in (0, 1]: rounded down, at least one. The first
        token stays if there are others.
    random_state : int, default=0
        Controls the neighbors.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals import Neighborhood
    >>> records = token_records([[0, 1, 0, 1, 0, 1], [1, 1, 0, 0, 2, 2]])
    >>> victim = SequenceVictim(NGramModel(2, n_tokens=3).fit([[0, 1, 0, 1, 0, 1]]))
    >>> scores = Neighborhood(n_tokens=3).of(victim, records)
    >>> bool(scores[0] > scores[1])
    True
    """

    n_tokens: int
    n_neighbors: int = 10
    share: float = 0.1
    random_state: int = 0
    name = "neighborhood"
    access = ("tokens", "queries")

    def __post_init__(self):
        check_count(self.n_tokens, "n_tokens", low=2)
        check_count(self.n_neighbors, "n_neighbors", high=_MOST_NEIGHBORS)
        check_number(self.share, "share", "a fraction above 0 and of at most 1", SMALLEST, 1)
        check_seed(self.random_state)

    def _compare(self, outputs, ask, records):
        X = np.asarray(records.X)
        near = np.concatenate([self._draw(row) for row in X]) if len(X) else X
        of_near = mean_log_proba(ask(near)).reshape(len(X), self.n_neighbors)
        return mean_log_proba(outputs) - of_near.mean(axis=1)

    def _draw(self, row):
        tokens = row[row >= 0].astype("<i8")
        digest = blake2b(tokens.tobytes(), digest_size=8).digest()
        rng = np.random.default_rng([self.random_state, int.from_bytes(digest, "little")])
        first = min(1, len(tokens) - 1)
        n_changed = max(1, int(self.share * (len(tokens) - first) + 1e-9))
        near = np.tile(row, (self.n_neighbors, 1))
        for neighbor in near:
            places = first + rng.permutation(len(tokens) - first)[:n_changed]
            # One of the other tokens: a step of less than the vocabulary never comes back.
            steps = rng.integers(1, self.n_tokens, size=len(places))
            neighbor[places] = (neighbor[places] + steps) % self.n_tokens
        return near
