"""Score from densities of Gaussian copulas."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

_SHRINKAGE = 0.05
_BLOCK = 2_000_000


class CopulaScore:
    """Logarithm of the ratio of two densities with a Gaussian copula and kernel marginals."""

    def __init__(self, space):
        if space.is_categorical:
            raise ValueError(
                "statistic='copula' needs columns of numbers; use 'classifier' or 'domias' for "
                "tables with categories."
            )
        widths = [_choose_width(column) for column in space.reference.T]
        self._made, self._known = (
            _Copula(rows, widths) for rows in (space.synthetic, space.reference)
        )

    def __call__(self, points):
        return self._made.log_density(points) - self._known.log_density(points)


class _Copula:
    """Density of one table."""

    def __init__(self, rows, widths):
        self._columns, self._widths = [np.sort(column) for column in rows.T], widths
        normal = self._as_normal(rows)
        spread = normal.std(axis=0)
        normal = (normal - normal.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        correlation = (1 - _SHRINKAGE) * normal.T @ normal / len(rows)
        np.fill_diagonal(correlation, 1.0)
        self._log_volume = np.linalg.slogdet(correlation)[1]
        self._form = np.linalg.inv(correlation) - np.eye(len(correlation))

    def log_density(self, points):
        """Logarithm of the density, up to a constant that both tables share."""
        normal = self._as_normal(points)
        bent = np.einsum("ni,ij,nj->n", normal, self._form, normal)
        total = -(self._log_volume + bent) / 2
        for column, width, values in zip(self._columns, self._widths, points.T):
            step = max(1, _BLOCK // len(column))
            for start in range(0, len(values), step):
                gap = (values[start : start + step, None] - column) / width
                total[start : start + step] += logsumexp(-(gap**2) / 2, axis=1)
        return total - len(self._columns) * np.log(len(self._columns[0]))

    def _as_normal(self, points):
        """Normal scores of the mid-ranks among the rows of the table."""
        scores = []
        for column, values in zip(self._columns, points.T):
            rank = np.searchsorted(column, values) + np.searchsorted(column, values, "right")
            scores.append(norm.ppf((rank / 2 + 0.5) / (len(column) + 1)))
        return np.stack(scores, axis=1)


def _choose_width(values):
    """Silverman's width of a normal kernel; 1 for a constant column."""
    low, high = np.quantile(values, [0.25, 0.75])
    spreads = [spread for spread in (values.std(), (high - low) / 1.34) if spread > 0]
    return 0.9 * min(spreads) * len(values) ** -0.2 if spreads else 1.0
