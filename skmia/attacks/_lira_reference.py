"""The numbers of the code that was published with LiRA, quirks included."""

import numpy as np
from scipy.stats import norm

from .._core.moments import chosen_values


def _describe(shadows, chosen, n_each):
    """Size, mean and sum of squared deviations of the numbers of a block."""
    if n_each == 0:
        return 0, 0.0, 0.0  # offline there may be no IN models, and none are needed
    values = chosen_values(shadows, chosen, n_each).astype(np.float64)
    return values.size, values.mean(), values.size * values.var()


def _grand_std(size, mean, squares):
    """Standard deviation of the numbers of all blocks around their common mean."""
    total = max(size.sum(), 1)
    between = size * (mean - size @ mean / total) ** 2
    return np.sqrt((squares + between).sum() / total)


class ReferenceStatistics:
    """Statistics over all records that the published code computes.

    It cuts all records to the smallest number of IN and of OUT models, takes medians, and for a
    fixed variance the standard deviation of all numbers around their grand mean.

    Parameters
    ----------
    blocks : iterable of (rows, values, training sets, n_inside)
        As a pool gives them, block by block.
    n_in, n_out : int
        Smallest number of IN and of OUT models that a record has.
    """

    def __init__(self, blocks, n_in, n_out):
        self.n_in, self.n_out = n_in, n_out
        parts = [
            (_describe(shadows, inside, n_in), _describe(shadows, ~inside, n_out))
            for _, shadows, inside, _ in blocks
        ]
        self.std_in, self.std_out = (
            _grand_std(*np.transpose(side)) for side in zip(*parts, strict=True)
        )

    def score(self, target, shadows, inside, outside, online, fix_variance):
        """Score as published, turned so that higher means more likely a member."""
        out = self._log_density(
            target, shadows, outside, self.n_out, self._fixed_out(online, fix_variance)
        )
        if not online:
            return -out.mean(axis=0)
        into = self._log_density(
            target, shadows, inside, self.n_in, self.std_in if fix_variance else None
        )
        return (into - out).mean(axis=0)

    def _fixed_out(self, online, fix_variance):
        if not fix_variance:
            return None
        return self.std_in if online else self.std_out

    @staticmethod
    def _log_density(target, shadows, chosen, n_each, fixed):
        # Records that were not given to fit may have fewer models.
        n_each = min(n_each, chosen.sum(axis=0).min())
        values = chosen_values(shadows, chosen, n_each).astype(np.float64)
        std = values.std(axis=1) if fixed is None else fixed
        return norm.logpdf(target, np.median(values, axis=1), std + 1e-30)
