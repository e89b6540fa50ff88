"""Signals of the residuals of a regressor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._base import AnswerSignal
from .smoothing import SMALLEST_RESIDUAL, ResidualSmoothing

if TYPE_CHECKING:
    from ._base import Signal


@dataclass(frozen=True)
class SquaredError(AnswerSignal):
    """Minus the squared residual, in squared units of y.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import SquaredError
    >>> SquaredError()(Outputs([1.0], kind="value"), [3.0]).round(3)
    array([-4.])
    """

    name = "squared_error"
    reads = ("value",)

    def _evaluate(self, outputs, y):
        return -np.square(y - outputs.values)

    def derive_from(self, stored: "Signal") -> Callable[[np.ndarray], np.ndarray] | None:
        return (lambda z: -np.exp(-2 * z)) if isinstance(stored, LogResidual) else None

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return 0.5 * values / scale**2


@dataclass(frozen=True)
class LogResidual(AnswerSignal):
    """Minus the logarithm of the absolute residual, with y in its own unit.

    Residuals of exactly 0 count as 1e-12. For shadow models, and a victim compared with them,
    residuals are smoothed by a tenth of the typical residual on records outside the training set.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import LogResidual
    >>> LogResidual()(Outputs([1.0], kind="value"), [3.0]).round(3)
    array([-0.693])
    """

    name = "log_residual"
    reads = ("value",)

    _smoothing = ResidualSmoothing

    def _evaluate(self, outputs, y):
        return ResidualSmoothing(step=SMALLEST_RESIDUAL)(self._evaluate_raw(outputs, y, 0.0))

    def _evaluate_raw(self, outputs, y, resolution):
        with np.errstate(divide="ignore"):
            return -np.log(np.abs(np.asarray(y, np.float64) - outputs.values))

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return -0.5 * np.exp(-2 * values) / scale**2
