"""Scores of gradient canaries in the noisy steps of a private training."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.checks import check_option
from .._core.gaussians import estimate_moments, make_moments
from .._core.matrix import check_matrix
from .._core.numbers import SMALLEST, check_number
from ._checks import noise_of_means

_AGGREGATES = {"sum": np.sum, "max": np.max}


def trace_scores(
    noisy_gradients: ArrayLike,
    canaries: ArrayLike,
    *,
    batch_size: int,
    noise_multiplier: float,
    max_grad_norm: float = 1.0,
    sample_rate: float = 1.0,
    reference: ArrayLike | None = None,
    aggregate: Literal["sum", "max"] = "sum",
) -> np.ndarray:
    r"""Score canaries by the noisy gradients of all steps.

    A step releases the mean of the clipped gradients of its rows, with noise. The score of a canary
    :math:`g` in a step is the log-likelihood ratio of that mean with the canary and without,

    .. math:: (g - \mu)^\top (\Sigma + C)^{-1} (\tilde g - \mu)
        - \tfrac1{2B} (g - \mu)^\top (\Sigma + C)^{-1} (g - \mu),

    with the moments of the rows' gradients and the noise :math:`C = \sigma^2 c^2 / B` of a row.
    Where a canary takes part in a step with the probability :math:`q`, that is :math:`L` in
    :math:`\log(1 - q + q e^L)`. The sum over steps is the log-likelihood ratio of all of them.

    Parameters
    ----------
    noisy_gradients : array-like of shape (n_steps, n_parameters)
        Releases of the steps: the noisy sum of clipped gradients divided by ``batch_size``.
    canaries : array-like of shape (n_canaries, n_parameters) or (n_steps, n_canaries, n_parameters)
        Clipped gradients of the canaries, in all steps or in each.
    batch_size : int
        Number by which sums are divided.
    noise_multiplier : float
        Standard deviation of the noise on the sum, in units of ``max_grad_norm``; above 0, unless
        there are reference gradients.
    max_grad_norm : float, default=1.0
        Norm to which gradients were clipped.
    sample_rate : float, default=1.0
        Probability with which a canary that is in takes part in a step.
    reference : array-like of shape (n_steps, n_reference, n_parameters), default=None
        Clipped gradients of other rows, whose moments are taken in each step. If None, rows are
        assumed to have a mean of 0 and to vary little compared with the noise. If their expected
        sum is known, subtract it beforehand.
    aggregate : {"sum", "max"}, default="sum"
        How the scores of steps are combined. The paper uses the maximum.

    Returns
    -------
    scores : ndarray of shape (n_canaries,)
        Scores, in nats, higher means more likely in.

    See Also
    --------
    make_gradient_canaries : Gradients that are easy to find.
    one_run_epsilon_lower_bound : Bound of epsilon from the scores.

    Notes
    -----
    The body of the algorithm is missing in the printed source; it was reconstructed from its
    description.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, algorithm 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import make_gradient_canaries, trace_scores
    >>> canaries = make_gradient_canaries(6, n_parameters=20, random_state=0).gradients
    >>> coins = np.array([1, 0, 1, 1, 0, 0])
    >>> noise = np.random.default_rng(0).normal(size=(50, 20))
    >>> steps = (coins @ canaries + noise) / 100
    >>> scores = trace_scores(steps, canaries, batch_size=100, noise_multiplier=1.0)
    >>> (scores > 0).astype(int)
    array([1, 0, 1, 1, 0, 0])
    """
    released = check_matrix(noisy_gradients, input_name="noisy_gradients", dtype=np.float64)
    canaries = _as_steps(canaries, released, "canaries")
    check_option(aggregate, "aggregate", _AGGREGATES)
    sample_rate = check_number(sample_rate, "sample_rate", "above 0 and at most 1", SMALLEST, 1)
    noise = noise_of_means(noise_multiplier, max_grad_norm, batch_size)
    if reference is not None:
        reference = _as_steps(reference, released, "reference")
    elif not noise > 0:
        raise ValueError(
            f"noise_multiplier must be above 0 without reference gradients; got {noise_multiplier}."
        )
    total = np.empty((len(released), canaries.shape[1]))
    for t, (step, own) in enumerate(zip(released, canaries, strict=True)):
        if reference is None:
            moments = make_moments(np.zeros(released.shape[1]), np.zeros(released.shape[1]), noise)
        else:
            moments = make_moments(*estimate_moments(reference[t], "diagonal"), noise)
        away = moments.whiten(own - moments.mean)
        seen = moments.whiten((step - moments.mean)[np.newaxis])[0]
        total[t] = away @ seen - (away**2).sum(axis=1) / (2 * batch_size)
    if sample_rate < 1:
        total = np.logaddexp(np.log1p(-sample_rate), np.log(sample_rate) + total)
    return _AGGREGATES[aggregate](total, axis=0)


def _as_steps(gradients, released, name):
    """Gradients in each step."""
    gradients = check_matrix(
        gradients, allow_nd=True, ensure_2d=False, dtype=np.float64, input_name=name
    )
    n_steps, n_parameters = released.shape
    if gradients.ndim == 2:
        gradients = np.broadcast_to(gradients, (n_steps, *gradients.shape))
    if gradients.ndim != 3 or gradients.shape[::2] != (n_steps, n_parameters):
        raise ValueError(
            f"{name} must be gradients of {n_parameters} parameters, in all or in each of "
            f"{n_steps} steps; got shape {gradients.shape}."
        )
    return gradients
