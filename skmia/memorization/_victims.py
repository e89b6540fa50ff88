"""Sequence models as victims: fitted ones, and recipes that train one."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.copies import CopiesParameters
from .._core.numbers import show
from .._core.query import GivenModel
from .._core.sklearn import HasMethods, at_least
from .._core.tokens import TokenOutputs, name_rows, read_tokens
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed, TokenModel
from ._model import check_sequence_model, token_moments
from ._texts import warn_of_cuts, warn_of_padded_query


class _AnswersByTokens(TransactionMixin, BaseEstimator):
    """Queries of a sequence model about padded sequences.

    A subclass has the parameters n_given and batch_size and returns its fitted model from
    _get_model.
    """

    # Queries of victims take the outputs of the method query.
    answers_queries = True
    gives_tokens = True
    kind = "log_odds"

    def query(self, X: ArrayLike) -> TokenOutputs:
        """Return the log-probabilities of the tokens of sequences.

        Parameters
        ----------
        X : array-like of shape (n, length), dtype int
            Tokens, with -1 behind the last one of each sequence, see :func:`token_records`.

        Returns
        -------
        outputs : TokenOutputs of n sequences
        """
        model = self._get_model()
        tokens, lengths, counts = read_tokens(X)
        if counts.all():
            warn_of_padded_query(tokens)
        _warn_of_second_start(model, tokens)
        longest = getattr(model, "max_length", None)
        why = ""
        if longest is not None and (lengths > longest).any():
            counts[:, longest:], why = False, f" and none after the {longest} that the model reads"
            warn_of_cuts(lengths, longest)
        counts[:, : self.n_given] = False
        _refuse_uncounted(counts, self.n_given, why)
        asked = np.full((3, len(tokens), max(0, tokens.shape[1] - self.n_given)), np.nan)
        for rows in gen_batches(len(tokens), self.batch_size):
            width = min(lengths[rows].max(), longest or lengths.max())
            # The padding is behind the tokens, so it has no influence on them: any token will do.
            found = token_moments(model, np.maximum(tokens[rows, :width], 0))[:, :, self.n_given :]
            inside = counts[rows, self.n_given : width]
            asked[:, rows, : width - self.n_given] = np.where(inside, found, np.nan)
        return TokenOutputs(*asked)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the mean log-probability of the tokens of each sequence.

        Parameters
        ----------
        X : array-like of shape (n, length), dtype int
            Tokens, with -1 behind the last one of each sequence.

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            Values in nats per token.
        """
        return np.nanmean(self.query(X).log_proba, axis=1)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the average of :meth:`predict`; higher means that the model fits the texts better.

        Parameters
        ----------
        X : array-like of shape (n, length), dtype int
            Tokens, with -1 behind the last one of each sequence.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean over the sequences, in nats per token.
        """
        return float(np.mean(self.predict(X)))

    def _get_model(self):
        raise NotImplementedError


def _refuse_uncounted(counts, n_given, why):
    """Name the texts of which no token counts."""
    empty = ~counts.any(axis=1)
    if empty.any():
        raise ValueError(
            f"Sequences need {n_given + 1} tokens or more, as the first {n_given} do not count "
            f"(n_given){why}, and one that is not given; {name_rows(empty, 'row')} of {len(empty)} "
            "lack it. Leave these records out."
        )


def _warn_of_second_start(model, tokens):
    """Say that a model puts its start token before texts that begin with it."""
    start = getattr(model, "start_token", None)
    if start is not None and len(tokens) > 1 and (tokens[:, 0] == start).all():
        warnings.warn(
            f"All texts begin with the start token {start}, and the model puts it before them once "
            "more: pass start_token=None and keep n_given=1, or tokenize with "
            "add_special_tokens=False.",
            UserWarning,
            stacklevel=level_of_user(),
        )


class SequenceVictim(CopiesParameters, GivenModel, _AnswersByTokens):
    """Fitted sequence model as a victim of attacks.

    Parameters
    ----------
    model : SequenceModel
        Fitted model, such as an :class:`NGramModel`, a :class:`TorchSequenceModel` or a
        :class:`TransformersModel`; any object with a method ``next_log_proba`` serves.
    n_given : int, default=1
        Number of tokens at the start of each sequence that do not count. Most language models know
        nothing of the first token, because nothing comes before it. For a number per text, pass
        `n_given` to :func:`token_records` as well.
    batch_size : int, default=256
        Maximum number of sequences that are asked about at once.

    Raises
    ------
    ValueError
        If the rows are not tokens, or no token of a sequence counts.

    Warns
    -----
    UserWarning
        If sequences are longer than the model reads, which are cut, or seem to be padded.

    See Also
    --------
    FunctionSequenceVictim : Trains its model, as shadow models need.
    skmia.signals.sequences.MinK : Signal of the least probable tokens.

    Notes
    -----
    The method ``query`` returns :class:`TokenOutputs`. Attacks on classifiers read them as log
    odds: :class:`~skmia.attacks.LiRA` and :class:`~skmia.attacks.RMIA` work without change.

    Examples
    --------
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.memorization import NGramModel, SequenceVictim, token_records
    >>> records = token_records([[0, 1, 0, 1, 0], [1, 1, 0]])
    >>> victim = SequenceVictim(NGramModel(2).fit([[0, 1, 0, 1, 0]]))
    >>> ThresholdAttack(victim, signal="loss").fit(records).score_samples(records).round(3)
    array([-0.183, -1.062])
    """

    is_trainable = False
    _subjects = ("model",)

    _parameter_constraints = {
        "model": [HasMethods(["next_log_proba"]), HasMethods(["forward"])],
        "n_given": [at_least(0)],
        "batch_size": [at_least(1)],
    }

    def __init__(
        self, model: TokenModel | BaseEstimator, *, n_given: int = 1, batch_size: int = 256
    ) -> None:
        self.model = model
        self.n_given = n_given
        self.batch_size = batch_size

    def _check_model(self):
        check_sequence_model(self.model)

    def _get_model(self):
        return self.fit().model


class FunctionSequenceVictim(_AnswersByTokens):
    """Sequence model that is trained, or fine-tuned, by a function.

    It makes a training loop an estimator, which shadow models are trained like: each calls the
    function with its own texts and its own seed.

    Parameters
    ----------
    train : callable
        Function ``train(sequences, seed)`` that returns a fitted sequence model, with
        ``sequences`` a list of arrays of tokens and ``seed`` an int. For fine-tuning it begins with
        a copy of the model before. To train in several processes or with a checkpoint, define it in
        a module or script, not in a loop. If it has a parameter ``counts``, it gets a list of
        arrays of bool there, which tokens count; the others are a prompt, for example.
    n_given : int, default=1
        Number of tokens at the start of each sequence that do not count.
    batch_size : int, default=256
        Maximum number of sequences that are asked about at once.
    random_state : int, RandomState instance or None, default=None
        Controls the seed that `train` gets. A pool also seeds the global generators of Python,
        numpy and torch for each shadow model, and restores them afterwards; ``fit`` does neither.

    Attributes
    ----------
    model_ : SequenceModel
        What ``train`` returned.

    Raises
    ------
    ValueError
        If the rows are not tokens, or a sequence is too short.

    See Also
    --------
    SequenceVictim : A model that is fitted already.
    skmia.ShadowPool : Trains many of them.

    Examples
    --------
    >>> from skmia import ShadowPool
    >>> from skmia.memorization import FunctionSequenceVictim, NGramModel, token_records
    >>> def train(sequences, seed):
    ...     return NGramModel(3, n_tokens=4).fit(sequences)
    >>> records = token_records([[0, 1, 2], [1, 2, 3, 0], [3, 3], [2, 0, 1]])
    >>> victim = FunctionSequenceVictim(train).fit(records.X[:2])
    >>> victim.predict(records.X).round(2)
    array([-0.16, -0.19, -2.55, -1.2 ])
    >>> ShadowPool(victim, n_estimators=4, random_state=0).fit(records).transform(records).shape
    (4, 4)
    """

    _parameter_constraints = {
        "train": [callable],
        "n_given": [at_least(0)],
        "batch_size": [at_least(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        train: Callable[[list[np.ndarray], int], Any],
        *,
        n_given: int = 1,
        batch_size: int = 256,
        random_state: Seed = None,
    ) -> None:
        self.train = train
        self.n_given = n_given
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Train a model by the function.

        Parameters
        ----------
        X : array-like of shape (n, length), dtype int
            Tokens, with -1 behind the last one of each sequence.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        tokens, lengths, counts = read_tokens(X)
        sequences = [row[:length].copy() for row, length in zip(tokens, lengths, strict=True)]
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        more = {}
        if "counts" in inspect.signature(self.train).parameters:
            more = {"counts": [row[:n].copy() for row, n in zip(counts, lengths, strict=True)]}
        model = self.train(sequences, int(seed), **more)
        if not hasattr(model, "next_log_proba"):
            raise ValueError(
                "train must return a sequence model, with a method next_log_proba; got "
                f"{show(type(model).__name__)}."
            )
        self.model_ = model
        return self

    def _get_model(self):
        check_is_fitted(self)
        return self.model_
