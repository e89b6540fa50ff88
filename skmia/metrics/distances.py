"""Divergences and distances of distributions, on which attacks are built."""

import numpy as np

from .._core import probabilities
from .._core.numbers import SMALLEST, check_broadcast, check_number, check_numbers
from .._core.probabilities import check_sums
from .._core.types import ArrayLike, FloatOrArray

__all__ = [
    "fisher_rao_distance",
    "hockey_stick_divergence",
    "normal_fisher_rao_distance",
    "renyi_divergence",
]


def renyi_divergence(p: ArrayLike, q: ArrayLike, alpha: float) -> FloatOrArray:
    r"""Return the Rényi divergence of discrete distributions.

    It is :math:`D_\alpha(p \| q) = \frac{1}{\alpha - 1} \log \sum_k p_k^\alpha q_k^{1 - \alpha}`,
    with the Kullback-Leibler divergence as its limit for ``alpha=1``. Nothing is lost for orders
    close to 0 or 1, where the sum is close to 1, and for large ones.

    Parameters
    ----------
    p, q : array-like of shape (..., n_classes)
        Probabilities, which sum to 1 along the last axis. Shapes are broadcast.
    alpha : float
        Order of the divergence, above 0.

    Returns
    -------
    divergence : float or ndarray of shape (...)
        Divergence in nats, at least 0; infinite where q excludes what p does not, for an order of 1
        or more, and where they have nothing in common.

    Raises
    ------
    ValueError
        If rows are not probabilities, shapes do not fit or alpha is out of range.

    See Also
    --------
    fisher_rao_distance : A distance of the same distributions, symmetric and bounded.
    skmia.attacks.RenyiAttack : Attack on the smallest divergence from known members.

    Notes
    -----
    ``D_alpha(p || q) = alpha / (1 - alpha) * D_{1 - alpha}(q || p)`` for orders below 1: towards 0
    it is alpha times the Kullback-Leibler divergence of q from p. Del Grosso (2023), equation 2.44,
    prints it without the logarithm, which orders pairs alike and is not 0 for equal distributions.

    References
    ----------
    van Erven, T. and Harremoës, P. (2014). Rényi divergence and Kullback-Leibler divergence. IEEE
    Transactions on Information Theory 60.

    Examples
    --------
    >>> from skmia.metrics.distances import renyi_divergence
    >>> round(renyi_divergence([0.9, 0.1], [0.5, 0.5], 2.0), 4)
    0.4947
    >>> renyi_divergence([[0.9, 0.1], [0.5, 0.5]], [0.5, 0.5], 0.5).round(4)
    array([0.2231, 0.    ])
    """
    p, q = _check_pair(p, q)
    alpha = check_number(alpha, "alpha", "a number above 0", SMALLEST)
    with np.errstate(divide="ignore"):
        logs = np.log(p), np.log(q)
        return _unpack_scalar(np.maximum(probabilities.renyi_divergence_of_logs(*logs, alpha), 0))


def hockey_stick_divergence(p: ArrayLike, q: ArrayLike, epsilon: float) -> FloatOrArray:
    r"""Return the smallest delta with which p exceeds q by no more than a factor exp(epsilon).

    It is :math:`\sum_k \max(0, p_k - e^\varepsilon q_k)`, the largest value of
    :math:`p(T) - e^\varepsilon q(T)` over all events T. A mechanism with finitely many outcomes is
    (epsilon, delta)-differentially private if and only if the divergence is at most delta for the
    laws of its outcome on any two neighboring data sets, in both orders. With ``epsilon=0`` it is
    the total variation.

    Parameters
    ----------
    p, q : array-like of shape (..., n_classes)
        Probabilities, which sum to 1 along the last axis. Shapes are broadcast.
    epsilon : float
        Privacy parameter in nats, at least 0.

    Returns
    -------
    delta : float or ndarray of shape (...)
        Divergence, in [0, 1].

    Raises
    ------
    ValueError
        If rows are not probabilities, shapes do not fit or epsilon is out of range.

    See Also
    --------
    renyi_divergence : The divergence of Rényi differential privacy.
    skmia.leakage.bounds.dp_advantage_bound : Advantage of attacks on such a mechanism.

    References
    ----------
    Dwork, C. and Roth, A. (2014). The algorithmic foundations of differential privacy. Foundations
    and Trends in Theoretical Computer Science 9.

    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA,
    definition 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics.distances import hockey_stick_divergence
    >>> honest, other = [0.75, 0.25], [0.25, 0.75]  # randomized response: epsilon = log(3)
    >>> round(hockey_stick_divergence(honest, other, 1.0), 4)
    0.0704
    >>> round(hockey_stick_divergence(honest, other, np.log(3)), 4)
    0.0
    """
    p, q = _check_pair(p, q)
    epsilon = check_number(epsilon, "epsilon", "a finite number, at least 0", 0)
    # exp(epsilon) may be infinite, where q is 0 or not.
    with np.errstate(over="ignore", invalid="ignore"):
        exceeded = np.where(q > 0, p - np.exp(epsilon) * q, p)
    return _unpack_scalar(np.clip(np.maximum(exceeded, 0).sum(axis=-1), 0, 1))


