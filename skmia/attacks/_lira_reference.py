"""The numbers of the code that was published with LiRA, quirks included."""

import numpy as np
from scipy.stats import norm

from ._moments import chosen_values


class ReferenceStatistics:
    """Statistics over all records that the published code computes.

    It cuts all records to the smallest number of IN and of OUT models, takes medians, and for a
    fixed variance the standard deviation of all numbers around their grand mean.

    Parameters
    ----------
    blocks : iterable of (slice, ndarray, ndarray)
        Evidence and training sets as a pool gives them, block by block.
    """

    def __init__(self, blocks):
        parts = [(shadows, inside) for _, shadows, inside in blocks]
        counts = np.concatenate([inside.sum(axis=0) for _, inside in parts])
        self.n_in, self.n_out = counts.min(), len(parts[0][1]) - counts.max()
        self.std_in = self._grand_std(parts, True, self.n_in)
        self.std_out = self._grand_std(parts, False, self.n_out)

    @staticmethod
    def _grand_std(parts, side, n_each):
        if n_each == 0:
            return 0.0  # offline there may be no IN models, and none are needed
        values = [chosen_values(shadows, inside == side, n_each) for shadows, inside in parts]
        return np.std(np.concatenate(values, axis=2), dtype=np.float64)

    def score(self, target, shadows, inside, outside, online, fix_variance):
        """Score as published, turned so that higher = more likely a member."""
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
