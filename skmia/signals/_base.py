"""The interfaces of a signal: one number of evidence per record."""

from abc import ABC, abstractmethod

import numpy as np

from .._core.numbers import as_numbers
from .._core.outputs import KINDS
from .._core.validation import query

_METHODS = {
    "proba": "predict_proba",
    "logits": "predict_proba",
    "decision": "decision_function",
    "label": "predict",
    "value": "a regressor's predict",
}


class Signal(ABC):
    """Evidence of membership: one number per record, higher means more likely a member.

    Base of :class:`AnswerSignal`, which reads what the victim answers to a record, and of
    :class:`VictimSignal`, which handles the victim itself.

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

    @abstractmethod
    def of(self, victim, records):
        """Evidence of each record.

        Parameters
        ----------
        victim : fitted estimator or None
            Model under attack; None stands for the answers stored in the records.
        records : Records of n records
            Labeled records.

        Returns
        -------
        evidence : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            When the victim does not answer what the signal needs.
        """


class AnswerSignal(Signal):
    """Evidence in a victim's answer to a record.

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
        """Evidence in answers that are at hand.

        Parameters
        ----------
        outputs : Outputs of n answers
            What the victim answered.
        y : ndarray of shape (n,)
            Task labels.

        Returns
        -------
        evidence : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            When the victim does not answer what the signal needs.
        """
        if outputs.kind not in self.reads:
            needs = " or ".join(dict.fromkeys(_METHODS[kind] for kind in self.reads))
            raise ValueError(
                f"Signal {self.name!r} needs {needs}; the victim has only {_METHODS[outputs.kind]}."
            )
        if outputs.kind == "value" and np.asarray(y).dtype.kind not in "biuf":
            y = as_numbers(y, "y", "numbers, as the answers of a regressor are")
        return self._evaluate(outputs, y)

    @abstractmethod
    def _evaluate(self, outputs, y):
        """Compute the evidence from outputs of a kind that the signal reads."""


class VictimSignal(Signal):
    """Evidence that takes the victim itself: its gradients, or its answers to changed records.

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
        """Compute the evidence from a fitted victim."""
