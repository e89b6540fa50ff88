"""Base class of audits that bound epsilon by the guesses of one training."""

from numbers import Integral, Real

import numpy as np

from .._core.sklearn import Interval, StrOptions, at_least, validate_params_of
from ._base import EpsilonAuditBase, as_number
from ._one_run import one_run_epsilon_lower_bound


class OneRunBase(EpsilonAuditBase):
    """Base class of audits that guess the coins of many canaries of one training."""

    _parameter_constraints: dict = {
        **EpsilonAuditBase._parameter_constraints,
        "n_canaries": [at_least(1), Interval(Real, 0, 1, closed="neither")],
        "bound": [StrOptions({"any", "gdp"})],
        "n_guesses": [StrOptions({"auto", "any"}), Integral, "array-like"],
    }
    _GROWS_WITH = "canaries"

    def _begin(self, X, y):
        """Return the checked data and the number of canaries."""
        validate_params_of(self)
        X, y = self._read(X, y)
        n_canaries = self._count_canaries(X)
        # Contradictory settings are refused before anything is trained.
        self._bound(np.zeros(n_canaries), np.zeros(n_canaries), self._own_delta())
        return X, y, n_canaries

    def _count_canaries(self, X):
        return as_number(self.n_canaries, len(X))

    def _bound(self, coins, scores, delta):
        return one_run_epsilon_lower_bound(
            coins,
            scores,
            bound=self.bound,
            delta=delta,
            n_guesses=self.n_guesses,
            confidence_level=self.confidence_level,
        )
