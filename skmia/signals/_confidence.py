"""Signals of one output and its label: of probabilities, margins, predicted labels and numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from .._core.numbers import SMALLEST, check_number
from .._core.outputs import Outputs
from .._core.probabilities import PROBABILITY_FLOOR, log_sum_exp
from .._core.types import ArrayLike, DTypeLike
from ._base import (
    SMALLEST_RESIDUAL,
    AnswerSignal,
    ClippedSmoothing,
    LogitSmoothing,
    ResidualSmoothing,
    Signal,
)


def log_of_residual(residual):
    """Return minus the logarithm of absolute residuals, infinite for 0."""
    with np.errstate(divide="ignore"):
        return -np.log(np.abs(residual))


def _mean_square(y, outputs):
    """Return the mean over the targets of the squared residuals of each record, of shape (n,)."""
    squares = np.square(np.asarray(y, np.float64) - outputs.values)
    return squares if squares.ndim == 1 else squares.mean(axis=1)


@dataclass(frozen=True)
class SquaredError(AnswerSignal):
    """Minus the squared residual, in squared units of y; of several targets, minus their mean.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import SquaredError
    >>> SquaredError()(Outputs([1.0], kind="value"), [3.0]).round(3)
    array([-4.])
    """

    name = "squared_error"
    has_unit_of_target = True
    reads = ("value", "values")

    def _evaluate(self, outputs, y):
        return -_mean_square(y, outputs)

    def derive_from(self, stored: Signal) -> Callable[[np.ndarray], np.ndarray] | None:
        return (lambda z: -np.exp(-2 * z)) if isinstance(stored, LogResidual) else None

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return 0.5 * values / scale**2


@dataclass(frozen=True)
class LogResidual(AnswerSignal):
    """Minus the logarithm of the absolute residual, with y in its own unit.

    Residuals of exactly 0 count as 1e-12. For shadow models, and a victim compared with them,
    residuals are smoothed by a tenth of the typical residual on records outside the training set.
    Of several targets, it is the root of the mean squared residual; a pool weights them, as
    :class:`JointResidual` says. Where training on a record does not move its prediction toward its
    label, a pool compares predictions instead, as :class:`OrientedPrediction` says.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import LogResidual
    >>> LogResidual()(Outputs([1.0], kind="value"), [3.0]).round(3)
    array([-0.693])
    """

    name = "log_residual"
    reads = ("value", "values")

    _smoothing = ResidualSmoothing

    def _evaluate(self, outputs, y):
        return ResidualSmoothing(step=SMALLEST_RESIDUAL)(self._evaluate_raw(outputs, y, 0.0))

    def _evaluate_raw(self, outputs, y, resolution):
        if outputs.kind == "values":
            with np.errstate(divide="ignore"):
                return -0.5 * np.log(_mean_square(y, outputs))
        return log_of_residual(np.asarray(y, np.float64) - outputs.values)

    def raw_parts(self, outputs: Outputs, y: ArrayLike, resolution: float = 0.0) -> np.ndarray:
        residuals = np.asarray(self._check(outputs, y), np.float64) - outputs.values
        return np.atleast_2d(residuals.T)

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return -0.5 * np.exp(-2 * values) / scale**2


_PROBABILITIES = ("proba", "logits")
_OF_LABEL = (*_PROBABILITIES, "log_odds")  # they tell the probability of the label
_LARGEST_LOGIT = -np.log(PROBABILITY_FLOOR)  # 27.6, of a probability of 1 - 1e-12


def log_sigmoid(z):
    """Return the logarithm of 1 / (1 + exp(-z)), exact at both ends."""
    return np.minimum(z, 0) - np.log1p(np.exp(-np.abs(z)))


def sigmoid(z):
    """1 / (1 + exp(-z)) in the precision of z; 0 where it underflows."""
    p = np.negative(z, out=np.empty_like(z))
    with np.errstate(over="ignore"):
        np.exp(p, out=p)
    p += 1
    return np.divide(1, p, out=p)


def _log_others(outputs, log_proba):
    """Compute log(1 - p_k) for every class, from the sum over the other classes if possible."""
    if outputs.kind == "proba":
        return np.log1p(-np.minimum(np.exp(log_proba), 1 - PROBABILITY_FLOOR))
    others = np.empty_like(log_proba)
    for k in range(log_proba.shape[1]):
        others[:, k] = log_sum_exp(np.delete(log_proba, k, axis=1))
    return others


@dataclass(frozen=True)
class Loss(AnswerSignal):
    """Minus the loss: log p_y in nats for a classifier, minus the squared residual for a regressor.

    Of several targets, it is the mean of the squared residuals, each in the unit of its target.
    Source: Yeom et al. (2018).

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Loss
    >>> Loss()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([-0.223])
    """

    name = "loss"
    has_unit_of_target = True
    reads = (*_OF_LABEL, "value", "values")

    def _evaluate(self, outputs, y):
        if outputs.kind in ("value", "values"):
            return -_mean_square(y, outputs)
        if outputs.kind == "log_odds":
            return log_sigmoid(outputs.scaled_logit(y))
        return outputs.log_proba()[np.arange(len(outputs)), outputs.label_index(y)]

    def derive_from(self, stored: Signal) -> Callable[[np.ndarray], np.ndarray] | None:
        if isinstance(stored, LogResidual):
            return lambda values: -np.exp(-2 * values)
        return log_sigmoid if stored == ScaledLogit() else None

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return values if scale is None else 0.5 * values / scale**2


@dataclass(frozen=True)
class Confidence(AnswerSignal):
    """Probability of the label, p_y in [0, 1].

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Confidence
    >>> Confidence()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([0.8])
    """

    name = "confidence"
    reads = _OF_LABEL

    def _evaluate(self, outputs, y):
        if outputs.kind == "log_odds":
            return expit(outputs.scaled_logit(y))
        return np.exp(outputs.log_proba()[np.arange(len(outputs)), outputs.label_index(y)])

    def derive_from(self, stored: Signal) -> Callable[[np.ndarray], np.ndarray] | None:
        # Next to 1, single precision has a step of 6e-8, so confident models would hardly differ.
        return (lambda z: expit(z.astype(np.float64))) if stored == ScaledLogit() else None

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return np.log(np.maximum(values, PROBABILITY_FLOOR))


@dataclass(frozen=True)
class BrierScore(AnswerSignal):
    """Minus the Brier score: the squared error of the probabilities, 0 for a certain label.

    It is the loss of nets that were trained with the squared error on probabilities.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import BrierScore
    >>> BrierScore()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([-0.08])
    """

    name = "brier_score"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        residual = np.exp(outputs.log_proba())
        residual[np.arange(len(outputs)), outputs.label_index(y)] -= 1
        return -np.square(residual).sum(axis=1)


@dataclass(frozen=True)
class MaxSoftmax(AnswerSignal):
    """Largest predicted probability, regardless of the label (softmax response).

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import MaxSoftmax
    >>> MaxSoftmax()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([0.8])
    """

    name = "max_softmax"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        return np.exp(outputs.log_proba().max(axis=1))


@dataclass(frozen=True)
class Entropy(AnswerSignal):
    """Minus the entropy of the probabilities, in nats; the label is not used.

    Source: Salem et al. (2019).

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Entropy
    >>> Entropy()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([-0.5])
    """

    name = "entropy"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        log_proba = outputs.log_proba()
        terms = np.exp(log_proba) * np.where(np.isneginf(log_proba), 0, log_proba)
        return terms.sum(axis=1)


@dataclass(frozen=True)
class ModifiedEntropy(AnswerSignal):
    """Minus the modified entropy, which falls with the probability of the label, in nats.

    The entropy-like sum is (1 - p_y) (-log p_y) + sum over the other classes of p_k (-log(1 -
    p_k)). It is negated here because it is low for members. Source: Song and Mittal (2021).

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import ModifiedEntropy
    >>> ModifiedEntropy()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([-0.089])
    """

    name = "modified_entropy"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        rows, label = np.arange(len(outputs)), outputs.label_index(y)
        log_proba = outputs.log_proba()
        log_others = _log_others(outputs, log_proba)
        own = np.exp(log_others[rows, label]) * log_proba[rows, label]
        terms = np.exp(log_proba) * log_others
        terms[rows, label] = 0
        return own + terms.sum(axis=1)


@dataclass(frozen=True)
class Correctness(AnswerSignal):
    """Correctness of the predicted class: 1 if it is the label, else 0 (the baseline attack).

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Correctness
    >>> Correctness()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([1.])
    """

    name = "correctness"
    reads = (*_PROBABILITIES, "decision", "label")

    def _evaluate(self, outputs, y):
        return outputs.is_correct(y).astype(float)


@dataclass(frozen=True)
class ScaledLogit(AnswerSignal):
    """Log odds of the label, log p_y - log(1 - p_y), in nats.

    Probabilities nearer than 1e-12 to 0 or 1 are clipped there before the logarithm. For shadow
    models, and a victim compared with them, those of exactly 0 or 1 are moved inside by half of the
    step of the models' probabilities. Source: Carlini et al. (2022).

    Parameters
    ----------
    temperature : float, default=1.0
        Divides the logits.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import ScaledLogit
    >>> ScaledLogit()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([1.386])
    """

    temperature: float = 1.0
    name = "scaled_logit"
    reads = _OF_LABEL

    _smoothing = LogitSmoothing

    def __post_init__(self):
        check_number(self.temperature, "temperature", "a positive finite number", SMALLEST)

    def _evaluate(self, outputs, y):
        logit = outputs.scaled_logit(y, self.temperature)
        if outputs.kind in ("proba", "log_odds"):
            largest = _LARGEST_LOGIT / self.temperature
            logit = np.clip(logit, -largest, largest)
        return logit

    def _evaluate_raw(self, outputs, y, resolution):
        # A tempered logit cannot be smoothed afterwards, so it is smoothed by the step of its own
        # model. Without a temperature, it is smoothed once the step of the whole pool is known.
        step = 0.0 if self.temperature == 1 else resolution
        return outputs.scaled_logit(y, self.temperature, step)

    def fit_smoothing(
        self,
        raw: np.ndarray,
        inside: np.ndarray,
        dtype: DTypeLike,
        resolution: Literal["auto"] | float = "auto",
    ) -> Callable[[np.ndarray], np.ndarray]:
        given = resolution if self.temperature == 1 else "auto"
        return super().fit_smoothing(raw, inside, dtype, given)

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return log_sigmoid(values)

    def likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return sigmoid(values)


@dataclass(frozen=True)
class Hinge(AnswerSignal):
    """Margin of the label: its logit, log-probability or decision value minus the best other one.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Hinge
    >>> Hinge()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([1.386])
    """

    name = "hinge"
    reads = (*_PROBABILITIES, "decision")

    _smoothing = ClippedSmoothing

    def _evaluate(self, outputs, y):
        return outputs.margin(y)

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return log_sigmoid(values if scale is None else values / scale)

    def likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return sigmoid(values if scale is None else values / values.dtype.type(scale))


@dataclass(frozen=True)
class ODIN(AnswerSignal):
    """Largest probability after dividing the logits by a temperature.

    Source: Liang et al. (2018), used for membership by del Grosso (2023), without perturbation of
    the input.

    Parameters
    ----------
    temperature : float, default=2.0
        Divides the logits.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import ODIN
    >>> ODIN(temperature=2.0)(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([0.667])
    """

    temperature: float = 2.0
    name = "odin"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        return np.exp(outputs.log_proba(self.temperature).max(axis=1))


@dataclass(frozen=True)
class Doctor(AnswerSignal):
    """Sum of the squared probabilities after dividing the logits by a temperature.

    Source: Granese et al. (2021), used for membership by del Grosso (2023).

    Parameters
    ----------
    temperature : float, default=1.0
        Divides the logits.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import Doctor
    >>> Doctor()(Outputs([[0.8, 0.2]], classes=[0, 1]), [0]).round(3)
    array([0.68])
    """

    temperature: float = 1.0
    name = "doctor"
    reads = _PROBABILITIES

    def _evaluate(self, outputs, y):
        return np.exp(2 * outputs.log_proba(self.temperature)).sum(axis=1)