def fisher_rao_distance(p: ArrayLike, q: ArrayLike) -> FloatOrArray:
    r"""Return the Fisher-Rao distance of discrete distributions.

    It is :math:`2 \arccos \sum_k \sqrt{p_k q_k}`, the length of the shortest path between the two
    in the geometry of the Fisher information. The distance of close distributions keeps its digits.

    Parameters
    ----------
    p, q : array-like of shape (..., n_classes)
        Probabilities, which sum to 1 along the last axis. Shapes are broadcast.

    Returns
    -------
    distance : float or ndarray of shape (...)
        Distance, from 0 to pi.

    Raises
    ------
    ValueError
        If rows are not probabilities or shapes do not fit.

    See Also
    --------
    normal_fisher_rao_distance : The distance of normal distributions.
    skmia.attacks.white_box.FisherRaoAttack : Attack on distances from known members.

    References
    ----------
    Atkinson, C. and Mitchell, A. F. S. (1981). Rao's distance measure. Sankhya A 43.

    Examples
    --------
    >>> from skmia.metrics.distances import fisher_rao_distance
    >>> round(fisher_rao_distance([0.9, 0.1], [0.5, 0.5]), 4)
    0.9273
    >>> fisher_rao_distance([[1, 0], [0.5, 0.5]], [0, 1]).round(4)
    array([3.1416, 1.5708])
    """
    return _unpack_scalar(probabilities.fisher_rao_of_probabilities(*_check_pair(p, q)))


def normal_fisher_rao_distance(
    mean_1: ArrayLike, std_1: ArrayLike, mean_2: ArrayLike, std_2: ArrayLike
) -> FloatOrArray:
    """Return the Fisher-Rao distance of normal distributions with diagonal covariance.

    Parameters
    ----------
    mean_1, mean_2 : array-like of shape (..., d)
        Means. Shapes are broadcast.
    std_1, std_2 : array-like of shape (..., d), or float
        Standard deviations, above 0.

    Returns
    -------
    distance : float or ndarray of shape (...)
        Distance, at least 0: the root of the sum of the squared distances of the coordinates.

    Raises
    ------
    ValueError
        If a standard deviation is not positive or shapes do not fit.

    See Also
    --------
    fisher_rao_distance : The distance of discrete distributions.

    Notes
    -----
    The arguments are standard deviations. Del Grosso (2023), equation 2.59, puts a variance into
    the same formula.

    References
    ----------
    Costa, S. I. R., Santos, S. A. and Strapasson, J. E. (2015). Fisher information distance: a
    geometrical reading. Discrete Applied Mathematics 197.

    Examples
    --------
    >>> from skmia.metrics.distances import normal_fisher_rao_distance
    >>> round(normal_fisher_rao_distance([0.0], 1.0, [1.0], 1.0), 4)
    0.9803
    >>> round(normal_fisher_rao_distance([0.0], 1.0, [0.0], 2.0), 4)  # sqrt(2) log(2)
    0.9803
    """
    means = [
        check_numbers(mean, f"mean_{k}", "finite numbers") for k, mean in _pair(mean_1, mean_2)
    ]
    stds = [
        check_numbers(std, f"std_{k}", "finite numbers above 0", SMALLEST)
        for k, std in _pair(std_1, std_2)
    ]
    parts = dict(zip(("mean_1", "mean_2", "std_1", "std_2"), [*means, *stds], strict=True))
    parts = check_broadcast(**{name: np.atleast_1d(part) for name, part in parts.items()})
    return _unpack_scalar(probabilities.fisher_rao_of_normals(parts[:2], parts[2:]))


def _pair(first, second):
    return (1, first), (2, second)


def _check_pair(p, q):
    """Return both as arrays of probabilities of one shape."""
    sides = []
    for values, name in ((p, "p"), (q, "q")):
        proba = np.atleast_1d(check_numbers(values, name, "probabilities in [0, 1]", 0, 1))
        check_sums(proba, name)
        sides.append(proba)
    if sides[0].shape[-1] != sides[1].shape[-1]:
        raise ValueError(
            "p and q must have the same classes; got "
            f"{sides[0].shape[-1]} and {sides[1].shape[-1]} columns."
        )
    return check_broadcast(p=sides[0], q=sides[1])


def _unpack_scalar(values):
    return float(values) if np.ndim(values) == 0 else values
