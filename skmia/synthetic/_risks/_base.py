"""What the estimators of the three risks have in common."""

from numbers import Real
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._core.sklearn import Interval, at_least, validate_params_of
from ._cells import Cells, take
from ._rates import excess_risk, wilson


class Attempts(NamedTuple):
    """Success of the attacks of one kind, in [0, 1] each, and of guesses without the attack."""

    train: np.ndarray
    test: np.ndarray
    naive: float
    pvalue: float


class TableRisk(BaseEstimator):
    """Base of the estimators that attack a synthetic table and compare with control records."""

    _parameter_constraints = {
        "n_attacks": [at_least(1)],
        "n_permutations": [at_least(0)],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def fit(self, train: ArrayLike, test: ArrayLike, synthetic: ArrayLike) -> Self:
        """Attack training records and control records.

        Parameters
        ----------
        train : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on.
        test : DataFrame or array-like of shape (n_test, d)
            Control: rows of the same population that it has not seen.
        synthetic : DataFrame or array-like of shape (n_synthetic, d)
            Rows that it returned.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        cells = Cells((train, test, synthetic), ("train", "test", "synthetic"))
        random_state = check_random_state(self.random_state)
        attempts = self._attack(cells, random_state)
        self.result_ = pd.DataFrame(
            {name: self._summarize(one) for name, one in attempts.items()}
        ).T.astype({"n_attacks": int, "n_controls": int})
        return self

    def _summarize(self, attempts):
        found = {}
        for name, values in (("attack", attempts.train), ("control", attempts.test)):
            low, high = wilson(values.sum(), len(values), self.confidence_level)
            rate = values.mean() if len(values) else np.nan
            found.update({name: rate, f"{name}_low": low, f"{name}_high": high})
        risk = excess_risk(
            float(attempts.train.sum()),
            len(attempts.train),
            float(attempts.test.sum()),
            len(attempts.test),
            confidence_level=self.confidence_level,
        )
        found.update(naive=attempts.naive, risk=risk.risk, low=risk.low, high=risk.high)
        sizes = {"n_attacks": len(attempts.train), "n_controls": len(attempts.test)}
        return {**found, "pvalue": attempts.pvalue, **sizes}

    def summary(self) -> str:
        """Summarize the risks and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = [f"intervals at {self.confidence_level:.0%}"]
        for name, row in self.result_.iterrows():
            risk = f"{row.risk:6.3f} [{row.low:.3f}, {row.high:.3f}]"
            if np.isnan(row.risk):
                risk = "cannot be said: no attack on a control record fails"
                if not row.n_attacks:
                    risk = "cannot be said: no attack could be made"
            rates = f"attack {row.attack:.3f}, control {row.control:.3f}, naive {row.naive:.3f}"
            weak = " (not better than guessing)" if row.attack_low <= row.naive else ""
            lines.append(f"{name}: risk {risk}; {rates}{weak}")
        return "\n".join(lines)


def draw_targets(table, n_attacks, random_state):
    """Cells of at most ``n_attacks`` rows, drawn without replacement."""
    n_rows = len(table[0])
    if n_rows <= n_attacks:
        return table
    return take(table, random_state.choice(n_rows, n_attacks, replace=False))


def permute_rows(train, test, n_permutations, random_state):
    """P-value of a larger success on training records, by exchanges with control records."""
    if not n_permutations:
        return np.nan
    values, n = np.concatenate([train, test]), len(train)
    sums = [random_state.permutation(values)[:n].sum() for _ in range(n_permutations)]
    # Equal sums may differ by rounding.
    return float((1 + np.sum(np.array(sums) >= train.sum() - 1e-9)) / (1 + n_permutations))
