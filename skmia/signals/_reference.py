"""Signals that compare a sequence model with another one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.numbers import check_count, show
from ._tokens import TokenRecordSignal, ask_reference, check_alike, mean_log_proba


@dataclass(frozen=True)
class ReferenceRatio(TokenRecordSignal):
    r"""Log of the ratio of the likelihoods under the victim and a reference model, per token.

    .. math::

        \frac1T \sum_t \bigl[\log p(x_t | x_{<t}) - \log q(x_t | x_{<t})\bigr]

    What any model expects cancels out. The reference q should be trained on other texts of the same
    kind; for a fine-tuned victim, it is the model before. Source: Mireshghallah et al. (2022),
    Quantifying privacy risks of masked language models; Carlini et al. (2021) divide the losses.

    Parameters
    ----------
    reference : fitted sequence victim
        Such as a :class:`skmia.memorization.SequenceVictim`, with the tokens of the victim.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals import ReferenceRatio
    >>> records = token_records([[0, 1, 0, 1], [1, 1, 0, 0]])
    >>> victim = SequenceVictim(NGramModel(2).fit([[0, 1, 0, 1]]))
    >>> before = SequenceVictim(NGramModel(1, n_tokens=2).fit([[0, 1]]))
    >>> ReferenceRatio(before).of(victim, records).round(2)
    array([ 0.48, -0.46])
    """

    reference: Any
    name = "reference_ratio"

    def _compare(self, outputs, ask, records):
        other = ask_reference(self.reference, records, self.name)
        check_alike(outputs, other, self.name)
        return mean_log_proba(outputs) - mean_log_proba(other)


@dataclass(frozen=True)
class WindowVotes(TokenRecordSignal):
    r"""Share of the windows of a text that the victim expects more than a reference model does.

    .. math::

        \frac1{|W|} \sum_{w \in W} \frac1{T - w + 1} \sum_{i} \mathbf 1\Bigl[
        \sum_{t=i}^{i+w-1} \log p(x_t | x_{<t}) > \sum_{t=i}^{i+w-1} \log q(x_t | x_{<t})\Bigr]

    Each window has one vote, so a few tokens with extreme losses decide nothing. Widths beyond the
    length of a text are left out for it; a text shorter than all widths is one window. Source: Chen
    et al. (2026), Window-based membership inference attacks against fine-tuned large language
    models.

    Parameters
    ----------
    reference : fitted sequence victim
        Such as a :class:`skmia.memorization.SequenceVictim`, with the tokens of the victim.
    widths : tuple of int, default=(2, 4, 8, 16, 32)
        Widths of the windows, in tokens.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals import WindowVotes
    >>> records = token_records([[0, 1, 0, 1], [1, 1, 0, 0]])
    >>> victim = SequenceVictim(NGramModel(2).fit([[0, 1, 0, 1]]))
    >>> before = SequenceVictim(NGramModel(1, n_tokens=2).fit([[0, 1]]))
    >>> WindowVotes(before, widths=(2,)).of(victim, records)
    array([1., 0.])
    """

    reference: Any
    widths: tuple[int, ...] = (2, 4, 8, 16, 32)
    name = "window_votes"

    def __post_init__(self):
        if not isinstance(self.widths, tuple) or not self.widths:
            raise ValueError(f"widths must be a tuple of one or more int; got {show(self.widths)}.")
        for width in self.widths:
            check_count(width, "widths")

    def _compare(self, outputs, ask, records):
        other = ask_reference(self.reference, records, self.name)
        check_alike(outputs, other, self.name)
        gain = outputs.log_proba - other.log_proba
        sums = np.cumsum(np.nan_to_num(gain), axis=1)
        sums = np.column_stack([np.zeros(len(sums)), sums])
        votes = np.array([self._vote(sums, outputs.lengths, width) for width in self.widths])
        n_widths = (~np.isnan(votes)).sum(axis=0)
        total = np.nansum(votes, axis=0) / np.maximum(1, n_widths)
        whole = (sums[np.arange(len(sums)), outputs.lengths] > 0).astype(float)
        return np.where(n_widths > 0, total, whole)

    @staticmethod
    def _vote(sums, lengths, width):
        """Share of windows of one width that vote for a member; NaN for shorter texts."""
        n_windows = np.maximum(0, lengths - width + 1)
        if not n_windows.any():
            return np.full(len(sums), np.nan)
        above = sums[:, width:] - sums[:, :-width] > 0
        inside = np.arange(above.shape[1]) < n_windows[:, None]
        share = (above & inside).sum(axis=1) / np.maximum(1, n_windows)
        return np.where(n_windows > 0, share, np.nan)
