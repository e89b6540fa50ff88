"""The rate at which means of many losses deviate from their expectation."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import SMALLEST, check_numbers, show
from .._core.types import FloatOrArray
from .._core.user_functions import call_given

# Steps of the golden section search; each takes off 38% of an interval.
_N_STEPS = 100
_MOST_DOUBLINGS = 200
_GOLDEN = (np.sqrt(5) - 1) / 2


def cramer_rate(gap: float | ArrayLike, cumulant: Callable[[float], float]) -> FloatOrArray:
    r"""Rate of large deviations: the convex conjugate of a cumulant generating function.

    It is :math:`\psi^*(\epsilon) = \sup_{\lambda \ge 0} \lambda \epsilon - \psi(\lambda)` for
    :math:`\psi(\lambda) = \log \mathbb{E}\, e^{\lambda R}`, where R is the expected loss of a model
    minus its loss on a random record. The mean of n independent such R is at least epsilon with a
    probability of at most :math:`e^{-n \psi^*(\epsilon)}`.

    Parameters
    ----------
    gap : float or array-like
        Deviations epsilon, above 0.
    cumulant : callable
        The function :math:`\psi` of a number :math:`\lambda` of at least 0: convex, 0 at 0, and
        infinite where the expectation is. An upper bound of it gives a rate that holds as well.

    Returns
    -------
    rate : float or ndarray
        Rate in nats. Where the conjugate is infinite, a large number below it.

    Raises
    ------
    TypeError
        If the cumulant is not a function of a number.
    ValueError
        If a gap is not positive, or the cumulant is not 0 at 0 or not a number.

    See Also
    --------
    generalization_gap_probability_bound : Takes the smallest rate over all models.

    References
    ----------
    Boucheron, S., Lugosi, G. and Massart, P. (2013). Concentration inequalities. Oxford University
    Press, section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import cramer_rate
    >>> round(cramer_rate(0.5, lambda t: 2.0 * t**2 / 2), 4)  # normal with variance 2
    0.0625
    >>> fair = lambda t: np.logaddexp(t, -t) - np.log(2)  # -1 or 1
    >>> cramer_rate([0.5, 0.9], fair).round(4)
    array([0.1308, 0.4946])
    """
    gap = check_numbers(gap, "gap", "positive and finite", SMALLEST)
    start = _evaluate(cumulant, 0.0)
    if not abs(start) < 1e-9:
        raise ValueError(f"cumulant must be 0 at 0; got {start}.")
    rate = np.array([_conjugate(epsilon, cumulant) for epsilon in gap.ravel().tolist()]).reshape(
        gap.shape
    )
    return float(rate) if rate.ndim == 0 else rate


def _evaluate(cumulant, slope):
    value = call_given(cumulant, "cumulant", "f(number)", slope)
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"cumulant must return a number; got {show(value)}.") from None


def _conjugate(gap, cumulant):
    def height(slope):
        with np.errstate(over="ignore"):
            value = _evaluate(cumulant, slope)
        if np.isnan(value):
            raise ValueError(f"cumulant must return numbers; got NaN at {slope:g}.")
        return slope * gap - value

    # The height is concave: once it falls, its top is passed.
    top = 1.0
    for _ in range(_MOST_DOUBLINGS):
        if not height(2 * top) > height(top):
            break
        top *= 2
    low, high = 0.0, 2 * top
    for _ in range(_N_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if height(left) < height(right):
            low = left
        else:
            high = right
    return max(height((low + high) / 2), 0.0)
