"""The interfaces of a signal: one number per record."""

from abc import ABC, abstractmethod

import numpy as np

from .._core.numbers import as_numbers
from .._core.outputs import KINDS
from .._core.validation import query
from .smoothing import Unsmoothed

_METHODS = {
    "proba": "predict_proba",
    "logits": "predict_proba",
    "decision": "decision_function",
    "label": "predict",
    "value": "a regressor's predict",
}


class Signal(ABC):
    """One number per record, higher means more likely a member.

    A signal is a frozen value: equal ones give equal numbers, and a :class:`~skmia.ShadowPool` can
    store any of them. Base of :class:`AnswerSignal`, which reads what the victim answers to a
    record, and of :class:`VictimSignal`, which handles the victim itself.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What it needs of the victim beyond stored outputs, in the words of
        :class:`skmia.base.Needs`.
    """

    name: str
    reads: tuple = KINDS
    access: tuple = ()

    # What makes infinite values finite where moments over shadow models are taken.
    _smoothing = Unsmoothed

    @abstractmethod
    def of(self, victim, records):
        """Signal of each record.

        Parameters
        ----------
        victim : fitted estimator or None
            Model under attack; None stands for the answers stored in the records.
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

    def fit_smoothing(self, raw, inside, dtype, resolution="auto"):
        """Learn from the values of some models how infinite ones are made finite.

        Parameters
        ----------
        raw : ndarray of shape (n_queries, n_models, n)
            Values of the models, as :meth:`AnswerSignal.raw` gives them.
        inside : ndarray of shape (n_models, n), dtype bool
            Which models were trained on which records.
        dtype : dtype
            Data type of the models' answers.
        resolution : "auto" or float, default="auto"
            Finest step of the models' answers, if it is known.

        Returns
        -------
        smoothing : callable
            Takes values of any model and returns finite ones.
        """
        return self._smoothing.fit(raw, inside, dtype, resolution)

    def derive_from(self, stored):
        """How the values of this signal follow from those of another one.

        Parameters
        ----------
        stored : Signal
            Signal whose values are known.

        Returns
        -------
        derive : callable or None
            Takes an array of values and returns one of the same shape. None if they do not follow.
        """
        return None


class AnswerSignal(Signal):
    """Signal that is computed from a victim's answer to a record.

    A subclass names itself, says which kinds of :class:`~skmia.Outputs` it can read, and computes
    one number per record in ``_evaluate(outputs, y)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of outputs it reads.
    """

    reads: tuple

    def of(self, victim, records):
        return self(query(victim, records), records.y)

    def __call__(self, outputs, y):
        """Signal of answers that are at hand.

        Parameters
        ----------
        outputs : Outputs of n answers
            What the victim answered.
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

    def raw(self, outputs, y, resolution=0.0):
        """Signal of answers from which moments over models are to be taken.

        Probabilities of exactly 0 or 1, whose logarithms would rule every moment, are moved inside
        here, or the values stay infinite until :meth:`fit_smoothing` has seen all models.

        Parameters
        ----------
        outputs : Outputs of n answers
            What one model answered.
        y : ndarray of shape (n,)
            Task labels.
        resolution : float, default=0.0
            Finest step of the model's probabilities; 0 leaves them as they are.

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
    def has_likelihood(self):
        """Whether the signal says how probable the model finds the label."""
        return type(self).log_likelihood is not AnswerSignal.log_likelihood

    def log_likelihood(self, values, scale=None):
        """Log-probability of the label that goes with values of the signal, in nats.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        log_likelihood : ndarray of the same shape
            Up to a constant.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        raise ValueError(f"The signal {self.name!r} says nothing of the probability of the label.")

    def likelihood(self, values, scale=None):
        """Probability of the label that goes with values of the signal.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        likelihood : ndarray of the same shape
            Up to a constant factor; 0 where it underflows.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        return np.exp(self.log_likelihood(values, scale))

    def _check(self, outputs, y):
        """Labels that the signal can be computed with."""
        if outputs.kind not in self.reads:
            needs = " or ".join(dict.fromkeys(_METHODS[kind] for kind in self.reads))
            raise ValueError(
                f"Signal {self.name!r} needs {needs}; the victim has only {_METHODS[outputs.kind]}."
            )
        if outputs.kind == "value" and np.asarray(y).dtype.kind not in "biuf":
            y = as_numbers(y, "y", "numbers, as the answers of a regressor are")
        return y

    @abstractmethod
    def _evaluate(self, outputs, y):
        """Compute the signal from outputs of a kind that it reads."""

    def _evaluate_raw(self, outputs, y, resolution):
        return self._evaluate(outputs.smoothed(y, resolution), y)


class VictimSignal(Signal):
    """Signal that takes the victim itself: its gradients, or its answers to changed records.

    A subclass names itself, says what it needs of the victim, and computes one number per record
    in ``_inspect(victim, records)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What it needs of the victim: ``"queries"`` about changed records, ``"gradients"`` or
        ``"layers"``.
    """

    access = ("queries",)

    def of(self, victim, records):
        if victim is None:
            raise ValueError(
                f"Signal {self.name!r} needs the victim itself; stored answers are not enough."
            )
        return self._inspect(victim, records)

    @abstractmethod
    def _inspect(self, victim, records):
        """Compute the signal from a fitted victim."""
