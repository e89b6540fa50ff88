"""How the total variation of two samples depends on the bandwidth of the kernels."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._core.numbers import SMALLEST, check_count, check_numbers
from .._core.randomness import check_random_state
from .._core.types import Seed
from ._confidence import summarize_null
from ._total_variation import join_samples
from ._witness import make_kernels

_N_DRAWS = 1000


def bandwidth_sensitivity(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    factors: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
    n_permutations: int = 100,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Total variation of two kernel densities for several bandwidths.

    Narrow kernels follow the noise of the samples, wide ones smooth their differences away. The
    estimates with shuffled membership show how much of each is noise.

    Parameters
    ----------
    members : array-like of shape (n_members,) or (n_members, d)
        Features of members.
    nonmembers : array-like of shape (n_nonmembers,) or (n_nonmembers, d)
        Features of non-members.
    factors : sequence of float, default=(0.25, 0.5, 1.0, 2.0, 4.0)
        Factors of the bandwidths of :func:`total_variation`, above 0.
    n_permutations : int, default=100
        Shuffles of membership, the same for all factors.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffles and, in two dimensions or more, the draws.

    Returns
    -------
    sensitivity : DataFrame
        A row for each factor, with

        ``estimate``
            Total variation, in [0, 1].
        ``bias``
            Mean of the estimates with shuffled membership: the average without leakage.
        ``pvalue``
            Share of these estimates that is at least the estimate, which is counted as one of them.

    Raises
    ------
    ValueError
        If a sample is empty, holds NaN or one value only, if the two differ in their number of
        features, or a factor is not positive.

    See Also
    --------
    total_variation : A single estimate.
    WorstCaseVulnerability : Estimator with a bound, a permutation test and groups.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA,
    chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import bandwidth_sensitivity
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal(1, 1, 500), rng.normal(0, 1, 500)  # 2 * Phi(1 / 2) - 1 = .383
    >>> table = bandwidth_sensitivity(*samples, random_state=0)
    >>> table["estimate"].round(2).tolist()
    [0.41, 0.41, 0.4, 0.37, 0.3]
    >>> table["bias"].round(2).tolist()
    [0.11, 0.08, 0.05, 0.04, 0.02]
    """
    factors = np.atleast_1d(check_numbers(factors, "factors", "numbers above 0", SMALLEST))
    if factors.ndim != 1 or not len(factors):
        raise ValueError(f"factors must be one number or more; got shape {factors.shape}.")
    check_count(n_permutations, "n_permutations")
    X, is_member = join_samples(members, nonmembers, dtype=np.float64)
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(is_member, (n_permutations, 1)), axis=1)
    labelings = np.concatenate([is_member[None], shuffled])
    rows = []
    for factor in factors.tolist():
        witness = make_kernels(X.shape[1], _N_DRAWS, factor)
        witness.check(X, is_member)
        estimates = np.clip(witness.estimate(X, labelings, np.random.default_rng(seed)), 0, 1)
        rows.append([estimates[0], *summarize_null(estimates[0], estimates[1:])])
    index = pd.Index(factors, name="factor")
    return pd.DataFrame(rows, columns=["estimate", "bias", "pvalue"], index=index)
