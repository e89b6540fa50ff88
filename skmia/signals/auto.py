"""Default signals per kind of output, and what a pool must store for other signals."""

from ._confidence import Correctness, Hinge, ScaledLogit
from ._residual import LogResidual
from .registry import get_signal

_OF_KIND = {
    "proba": ScaledLogit(),
    "logits": ScaledLogit(),
    "log_odds": ScaledLogit(),
    "decision": Hinge(),
    "value": LogResidual(),
    "label": Correctness(),
}

# Kinds of outputs on which shadow models are compared by a continuous signal.
COMPARED = frozenset(_OF_KIND) - {"label"}

# Kinds of outputs of which a pool keeps a signal. Of labels it is a bit: correct or not.
POOLED = frozenset(_OF_KIND)


def auto_of(kind):
    """Return the signal that ``"auto"`` stands for, by the kind of outputs."""
    return _OF_KIND[kind]


def kinds_of(name):
    """Return the kinds of outputs for which ``"auto"`` stands for the named signal."""
    return tuple(kind for kind, signal in _OF_KIND.items() if signal.name == name)


def what_to_read(signal, temperature=1.0):
    """Return what an attack with these parameters reads from a pool, as in ``Needs.keeps``.

    Parameters
    ----------
    signal : "auto", str or Signal
        Signal as passed by the user.
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
    """Return what a pool must store so that something can be read from it.

    Parameters
    ----------
    what : "auto", ("auto", temperature) or Signal
        What is read, as returned by :func:`what_to_read`.

    Returns
    -------
    kept : "auto", ("auto", temperature) or Signal
        ``"auto"`` for a signal that it stands for, or that follows from it at no cost.
    """
    if isinstance(what, ScaledLogit):
        return what_to_read("auto", what.temperature)
    of_kinds = [_OF_KIND[kind] for kind in COMPARED.intersection(getattr(what, "reads", ()))]
    if of_kinds and all(what == kind or what.derive_from(kind) is not None for kind in of_kinds):
        return "auto"
    return what
