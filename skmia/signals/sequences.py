"""Signals of texts, which read the log probability of each token."""

import zlib
from abc import abstractmethod
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._core.numbers import SMALLEST, check_count, check_number, make_room, show
from .._core.query import query, query_victim
from .._core.randomness import check_seed
from .._core.records import Records
from .._core.tokens import PAD, TokenOutputs, count_row_lengths, name_rows
from .._core.validation import check_records, require_victim
from ._base import AnswerSignal, Signal

__all__ = [
    "MinK",
    "MinKPlusPlus",
    "Neighborhood",
    "ReCaLL",
    "ReferenceRatio",
    "SurprisingTokens",
    "WindowVotes",
    "ZlibRatio",
]


def check_tokens(outputs, name, *, moments=False):
    """Refuse outputs that say nothing of single tokens, or lack what a signal reads."""
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
    """Return the mean log-probability of the tokens of each sequence, in nats."""
    return np.nanmean(outputs.log_proba, axis=1)


def count_lowest(values, share):
    """Return number of tokens of each row that are its lowest share: rounded down, at least one."""
    return np.maximum(1, np.floor(share * (~np.isnan(values)).sum(axis=1) + 1e-9)).astype(int)


def mean_of_lowest(values, share):
    """Return the mean of the lowest share of each row; NaN stands for no token."""
    n_lowest = count_lowest(values, share)
    lowest = np.sort(values, axis=1)  # NaN comes last
    inside = np.arange(values.shape[1]) < n_lowest[:, None]
    return np.where(inside, lowest, 0.0).sum(axis=1) / n_lowest


