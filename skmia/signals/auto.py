"""The signal that suits a kind of answers, and what a pool of shadow models stores for another."""

from ._confidence import Hinge, ScaledLogit
from ._residual import LogResidual
from .registry import get_signal

_OF_KIND = {
    "proba": ScaledLogit(),
    "logits": ScaledLogit(),
    "decision": Hinge(),
    "value": LogResidual(),
}

# Kinds of outputs that shadow models can be compared by.
COMPARED = frozenset(_OF_KIND)


def auto_of(kind):
    """Signal that ``"auto"`` stands for where answers are of a kind.

    Raises
    ------
    ValueError
        If there is none: a predicted label is too little for the statistics of shadow models.
    """
    if kind not in _OF_KIND:
        raise ValueError(
            "Shadow models need predict_proba or decision_function, or must be regressors; "
            "the estimator has only predict."
        )
    return _OF_KIND[kind]


def kinds_of(name):
    """Kinds of outputs for which ``"auto"`` stands for the signal of a name."""
    return tuple(kind for kind, signal in _OF_KIND.items() if signal.name == name)


def what_to_read(signal, temperature=1.0):
    """What an attack with these parameters reads of a pool, in the words of ``Needs.keeps``.

    Parameters
    ----------
    signal : "auto", str or Signal
        As users give it.
    temperature : float, default=1.0
        Temperature of ``"auto"``.

    Returns
    -------
    what : "auto", ("auto", temperature) or Signal
    """
    if isinstance(signal, str) and signal == "auto":
        return "auto" if temperature == 1 else ("auto", float(temperature))
    return get_signal(signal)


def what_to_keep(what):
    """What a pool has to store so that something can be read of it.

    Parameters
    ----------
    what : "auto", ("auto", temperature) or Signal
        As :func:`what_to_read` gives it.

    Returns
    -------
    kept : "auto", ("auto", temperature) or Signal
        ``"auto"`` for a signal that it stands for, or that follows from it at no cost.
    """
    if isinstance(what, ScaledLogit):
        return what_to_read("auto", what.temperature)
    of_kinds = [_OF_KIND[kind] for kind in COMPARED.intersection(getattr(what, "reads", ()))]
    if of_kinds and all(what == one or what.derive_from(one) is not None for one in of_kinds):
        return "auto"
    return what
