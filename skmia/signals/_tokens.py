"""Base classes of signals of the single tokens of a text."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from .._core.asking import query_victim
from .._core.records import Records
from .._core.token_outputs import TokenOutputs
from .._core.validation import check_records, query
from ._base import AnswerSignal, Signal


def check_tokens(outputs, name, *, moments=False):
    """Refuse outputs that say nothing of single tokens, or lack what a signal reads.

    Raises
    ------
    ValueError
        If the outputs are not of a sequence model, or have no moments over the vocabulary.
    """
    if not isinstance(outputs, TokenOutputs):
        raise ValueError(
            f"Signal {name!r} needs the log-probabilities of single tokens (TokenOutputs); the "
            f"victim returns {outputs!r}."
        )
    if moments and (outputs.mean is None or outputs.std is None):
        raise ValueError(
            f"Signal {name!r} needs the mean and the standard deviation of log p over the "
            "vocabulary at each token; the outputs hold the tokens' own alone."
        )
    return outputs


def mean_log_proba(outputs):
    """Mean log-probability of the tokens of each sequence, in nats."""
    return np.nanmean(outputs.log_proba, axis=1)


def count_lowest(values, share):
    """Number of tokens of each row that are its lowest share: rounded down, at least one."""
    return np.maximum(1, np.floor(share * (~np.isnan(values)).sum(axis=1) + 1e-9)).astype(int)


def mean_of_lowest(values, share):
    """Mean of the lowest share of each row; NaN stands for no token."""
    n_lowest = count_lowest(values, share)
    lowest = np.sort(values, axis=1)  # NaN comes last
    inside = np.arange(values.shape[1]) < n_lowest[:, None]
    return np.where(inside, lowest, 0.0).sum(axis=1) / n_lowest


class TokenSignal(AnswerSignal):
    """Base class of signals that are computed from the log-probabilities of tokens alone.

    A subclass sets its name and computes one number per sequence in ``_measure(outputs)``.
    """

    reads = ("log_odds",)
    access = ("tokens",)
    _needs_moments = False

    def _evaluate(self, outputs, y):
        return self._measure(check_tokens(outputs, self.name, moments=self._needs_moments))

    def _evaluate_raw(self, outputs, y, resolution):
        return self._evaluate(outputs, y)

    @abstractmethod
    def _measure(self, outputs):
        """Compute the signal of each sequence."""


class TokenRecordSignal(Signal):
    """Base class of signals of tokens that need something beside the victim's answers.

    A subclass sets its name and computes one number per sequence in ``_compare(outputs, ask,
    records)``; ``ask(X)`` are the victim's outputs for other sequences.
    """

    reads = ("log_odds",)
    access = ("tokens",)

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        records = check_records(records)
        outputs = check_tokens(query(victim, records), self.name)

        def ask(X):
            if victim is None:
                raise ValueError(
                    f"Signal {self.name!r} needs the victim itself; stored outputs are not enough."
                )
            return check_tokens(query_victim(victim, X), self.name)

        return self._compare(outputs, ask, records)

    @abstractmethod
    def _compare(self, outputs, ask, records):
        """Compute the signal of each sequence."""


def ask_reference(reference, records, name):
    """Outputs of another sequence model for the same tokens."""
    return check_tokens(query_victim(reference, records.X), f"{name} of the reference")


def check_alike(outputs, other, name):
    """Refuse a reference that counts other tokens than the victim."""
    if outputs.log_proba.shape != other.log_proba.shape or not np.array_equal(
        outputs.lengths, other.lengths
    ):
        raise ValueError(
            f"Signal {name!r} compares tokens one by one, so the victim and the reference must "
            "count the same tokens: give both the same n_given and tokenizer."
        )
