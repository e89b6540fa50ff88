"""The finest step of probabilities, which may come in several blocks."""

import numpy as np


class Resolution:
    """Smallest positive p or 1 - p among probabilities; 0 if none of them is 0 or 1.

    The result is at least the spacing of floats next to 1, because a smaller 1 - p is rounded to 0.
    """

    def __init__(self):
        self._saturated, self._smallest = False, 1.0

    def add(self, values):
        """Take further probabilities into account.

        Parameters
        ----------
        values : ndarray
            Probabilities.
        """
        self._saturated |= bool(((values == 0) | (values == 1)).any())
        self._smallest = min(
            self._smallest,
            values.min(where=values > 0, initial=1),
            (1 - values).min(where=values < 1, initial=1),
        )
        self._dtype = values.dtype if values.dtype.kind == "f" else np.dtype(float)

    def compute(self):
        """Return the step.

        Returns
        -------
        step : float
        """
        if not self._saturated:
            return 0.0
        return float(max(self._smallest, np.finfo(self._dtype).eps))