class TokenSignal(AnswerSignal):
    """Base class of signals that are computed from the log-probabilities of tokens alone.

    A subclass sets its name and computes one number per sequence in _measure(outputs).
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
    """Base class of signals of tokens that need more than the victim's answers.

    A subclass sets its name and computes one number per sequence in _compare(outputs, ask,
    records); ask(X) are the victim's outputs for other sequences.
    """

    reads = ("log_odds",)
    access = ("tokens",)

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        records = check_records(records)
        outputs = check_tokens(query(victim, records), self.name)

        def ask(X):
            require_victim(victim, f"Signal {self.name!r}")
            return check_tokens(query_victim(victim, X), self.name)

        return self._compare(outputs, ask, records)

    @abstractmethod
    def _compare(self, outputs, ask, records):
        """Compute the signal of each sequence."""


def ask_reference(reference, outputs, records, name):
    """Return the outputs of another sequence model for the same tokens as the victim's.

    Return victim, reference of shape (n, length): log-probabilities of the tokens that both have.
    """
    other = check_tokens(query_victim(reference, records.X), f"{name} of the reference")
    own, theirs = outputs.log_proba, other.log_proba
    if own.shape != theirs.shape or not np.array_equal(
        count_row_lengths(own), count_row_lengths(theirs)
    ):
        raise ValueError(
            f"Signal {name!r} compares tokens one by one, so the victim and the reference must "
            "count the same tokens: give both the same n_given and tokenizer."
        )
    missing = np.isnan(own) | np.isnan(theirs)  # never the last token of a text
    return np.where(missing, np.nan, own), np.where(missing, np.nan, theirs)


def check_share(share):
    """Check a share of tokens."""
    check_number(share, "share", "a fraction above 0 and of at most 1", SMALLEST, 1)


@dataclass(frozen=True)
class MinK(TokenSignal):
    r"""Min-K%: mean log-probability of the least probable tokens of a text, in nats.

    .. math::

        \frac1{|E|} \sum_{x_t \in E} \log p(x_t | x_{<t}),

    where E are the :math:`k\%` of the tokens with the lowest probability (rounded down, at least
    one). A text that was trained on has fewer tokens that surprise the model. Source: Shi et al.
    (2024), Detecting pretraining data from large language models.

    Parameters
    ----------
    share : float, default=0.2
        Share of the tokens, in (0, 1]; 1 is the mean log-likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals.sequences import MinK
    >>> outputs = TokenOutputs([[-1.0, -4.0, -2.0, -3.0]])
    >>> MinK(share=0.5)(outputs, [0])
    array([-3.5])
    """

    share: float = 0.2
    name = "min_k"

    def __post_init__(self):
        check_share(self.share)

    def _measure(self, outputs):
        return mean_of_lowest(outputs.log_proba, self.share)


@dataclass(frozen=True)
class MinKPlusPlus(TokenSignal):
    r"""Min-K%++: like :class:`MinK`, of log-probabilities that are standardized at each position.

    .. math::

        \frac1{|E|} \sum_{x_t \in E} \frac{\log p(x_t | x_{<t}) - \mu_t}{\sigma_t},

    where :math:`\mu_t` and :math:`\sigma_t` are the mean and the standard deviation of
    :math:`\log p(z | x_{<t})` over tokens z drawn from the model's own prediction, and E are the
    :math:`k\%` of tokens with the lowest such values. Where all tokens are equally probable, the
    value is 0. Source: Zhang et al. (2025), Min-K%++: improved baseline for detecting pre-training
    data from large language models.

    Parameters
    ----------
    share : float, default=0.2
        Share of the tokens, in (0, 1].

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals.sequences import MinKPlusPlus
    >>> outputs = TokenOutputs([[-1.0, -4.0]], mean=[[-2.0, -2.0]], std=[[1.0, 0.5]])
    >>> MinKPlusPlus(share=1.0)(outputs, [0])  # the mean of 1 and -4
    array([-1.5])
    """

    share: float = 0.2
    name = "min_k_plus_plus"
    _needs_moments = True

    def __post_init__(self):
        check_share(self.share)

    def _measure(self, outputs):
        # The deviation of a uniform prediction is 0 up to the rounding of single precision.
        is_flat = outputs.std <= 1e-6
        above = (outputs.log_proba - outputs.mean) / np.where(is_flat, 1.0, outputs.std)
        return mean_of_lowest(np.where(is_flat, 0.0, above), self.share)


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
        token stays, and does not count, if there are others.
    random_state : int, default=0
        Controls the neighbors.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals.sequences import Neighborhood
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
        check_share(self.share)
        check_seed(self.random_state)

    def _compare(self, outputs, ask, records):
        X = np.asarray(records.X)
        near = np.concatenate([self._draw(row) for row in X]) if len(X) else X
        of_near = mean_log_proba(ask(near)).reshape(len(X), self.n_neighbors)
        return mean_log_proba(outputs) - of_near.mean(axis=1)

    def _draw(self, row):
        row = make_room(row, [self.n_tokens - 1])
        tokens = row[row != PAD].astype("<i8")
        digest = blake2b(tokens.tobytes(), digest_size=8).digest()
        rng = np.random.default_rng([self.random_state, int.from_bytes(digest, "little")])
        # The first token stays, and what does not count.
        free = np.flatnonzero(row >= 0)
        free = free[free > 0] if len(free) > 1 else free
        n_changed = max(1, int(self.share * len(free) + 1e-9))
        near = np.tile(row, (self.n_neighbors, 1))
        for neighbor in near:
            places = free[rng.permutation(len(free))[:n_changed]]
            # One of the other tokens: a step of less than the vocabulary never comes back.
            steps = rng.integers(1, self.n_tokens, size=len(places))
            neighbor[places] = (neighbor[places] + steps) % self.n_tokens
        return near


@dataclass(frozen=True)
class ReCaLL(TokenRecordSignal):
    r"""Relative conditional log-likelihood: the text after a prefix by the text alone.

    .. math::

        \frac{\log p(x | P)}{\log p(x)}

    with mean log-likelihoods per token, of the same tokens of x on both sides. A prefix P of text
    that was not trained on lowers the likelihood of members more than that of non-members. The
    prefix must come from the distribution of the records; otherwise the signal measures the
    difference. Source: Xie et al. (2024), ReCaLL: membership inference via relative conditional
    log-likelihoods.

    Parameters
    ----------
    prefix : tuple of int
        Tokens of one or more non-members, which must not be among the records.

    Examples
    --------
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> from skmia.signals.sequences import ReCaLL
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
        behind = after.log_proba[:, len(self.prefix) :]
        if behind.shape != outputs.log_proba.shape:
            raise ValueError(
                f"Signal {self.name!r} compares the tokens of a text with and without the prefix; "
                f"the outputs have {outputs.log_proba.shape[1]} columns without and "
                f"{behind.shape[1]} behind it. Query the victim for both."
            )
        # A model that cuts what is too long knows fewer tokens behind the prefix.
        missing = np.isnan(behind) | np.isnan(outputs.log_proba)
        if missing.all(axis=1).any():
            raise ValueError(
                f"No token of {name_rows(missing.all(axis=1), 'record')} fits the model behind the "
                f"prefix of {len(self.prefix)} tokens; choose a shorter one."
            )
        after, alone = (
            np.nanmean(np.where(missing, np.nan, one), axis=1)
            for one in (behind, outputs.log_proba)
        )
        return after / np.minimum(alone, -1e-12)


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
    >>> from skmia.signals.sequences import ReferenceRatio
    >>> records = token_records([[0, 1, 0, 1], [1, 1, 0, 0]])
    >>> victim = SequenceVictim(NGramModel(2).fit([[0, 1, 0, 1]]))
    >>> before = SequenceVictim(NGramModel(1, n_tokens=2).fit([[0, 1]]))
    >>> ReferenceRatio(before).of(victim, records).round(2)
    array([ 0.48, -0.46])
    """

    reference: Any
    name = "reference_ratio"

    def _compare(self, outputs, ask, records):
        own, other = ask_reference(self.reference, outputs, records, self.name)
        return np.nanmean(own, axis=1) - np.nanmean(other, axis=1)


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
    >>> from skmia.signals.sequences import WindowVotes
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
        own, other = ask_reference(self.reference, outputs, records, self.name)
        gain = own - other
        # Windows are of the tokens that count, in their order: those that do not come last.
        order = np.argsort(np.isnan(gain), axis=1, kind="stable")
        lengths = (~np.isnan(gain)).sum(axis=1)
        sums = np.cumsum(np.nan_to_num(np.take_along_axis(gain, order, axis=1)), axis=1)
        sums = np.column_stack([np.zeros(len(sums)), sums])
        votes = np.array([self._vote(sums, lengths, width) for width in self.widths])
        n_widths = (~np.isnan(votes)).sum(axis=0)
        total = np.nansum(votes, axis=0) / np.maximum(1, n_widths)
        whole = (sums[np.arange(len(sums)), lengths] > 0).astype(float)
        return np.where(n_widths > 0, total, whole)

    @staticmethod
    def _vote(sums, lengths, width):
        """Return share of windows of one width that vote for a member; NaN for shorter texts."""
        n_windows = np.maximum(0, lengths - width + 1)
        if not n_windows.any():
            return np.full(len(sums), np.nan)
        above = sums[:, width:] - sums[:, :-width] > 0
        inside = np.arange(above.shape[1]) < n_windows[:, None]
        share = (above & inside).sum(axis=1) / np.maximum(1, n_windows)
        return np.where(n_windows > 0, share, np.nan)


@dataclass(frozen=True)
class SurprisingTokens(TokenSignal):
    r"""Mean log-probability of the tokens on which the model is certain but wrong, in nats.

    A token counts if the prediction has an entropy below ``entropy`` and the token is among the
    share of the least probable tokens of its text:

    .. math::

        \frac1{|S|} \sum_{x_t \in S} \log p(x_t | x_{<t}), \qquad
        S = \{x_t \in E : H_t < \varepsilon\},

    with E as in :class:`MinK`. If no token counts, all of E do. Source: Zhang and Wu (2024),
    Adaptive pre-training data detection for large language models via surprising tokens.

    Parameters
    ----------
    share : float, default=0.4
        Share of the tokens, in (0, 1].
    entropy : float, default=2.0
        Largest entropy of a certain prediction, in nats.

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals.sequences import SurprisingTokens
    >>> moments = {"mean": [[-1.0, -1.0, -3.0, -1.0]], "std": [[1.0, 1.0, 1.0, 1.0]]}
    >>> outputs = TokenOutputs([[-1.0, -4.0, -5.0, -2.0]], **moments)
    >>> SurprisingTokens(share=0.75, entropy=2.0)(outputs, [0])  # the mean of -4 and -2
    array([-3.])
    """

    share: float = 0.4
    entropy: float = 2.0
    name = "surprising_tokens"
    _needs_moments = True

    def __post_init__(self):
        check_share(self.share)
        check_number(self.entropy, "entropy", "a number of nats of at least 0", 0)

    def _measure(self, outputs):
        order = np.argsort(outputs.log_proba, axis=1, kind="stable")  # NaN comes last
        rank = np.argsort(order, axis=1, kind="stable")
        lowest = rank < count_lowest(outputs.log_proba, self.share)[:, None]
        counts = lowest & (-outputs.mean < self.entropy)
        found = np.where(counts, outputs.log_proba, 0.0).sum(axis=1)
        n_found = counts.sum(axis=1)
        otherwise = mean_of_lowest(outputs.log_proba, self.share)
        return np.where(n_found > 0, found / np.maximum(1, n_found), otherwise)


@dataclass(frozen=True)
class ZlibRatio(TokenRecordSignal):
    r"""Mean log-likelihood per token divided by the number of bytes of the compressed text.

    .. math::

        \frac{\frac1T \sum_t \log p(x_t | x_{<t})}{\mathrm{zlib}(x)}

    A text that compresses well, such as a repetition, is expected by any model. Source: Carlini et
    al. (2021), Extracting training data from large language models.

    Parameters
    ----------
    field : str, default="text"
        Field of the records that holds the texts; they are compressed as UTF-8.

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs, token_records
    >>> from skmia.signals.sequences import ZlibRatio
    >>> records = token_records([[1, 2]], text=["to be"], outputs=TokenOutputs([[-1.0, -2.0]]))
    >>> ZlibRatio().of(None, records).round(4)  # minus 1.5 by 13 bytes
    array([-0.1154])
    """

    field: str = "text"
    name = "zlib_ratio"

    def _compare(self, outputs, ask, records):
        if not isinstance(self.field, str) or self.field not in records.fields:
            raise ValueError(
                f"Signal {self.name!r} reads texts in the field {show(self.field)}, which the "
                "records lack; pass the texts to token_records under this name."
            )
        texts = records[self.field]
        sizes = [len(zlib.compress(str(text).encode("utf-8", "replace"))) for text in texts]
        return mean_log_proba(outputs) / np.array(sizes)
