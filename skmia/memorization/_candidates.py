"""Candidate spaces, as formats and as lists, and their log-perplexities."""

import numpy as np

from .._core.numbers import as_numbers
from .._core.randomness import check_random_state
from ._format import CanaryFormat
from ._model import CHUNK, check_sequences, is_model, log_perplexity, next_bits, token_bits

# A float each: above it an enumeration takes gigabytes.
MOST_CANDIDATES = 100_000_000


class CandidateList:
    """Explicit list of candidates, with the methods of a format."""

    def __init__(self, candidates):
        self._rows = np.unique(check_sequences(candidates), axis=0)
        self.n_candidates = len(self._rows)

    def encode(self, sequences):
        return check_sequences(sequences)

    def sample(self, n_samples, *, random_state=None):
        rng = check_random_state(random_state)
        return self._rows[rng.randint(self.n_candidates, size=n_samples)]

    def position(self, sequences):
        numbers = {row.tobytes(): number for number, row in enumerate(self._rows)}
        tokens = self.encode(sequences)
        position = [numbers.get(row.tobytes()) for row in tokens]
        if None in position:
            missing = tokens[position.index(None)].tolist()
            raise ValueError(f"The sequence {missing} is not among the candidates.")
        return position

    def candidates(self, start=0, stop=None):
        return self._rows[start:stop]


def as_candidates(candidates):
    """A format as it is, anything else as a list of candidates."""
    return candidates if isinstance(candidates, CanaryFormat) else CandidateList(candidates)


def measure(model, sequences):
    """Log-perplexity of sequences under a model, or by a function of the user."""
    if is_model(model):
        return log_perplexity(model, sequences)
    bits = as_numbers(model(sequences), "What log_perplexity returns", "an array of numbers")
    if bits.shape != (len(sequences),) or np.isnan(bits).any():
        raise ValueError(
            f"log_perplexity must return a number for each of {len(sequences)} sequences; got an "
            f"array of shape {bits.shape}{' with NaN' if np.isnan(bits).any() else ''}."
        )
    return bits


def measure_all(model, candidates):
    """Log-perplexity of every candidate, in the order of their positions."""
    if candidates.n_candidates > MOST_CANDIDATES:
        raise ValueError(
            f"The {candidates.n_candidates} candidates are too many to query each of them; choose "
            "method='sampling' or 'skew_normal'."
        )
    if is_model(model) and isinstance(candidates, CanaryFormat):
        return _walk_tree(model, candidates)
    starts = range(0, candidates.n_candidates, CHUNK)
    parts = (candidates.candidates(start, start + CHUNK) for start in starts)
    return np.concatenate([measure(model, part) for part in parts])


def _walk_tree(model, secrets):
    """Bits of all candidates, with one question for each beginning that they share."""
    given = np.array([[choice[0] for choice in secrets.choices[: secrets.n_given]]], dtype=np.intp)
    bits = token_bits(model, given, 0).sum(axis=1) if secrets.n_given else np.zeros(1)
    last = max(i for i, choice in enumerate(secrets.choices) if len(choice) > 1)
    prefixes = given
    for i in range(secrets.n_given, last + 1):
        choice = secrets.choices[i]
        steps = _in_chunks(lambda part, choice=choice: next_bits(model, part)[:, choice], prefixes)
        bits = (bits[:, None] + steps).ravel()
        if i < last:
            tail = np.tile(choice, len(prefixes))
            prefixes = np.column_stack([np.repeat(prefixes, len(choice), axis=0), tail])
    if last + 1 == len(secrets):
        return bits
    starts = range(0, secrets.n_candidates, CHUNK)
    ends = [
        token_bits(model, secrets.candidates(start, start + CHUNK), last + 1).sum(axis=1)
        for start in starts
    ]
    return bits + np.concatenate(ends)


def _in_chunks(function, rows):
    return np.concatenate([function(rows[i : i + CHUNK]) for i in range(0, len(rows), CHUNK)])
