"""Default signals per kind of output, and what a pool must store for other signals."""

from .._core.numbers import show
from ._base import AnswerSignal, Signal
from ._boundary import AdversarialDistance, BoundaryDistance
from ._confidence import (
    ODIN,
    BrierScore,
    Confidence,
    Correctness,
    Doctor,
    Entropy,
    Hinge,
    LogResidual,
    Loss,
    MaxSoftmax,
    ModifiedEntropy,
    ScaledLogit,
    SquaredError,
)
from ._gradient import GradientNorm
from ._oriented_prediction import OrientedPrediction
from ._perturbation import LabelRobustness, Merlin

_SIGNALS = {
    signal.name: signal
    for signal in (
        AdversarialDistance("l1"),
        AdversarialDistance("l2"),
        AdversarialDistance("linf"),
        BoundaryDistance(),
        BrierScore(),
        Confidence(),
        Correctness(),
        Doctor(),
        Entropy(),
        GradientNorm("inputs"),
        GradientNorm("parameters"),
        Hinge(),
        LabelRobustness(),
        LogResidual(),
        Loss(),
        MaxSoftmax(),
        Merlin(),
        ModifiedEntropy(),
        ODIN(),
        ScaledLogit(),
        SquaredError(),
    )
}


def get_signal_names(*, answers_only: bool = False) -> list[str]:
    """List the names of signals that attacks and :class:`Signals` accept.

    Parameters
    ----------
    answers_only : bool, default=False
        Whether to list only signals that need no more than the victim's outputs for the records.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from skmia.signals import get_signal_names
    >>> get_signal_names()
    ['adversarial_distance_l1', 'adversarial_distance_l2', ...]
    """
    kind = AnswerSignal if answers_only else Signal
    return sorted(name for name, signal in _SIGNALS.items() if isinstance(signal, kind))


def get_signal(signal):
    if isinstance(signal, Signal):
        return signal
    if isinstance(signal, str) and signal in ("auto", "logit"):
        raise ValueError(
            f"{signal!r} is not the name of a signal: 'scaled_logit' is the log odds of the label. "
            "Attacks on shadow models and QuantileAttack also take 'auto', which is the log odds, "
            "the margin or minus the log residual, by the kind of the model, and ThresholdAttack "
            "does, for which it is the loss, the margin or the correctness."
        )
    if not isinstance(signal, str) or signal not in _SIGNALS:
        raise ValueError(f"Unknown signal {show(signal)}; the signals are {', '.join(_SIGNALS)}.")
    return _SIGNALS[signal]


_OF_KIND = {
    "proba": ScaledLogit(),
    "logits": ScaledLogit(),
    "log_odds": ScaledLogit(),
    "decision": Hinge(),
    "value": LogResidual(),
    "values": LogResidual(),
    "label": Correctness(),
}

# Kinds of outputs on which shadow models are compared by a continuous signal; further, by the joint
# one of several targets.
COMPARED = frozenset(_OF_KIND) - {"label", "values"}
COMPARED_JOINTLY = COMPARED | {"values"}

# Kinds of outputs of which a pool keeps a signal. Of labels it is a bit: correct or not.
POOLED = frozenset(_OF_KIND)


def auto_of(kind):
    """Return the signal that ``"auto"`` stands for, by the kind of outputs."""
    return _OF_KIND[kind]


def threshold_signal_of(kind):
    """Return the signal that is compared with a threshold by default, by the kind of outputs.

    It is ``"auto"`` of ThresholdAttack: the loss of probabilities, logits, log odds and numbers,
    and of other kinds the signal that a pool keeps.
    """
    return Loss() if kind in Loss.reads else auto_of(kind)


def names_that_read(kind):
    """Return the names of signals that are computed from outputs of a kind."""
    return [name for name in get_signal_names(answers_only=True) if kind in _SIGNALS[name].reads]


def kinds_of(name):
    """Return the kinds of outputs for which ``"auto"`` stands for the named signal."""
    if name == OrientedPrediction.name:  # which a pool may choose in place of the residual
        return OrientedPrediction.reads
    return tuple(kind for kind, signal in _OF_KIND.items() if signal.name == name)


def what_to_read(signal, temperature=1.0):
    """Return what an attack with these parameters reads from a pool, as in ``Needs.keeps``."""
    if isinstance(signal, str) and signal == "auto":
        return "auto" if temperature == 1 else ("auto", float(temperature))
    return get_signal(signal)


def what_to_keep(what):
    """Return what a pool must store so that something can be read from it."""
    if isinstance(what, ScaledLogit):
        return what_to_read("auto", what.temperature)
    of_kinds = [_OF_KIND[kind] for kind in COMPARED.intersection(getattr(what, "reads", ()))]
    if of_kinds and all(what == kind or what.derive_from(kind) is not None for kind in of_kinds):
        return "auto"
    return what
