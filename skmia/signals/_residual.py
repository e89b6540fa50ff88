"""Evidence in the residuals of a regressor."""

from dataclasses import dataclass

import numpy as np

from ._base import AnswerSignal


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
