"""Base classes of signals: one number per record."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator

from .._core.numbers import as_numbers
from .._core.outputs import KINDS, Outputs
from .._core.records import Records
from .._core.validation import check_records, query
from .smoothing import Unsmoothed

_METHODS = {
    "proba": "predict_proba",
    "logits": "predict_proba",
    "decision": "decision_function",
    "log_odds": "log odds of the label",
    "label": "predict",
    "value": "a regressor's predict",
}


class Signal(ABC):
    """Signal of membership: one number per record, higher means more likely a member.

    A signal is a frozen value: equal signals return equal numbers, and a :class:`~skmia.ShadowPool`
    can store any of them. Base class of :class:`AnswerSignal`, which reads the victim's outputs for
    a record, and of :class:`VictimSignal`, which needs the victim itself.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What the signal needs from the victim beyond stored outputs, in the terms of
        :class:`skmia.base.Needs`.
    """

    name: str
    reads: tuple[str, ...] = KINDS
    access: tuple[str, ...] = ()

    # How infinite values are made finite before moments over shadow models are computed.
    _smoothing = Unsmoothed

    @abstractmethod
    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        """Signal of each record.

        Parameters
        ----------
        victim : fitted estimator or None
            Model under attack. If None, the predictions stored with the records are used.
        records : Records of n records
            Labeled records.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the victim does not answer what the signal needs.
        """

    def fit_smoothing(
        self,
        raw: np.ndarray,
        inside: np.ndarray,
        dtype: DTypeLike,
        resolution: Literal["auto"] | float = "auto",
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Learn from the values of some models how infinite values are made finite.

        Parameters
        ----------
        raw : ndarray of shape (n_queries, n_models, n)
            Values of the models, as returned by :meth:`AnswerSignal.raw`.
        inside : ndarray of shape (n_models, n), dtype bool
            Which models were trained on which records.
        dtype : dtype
            Data type of the models' outputs.
        resolution : "auto" or float, default="auto"
            Finest step of the models' outputs, if it is known.

        Returns
        -------
        smoothing : callable
            Function that maps values of any model to finite values.
        """
        return self._smoothing.fit(raw, inside, dtype, resolution)

    def derive_from(self, stored: "Signal") -> Callable[[np.ndarray], np.ndarray] | None:
        """Return how the values of this signal follow from the values of another one.

        Parameters
        ----------
        stored : Signal
            Signal whose values are known.

        Returns
        -------
        derive : callable or None
            Function of an array of values that returns an array of the same shape. None if the
            values do not follow.
        """
        return None


class AnswerSignal(Signal):
    """Base class of signals that are computed from the victim's outputs.

    A subclass sets its name, declares which kinds of :class:`~skmia.Outputs` it can read, and
    computes one number per record in ``_evaluate(outputs, y)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of outputs it reads.
    """

    reads: tuple[str, ...]

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        return self(query(victim, records), records.y)

    def __call__(self, outputs: Outputs, y: ArrayLike) -> np.ndarray:
        """Compute the signal from given outputs.

        Parameters
        ----------
        outputs : Outputs of n answers
            Outputs of the victim.
        y : ndarray of shape (n,)
            Task labels.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the victim does not answer what the signal needs.
        """
        return self._evaluate(outputs, self._check(outputs, y))

    def raw(self, outputs: Outputs, y: ArrayLike, resolution: float = 0.0) -> np.ndarray:
        """Compute the signal from given outputs, for moments over models.

        The logarithms of probabilities of exactly 0 or 1 would dominate every moment. Such
        probabilities are moved inside here, or the values stay infinite until :meth:`fit_smoothing`
        has seen all models.

        Parameters
        ----------
        outputs : Outputs of n answers
            Outputs of one model.
        y : ndarray of shape (n,)
            Task labels.
        resolution : float, default=0.0
            Finest step of the model's probabilities. If 0, they are not changed.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the model does not answer what the signal needs.
        """
        return self._evaluate_raw(outputs, self._check(outputs, y), resolution)

    @property
    def has_likelihood(self) -> bool:
        """Whether the signal determines the model's probability of the label."""
        return type(self).log_likelihood is not AnswerSignal.log_likelihood

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        """Return the log-probability of the label for values of the signal, in nats.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        log_likelihood : ndarray of the same shape
            Log-probabilities up to a constant.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        raise ValueError(f"Signal {self.name!r} does not determine the probability of the label.")

    def likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        """Return the probability of the label for values of the signal.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        likelihood : ndarray of the same shape
            Probabilities up to a constant factor; 0 where they underflow.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        return np.exp(self.log_likelihood(values, scale))

    def _check(self, outputs, y):
        """Check the outputs and return labels that the signal can be computed with."""
        if outputs.kind not in self.reads:
            kinds = [
                kind for kind in self.reads if kind != "log_odds"
            ]  # from predict_proba as well
            needs = " or ".join(dict.fromkeys(_METHODS[kind] for kind in kinds))
            raise ValueError(
                f"Signal {self.name!r} needs {needs}; the victim has only {_METHODS[outputs.kind]}."
            )
        if outputs.kind == "value" and np.asarray(y).dtype.kind not in "biuf":
            y = as_numbers(y, "y", "numbers, like the predictions of a regressor")
        return y

    @abstractmethod
    def _evaluate(self, outputs, y):
        """Compute the signal from outputs of a kind that it reads."""

    def _evaluate_raw(self, outputs, y, resolution):
        return self._evaluate(outputs.smoothed(y, resolution), y)


class VictimSignal(Signal):
    """Base class of signals that need the victim: its gradients, or outputs for changed records.

    A subclass sets its name, declares what it needs from the victim, and computes one number per
    record in ``_inspect(victim, records)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What the signal needs from the victim: ``"queries"`` about changed records, ``"gradients"``
        or ``"layers"``.
    """

    access = ("queries",)

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        if victim is None:
            raise ValueError(
                f"Signal {self.name!r} needs the victim itself; stored outputs are not enough."
            )
        return self._inspect(victim, check_records(records))

    @abstractmethod
    def _inspect(self, victim, records):
        """Compute the signal from a fitted victim."""
