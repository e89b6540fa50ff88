"""Evidence in the residuals of a regressor."""

from dataclasses import dataclass

import numpy as np

from ._base import Signal


@dataclass(frozen=True)
class SquaredError(Signal):
    """Minus the squared residual, in squared units of y."""

    name = "squared_error"
    reads = ("value",)

    def _evaluate(self, outputs, y):
        return -np.square(y - outputs.values)


@dataclass(frozen=True)
class AbsoluteError(Signal):
    """Minus the absolute residual, in units of y."""

    name = "absolute_error"
    reads = ("value",)

    def _evaluate(self, outputs, y):
        return -np.abs(y - outputs.values)
