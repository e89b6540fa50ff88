"""What a pool stores of each shadow model: one number per record, made fit for moments."""

from abc import ABC, abstractmethod

import numpy as np

_TINY_SHARE = 0.01


def log_sigmoid(z):
    """Logarithm of 1 / (1 + exp(-z)), exact at both ends."""
    return -np.logaddexp(0, -z)


def _largest_finite(raw):
    rows = raw.reshape(-1, raw.shape[-1])
    return max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in rows)


class Evidence(ABC):
    """Evidence of one kind of victim.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.signal_``.
    reads : tuple of str
        Kinds of outputs that it is computed from.
    has_temperature : bool
        Whether logits can be divided by a temperature before it is computed.
    """

    name: str
    reads: tuple
    has_temperature = False

    @abstractmethod
    def compute(self, outputs, y, temperature, resolution):
        """Raw evidence of each record, which may be infinite."""

    @abstractmethod
    def find_resolution(self, raw, dtype):
        """Finest step that the models' answers show, 0 where nothing needs smoothing."""

    @abstractmethod
    def smooth(self, raw, resolution):
        """Evidence that is finite: answers of exactly 0 or 1 moved inside by half a step."""

    @abstractmethod
    def log_likelihood(self, evidence, scale):
        """Log-probability that the model gives to the label, in nats, up to a constant."""


class ScaledLogit(Evidence):
    """Log odds of the label (classifiers with probabilities or logits)."""

    name = "scaled_logit"
    reads = ("proba", "logits")
    has_temperature = True

    def compute(self, outputs, y, temperature, resolution):
        if temperature == 1:
            return outputs.scaled_logit(y)  # smoothed once the step of the whole pool is known
        # A tempered logit cannot be smoothed afterwards: the step is that of the model itself.
        step = outputs.find_resolution() if resolution == "auto" else resolution
        return outputs.scaled_logit(y, temperature, step)

    def find_resolution(self, raw, dtype):
        if np.isfinite(raw).all():
            return 0.0
        # 1 / (1 + exp(|z|)) is the smaller of p_y and 1 - p_y. Below the spacing of floats next to
        # 1 one side can still be told from its bound and the other cannot.
        largest = _largest_finite(raw)
        spacing = np.finfo(dtype).eps if np.issubdtype(dtype, np.floating) else np.finfo(float).eps
        return float(max(np.exp(-np.logaddexp(0, largest)), spacing))

    def smooth(self, raw, resolution):
        if resolution == 0:
            return raw
        half = raw.dtype.type(resolution / 2)
        with np.errstate(over="ignore"):
            p, q = 1 / (1 + np.exp(-raw)), 1 / (1 + np.exp(raw))
        return np.log(p + half) - np.log(q + half)

    def log_likelihood(self, evidence, scale):
        return log_sigmoid(evidence)


class Margin(Evidence):
    """Decision value of the label minus the best other one (classifiers without probabilities)."""

    name = "hinge"
    reads = ("decision",)

    def compute(self, outputs, y, temperature, resolution):
        return outputs.margin(y)

    def find_resolution(self, raw, dtype):
        # Only the missing classes of a half are infinite: such a model is as sure as any model is.
        return 0.0 if np.isfinite(raw).all() else _largest_finite(raw)

    def smooth(self, raw, resolution):
        return raw if resolution == 0 else np.clip(raw, -resolution, resolution)

    def log_likelihood(self, evidence, scale):
        return log_sigmoid(evidence)


class LogResidual(Evidence):
    """Minus the logarithm of the absolute residual (regressors)."""

    name = "log_residual"
    reads = ("value",)

    def compute(self, outputs, y, temperature, resolution):
        with np.errstate(divide="ignore"):
            return -np.log(np.abs(np.asarray(y, dtype=np.float64) - outputs.values))

    def find_resolution(self, raw, dtype):
        # A residual far below the typical one says no more than "none": trees and interpolating
        # models reach 0 and would rule every moment.
        typical = np.median([np.median(row) for row in raw.reshape(-1, raw.shape[-1])])
        return _TINY_SHARE * float(np.exp(-typical))

    def smooth(self, raw, resolution):
        if resolution == 0:
            return raw
        squared = raw.dtype.type(resolution**2)
        return -0.5 * np.log(np.exp(-2 * raw) + squared)

    def log_likelihood(self, evidence, scale):
        return -0.5 * np.exp(-2 * evidence) / scale**2


_KINDS = (ScaledLogit(), Margin(), LogResidual())


def evidence_named(name):
    """Evidence by its name."""
    return next(evidence for evidence in _KINDS if evidence.name == name)


def evidence_of(kind):
    """Evidence that can be computed from one kind of outputs.

    Raises
    ------
    ValueError
        When there is none: a predicted label is too little for the statistics of shadow models.
    """
    for evidence in _KINDS:
        if kind in evidence.reads:
            return evidence
    raise ValueError(
        "Shadow models need predict_proba or decision_function, or must be regressors; "
        "the estimator has only predict."
    )
