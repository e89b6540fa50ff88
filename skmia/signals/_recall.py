"""Signal of what a prefix of non-members changes."""

from dataclasses import dataclass

import numpy as np

from .._core.numbers import show
from ._tokens import TokenRecordSignal, mean_log_proba


@dataclass(frozen=True)
class ReCaLL(TokenRecordSignal):
    r"""Relative conditional log-likelihood: the text after a prefix by the text alone.

    .. math::

        \frac{\log p(x | P)}{\log p(x)}

    with mean log-likelihoods per token, of the same tokens of x on both sides. A prefix P of text
    that was not trained on lowers the likelihood of members more than that of non-members. The
    prefix has to come from the distribution of the records, or the signal measures the difference.
    Source: Xie et al. (2024), ReCaLL: membership inference via relative conditional
    log-likelihoods.

    Parameters
    ----------
    prefix : tuple of int
        Tokens of one or more non-members, which must not be among the records.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals import ReCaLL
    >>> records = token_records([[0, 1, 0, 1], [1, 1, 0, 0]])
    >>> victim = SequenceVictim(NGramModel(2).fit([[0, 1, 0, 1]]), n_given=0)
    >>> ReCaLL(prefix=(0, 0)).of(victim, records).round(2)
    array([2.6 , 0.75])
    """

    prefix: tuple[int, ...]
    name = "recall"
    access = ("tokens", "queries")

    def __post_init__(self):
        is_tuple = isinstance(self.prefix, tuple) and len(self.prefix) > 0
        if not is_tuple or not all(isinstance(t, int | np.integer) and t >= 0 for t in self.prefix):
            raise ValueError(
                "prefix must be a tuple of one or more tokens, whole numbers of 0 and above; got "
                f"{show(self.prefix)}."
            )

    def _compare(self, outputs, ask, records):
        X = np.asarray(records.X)
        prefix = np.tile(np.array(self.prefix, dtype=X.dtype), (len(X), 1))
        after = ask(np.concatenate([prefix, X], axis=1))
        # The tokens that count are the last ones, as many as without the prefix.
        skip = after.lengths - outputs.lengths
        columns = np.arange(outputs.log_proba.shape[1]) + skip[:, None]
        columns = np.minimum(columns, after.log_proba.shape[1] - 1)
        behind = np.take_along_axis(after.log_proba, columns, axis=1)
        behind = np.where(np.isnan(outputs.log_proba), np.nan, behind)
        alone = np.minimum(mean_log_proba(outputs), -1e-12)
        return np.nanmean(behind, axis=1) / alone
