"""Total variation between two samples."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.containers import is_frame, refuse_masked
from .._core.groups import sorted_values
from .._core.matrix import check_feature_matrix
from .._core.metric_inputs import check_option, refuse_other_choice
from .._core.numbers import SMALLEST, check_count, check_number, check_numbers, to_array
from .._core.randomness import check_random_state
from .._core.types import ArrayLike, Seed
from ._witness import PluginWitness, make_kernels


def summarize_null(estimate, null):
    """Return the mean of the estimates without leakage, and the p-value of the estimate among them.

    Return bias, pvalue: NaN without an estimate or without permutations.
    """
    if len(null) == 0 or np.isnan(estimate):
        return float("nan"), float("nan")
    # Sums of the same terms in another order differ by rounding, in units of the features.
    values = np.abs(np.append(null, estimate))
    slack = 1e-9 * values[np.isfinite(values)].max(initial=0.0)
    as_large = (null >= estimate - slack).sum()
    return float(null.mean()), float((1 + as_large) / (1 + len(null)))


def _align(members, nonmembers):
    """Return both samples, those of two tables with the columns of the first one, in its order.

    Tables that share no name are compared by position.
    """
    if not (is_frame(members) and is_frame(nonmembers)):
        return members, nonmembers
    names, others = (set(table.columns) for table in (members, nonmembers))
    if names == others and len(names) == members.shape[1] == nonmembers.shape[1]:
        return members, nonmembers[members.columns]
    if members.shape[1] == nonmembers.shape[1] and names & others:
        lacking = next((name for name in members.columns if name not in others), None)
        if lacking is not None:
            raise ValueError(
                f"members and nonmembers must have the same features; nonmembers lacks {lacking!r}."
            )
    return members, nonmembers


def _would_round(table):
    """Return whether floats, the common type of several numbers, round whole numbers."""
    known = [part.dropna() for _, part in table.items()]
    whole = [part for part in known if len(part) and pd.api.types.is_integer_dtype(part.dtype)]
    longest = max((abs(int(end)) for part in whole for end in (part.min(), part.max())), default=0)
    return table.dtypes.nunique() > 1 and longest > 2**53


def join_samples(members, nonmembers, dtype):
    """Return both samples as one matrix, and which rows are members."""
    sides = []
    members, nonmembers = _align(members, nonmembers)
    for values, name in ((members, "members"), (nonmembers, "nonmembers")):
        refuse_masked(values, name)
        if not (is_frame(values) or sparse.issparse(values)):
            values = to_array(values, name, "hold rows of one length")
        if values.ndim == 1:
            values = np.reshape(values, (-1, 1))
        elif dtype is None and isinstance(values, pd.DataFrame) and _would_round(values):
            values = values.astype(object)
        values = check_feature_matrix(values, dtype=dtype, input_name=name)
        if values.dtype == object and pd.isna(values).any():
            raise ValueError(f"Input {name} contains NaN.")
        sides.append(values)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            "members and nonmembers must have the same features; got "
            f"{sides[0].shape[1]} and {sides[1].shape[1]}."
        )
    # numpy would make text of numbers, so that "1" equals 1.
    kinds = ["text" if side.dtype.kind in "US" else side.dtype.name for side in sides]
    if "text" in kinds and not {*kinds} <= {"text", "object"}:
        raise ValueError(
            "members and nonmembers must be of one type, such as all text or all numbers; got "
            f"{' and '.join(kinds)}."
        )
    joined = np.concatenate(sides)
    if joined.dtype == object:
        for j, column in enumerate(joined.T):
            sorted_values(column, f"Column {j} of members and nonmembers")
    return joined, np.repeat([True, False], [len(side) for side in sides])


def total_variation(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    method: Literal["plugin", "kde"] = "plugin",
    bandwidth_factor: float | None = None,
    n_draws: int | None = None,
    random_state: Seed = None,
) -> float:
    r"""Return the total variation between the features of members and the features of non-members.

    It is the largest advantage, TPR - FPR, of any prediction from these features. Both methods are
    estimates for the population with random error; ``"plugin"`` errs upwards.

    Parameters
    ----------
    members : array-like of shape (n_members,) or (n_members, d)
        Features of members: numbers, or for ``"plugin"`` strings as well. Rows of several features
        are compared as a whole.
    nonmembers : array-like of shape (n_nonmembers,) or (n_nonmembers, d)
        Features of non-members. Columns of two DataFrames are compared by name, in any order.
    method : {"plugin", "kde"}, default="plugin"
        ``"plugin"``: half the sum of the absolute differences of the two observed frequencies over
        all values, for features that take few values.

        ``"kde"``: half the integral of the absolute difference of two Gaussian kernel densities,
        for continuous features.
    bandwidth_factor : float, default=None
        For ``"kde"``, factor of the bandwidths of the Notes; see :func:`bandwidth_sensitivity`. If
        None, 1.
    n_draws : int, default=None
        For ``"kde"`` in two or more dimensions, draws from each density; the standard error is at
        most ``0.5 / sqrt(2 * n_draws)``. If None, 10,000.
    random_state : int, RandomState instance or None, default=None
        Controls the draws.

    Returns
    -------
    distance : float
        Distance, in [0, 1]: 0 for equal frequencies or densities, 1 for no value in common.

    Raises
    ------
    ValueError
        If a sample is empty, holds NaN, or the two differ in their number of features; with
        ``"kde"``, when a sample has one value only; with ``"plugin"``, when ``bandwidth_factor`` or
        ``n_draws`` is given.

    See Also
    --------
    bandwidth_sensitivity : The estimates for several bandwidths.
    WorstCaseVulnerability : Estimator with a bound, a permutation test and groups.

    Notes
    -----
    Frequencies differ by chance: without leakage a feature of two values, one of them with
    probability q, gives about ``sqrt(2 / pi * q * (1 - q) * (1 / n_members + 1 / n_nonmembers))``.

    Kernels on the line have Silverman's bandwidth, :math:`0.9 \min(s, \mathrm{IQR} / 1.34)\,
    n^{-1/5}` with the standard deviation s and n of each sample. In d dimensions each axis has the
    bandwidth :math:`\min(s, \mathrm{IQR} / 1.34)\, (4 / ((d + 2) n))^{1 / (d + 4)}` and the
    integral is a mean over draws from the even mixture of the two densities. Where the
    interquartile range is 0, s takes its place. The estimate depends on the scale of the features:
    transform probabilities to the real line by the logit first. Kernels smooth differences away,
    which errs downwards, and noise of the densities errs upwards: two normal samples with the same
    distribution give 0.13 on average with 50 values each, and 0.04 with 1,000.

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA.

    Silverman, B. W. (1986). Density estimation for statistics and data analysis. Chapman and Hall.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import total_variation
    >>> total_variation([0, 0, 0, 1], [0, 0, 1, 1])
    0.25
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal(1, 1, 5000), rng.normal(0, 1, 5000)
    >>> round(total_variation(*samples, method="kde"), 1)  # 2 * Phi(1 / 2) - 1 = .383
    0.4
    """
    check_option(method, "method", ("plugin", "kde"))
    given = {"n_draws": n_draws, "bandwidth_factor": bandwidth_factor}
    refuse_other_choice("method", method, dict.fromkeys(given, "kde"), given)
    if method == "plugin":
        X, is_member = join_samples(members, nonmembers, dtype=None)
        return float(PluginWitness().estimate(X, is_member[None], None)[0])
    n_draws = 10_000 if n_draws is None else n_draws
    check_count(n_draws, "n_draws")
    factor = 1.0 if bandwidth_factor is None else bandwidth_factor
    check_number(factor, "bandwidth_factor", "a number above 0", SMALLEST)
    X, is_member = join_samples(members, nonmembers, dtype=np.float64)
    witness = make_kernels(X.shape[1], n_draws, factor)
    witness.check(X, is_member)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    return float(np.clip(witness.estimate(X, is_member[None], rng)[0], 0, 1))


_N_DRAWS = 1000


def bandwidth_sensitivity(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    factors: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
    n_permutations: int = 100,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Return the total variation of two kernel densities for several bandwidths.

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
