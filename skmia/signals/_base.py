"""The interface of a signal: one number of evidence per record."""

from abc import ABC, abstractmethod

_METHODS = {
    "proba": "predict_proba",
    "logits": "predict_proba",
    "decision": "decision_function",
    "label": "predict",
    "value": "a regressor's predict",
}


class Signal(ABC):
    """Evidence of membership that can be read from a victim's answer to a record.

    A subclass names itself, says which kinds of :class:`~skmia.Outputs` it can read, and computes
    one number per record, higher = more likely a member.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of outputs it reads.
    """

    name: str
    reads: tuple

    def __call__(self, outputs, y):
        """Evidence of each record.

        Parameters
        ----------
        outputs : Outputs of n answers
            What the victim answered.
        y : ndarray of shape (n,)
            Task labels.

        Returns
        -------
        evidence : ndarray of shape (n,)
            Higher = more likely a member.

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
        return self._evaluate(outputs, y)

    @abstractmethod
    def _evaluate(self, outputs, y):
        """Compute the evidence from outputs of a kind that the signal reads."""
