"""Total variation between two samples."""

from numbers import Integral

import numpy as np
import pandas as pd

from .._core.containers import refuse_masked
from .._core.groups import sorted_values
from .._core.matrix import check_matrix
from .._core.randomness import check_random_state
from ._witness import GridKernelWitness, PluginWitness, SampledKernelWitness


def _join(members, nonmembers, dtype):
    """Both samples as one matrix, and which rows are members."""
    sides = []
    for values, name in ((members, "members"), (nonmembers, "nonmembers")):
        refuse_masked(values, name)
        if np.ndim(values) == 1:
            values = np.reshape(values, (-1, 1))
        values = check_matrix(values, dtype=dtype, input_name=name)
        if values.dtype == object and pd.isna(values).any():
            raise ValueError(f"Input {name} contains NaN.")
        sides.append(values)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            "members and nonmembers must have the same features; got "
            f"{sides[0].shape[1]} and {sides[1].shape[1]}."
        )
    try:
        joined = np.concatenate(sides)
    except TypeError:
        kinds = " and ".join(str(side.dtype) for side in sides)
        raise ValueError(f"members and nonmembers must be of one type; got {kinds}.") from None
    if joined.dtype == object:
        for j, column in enumerate(joined.T):
            sorted_values(column, f"Column {j} of members and nonmembers")
    return joined, np.repeat([True, False], [len(side) for side in sides])


def total_variation_discrete(members, nonmembers):
    """Total variation between the observed frequencies of discrete features.

    Half the sum of the absolute differences of the two frequencies over all values: the largest
    advantage, TPR - FPR, of any guess that reads these features of these records. As an estimate
    for the population it errs upwards, since frequencies differ by chance: without leakage a
    feature of two values, one of them with probability q, gives about
    ``sqrt(2 / pi * q * (1 - q) * (1 / n_members + 1 / n_nonmembers))``.

    Parameters
    ----------
    members : array-like of shape (n_members,) or (n_members, d)
        Features of members; numbers or strings. Rows of several features are compared as a whole.
    nonmembers : array-like of shape (n_nonmembers,) or (n_nonmembers, d)
        Features of non-members.

    Returns
    -------
    distance : float
        In [0, 1]: 0 = equal frequencies, 1 = no value in common.

    Raises
    ------
    ValueError
        When a sample is empty, holds NaN, or the two differ in their number of features.

    See Also
    --------
    WorstCaseVulnerability : The same with a bound, a permutation test and groups.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

    Examples
    --------
    >>> from skmia.leakage import total_variation_discrete
    >>> total_variation_discrete([0, 0, 0, 1], [0, 0, 1, 1])
    0.25
    """
    X, is_member = _join(members, nonmembers, dtype=None)
    return float(PluginWitness().estimate(X, is_member[None], None)[0])


def total_variation_kde(members, nonmembers, *, n_draws=10_000, random_state=None):
    r"""Total variation between the Gaussian kernel densities of two samples.

    On the line the bandwidth is Silverman's,
    :math:`0.9 \min(s, \mathrm{IQR} / 1.34)\, n^{-1/5}` with the standard deviation s and n of each
    sample, and the integral runs over at least 2,048 nodes that reach 6 bandwidths beyond the data.
    In d dimensions each axis has the bandwidth
    :math:`\min(s, \mathrm{IQR} / 1.34)\, (4 / ((d + 2) n))^{1 / (d + 4)}` and the integral is a
    mean over draws from the even mixture of the two densities.

    The total variation is the same after any one-to-one change of the features, its estimate is
    not: bring probabilities to the real line by the logit first. Kernels smooth differences away,
    which errs downwards, and noise of the densities errs upwards: two normal samples of equal law
    give .13 on average with 50 values each, .04 with 1,000 and .02 with 4,000.

    Parameters
    ----------
    members : array-like of shape (n_members,) or (n_members, d)
        Features of members.
    nonmembers : array-like of shape (n_nonmembers,) or (n_nonmembers, d)
        Features of non-members.
    n_draws : int, default=10_000
        Draws from each density in two or more dimensions; the standard error is at most
        ``0.5 / sqrt(2 * n_draws)``.
    random_state : int, RandomState instance or None, default=None
        For the draws.

    Returns
    -------
    distance : float
        In [0, 1].

    Raises
    ------
    ValueError
        When a sample is empty, is not finite, has one value only, or the two differ in their number
        of features.

    See Also
    --------
    total_variation_discrete : For features that take few values.
    WorstCaseVulnerability : The same with a bound, a permutation test and groups.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

    Silverman, B. W. (1986). Density estimation for statistics and data analysis. Chapman and Hall.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import total_variation_kde
    >>> rng = np.random.default_rng(0)
    >>> distance = total_variation_kde(rng.normal(1, 1, 5000), rng.normal(0, 1, 5000))
    >>> round(distance, 1)  # 2 * Phi(1 / 2) - 1 = .383
    0.4
    """
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a positive integer; got {n_draws!r}.")
    X, is_member = _join(members, nonmembers, dtype=np.float64)
    witness = GridKernelWitness() if X.shape[1] == 1 else SampledKernelWitness(n_draws)
    witness.check(X, is_member)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    return float(np.clip(witness.estimate(X, is_member[None], rng)[0], 0, 1))
