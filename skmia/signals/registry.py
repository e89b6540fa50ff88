"""Signals by name."""

from .._core.numbers import show
from ._adversarial import AdversarialDistance
from ._base import AnswerSignal, Signal
from ._boundary import BoundaryDistance
from ._confidence import (
    ODIN,
    BrierScore,
    Confidence,
    Correctness,
    Doctor,
    Entropy,
    Hinge,
    Loss,
    MaxSoftmax,
    ModifiedEntropy,
    ScaledLogit,
)
from ._gradient import GradientNorm
from ._label_robustness import LabelRobustness
from ._perturbation import Merlin
from ._residual import LogResidual, SquaredError

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
    return sorted(
        name
        for name, signal in _SIGNALS.items()
        if not answers_only or isinstance(signal, AnswerSignal)
    )


def get_signal(signal):
    """Return the signal of a name; a signal is returned unchanged."""
    if isinstance(signal, Signal):
        return signal
    if isinstance(signal, str) and signal in ("auto", "logit"):
        raise ValueError(
            f"{signal!r} is not the name of a signal: 'scaled_logit' is the log odds of the label. "
            "Attacks on shadow models and QuantileAttack also take 'auto', which is the log odds, "
            "the margin or minus the log residual, by the kind of the model."
        )
    if not isinstance(signal, str) or signal not in _SIGNALS:
        raise ValueError(f"Unknown signal {show(signal)}; the signals are {', '.join(_SIGNALS)}.")
    return _SIGNALS[signal]
