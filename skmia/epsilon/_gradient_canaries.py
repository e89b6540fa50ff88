"""Canaries for auditors who see each noisy step of a private training."""

from numbers import Integral, Real

import numpy as np

from .._core.matrix import check_matrix
from .._core.numbers import check_number
from .._core.randomness import check_random_state
from ..leakage import MahalanobisLeakage
from ._checks import noise_of_means

_AGGREGATES = {"mean": np.mean, "max": np.max}


def dirac_canaries(n_canaries, n_parameters, *, norm=1.0, random_state=None):
    """Gradients of one entry each, all of them different.

    A private training that is being audited adds such a gradient to the sum of a step as if it were
    that of a record. It has the largest norm that clipping allows, no two of them overlap, and of
    what other records do it shares one coordinate.

    Parameters
    ----------
    n_canaries : int
        How many, at most ``n_parameters``.
    n_parameters : int
        Number of weights of the model.
    norm : float, default=1.0
        The entry: the norm to which gradients are clipped.
    random_state : int, RandomState instance or None, default=None
        Draws the coordinates.

    Returns
    -------
    gradients : ndarray of shape (n_canaries, n_parameters)

    See Also
    --------
    trace_scores : Finds them in the noisy gradients.

    References
    ----------
    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and Terzis,
    A. (2023). Tight auditing of differentially private machine learning. USENIX Security.

    Examples
    --------
    >>> from skmia.epsilon import dirac_canaries
    >>> dirac_canaries(2, 4, norm=0.5, random_state=0)
    array([[0. , 0. , 0.5, 0. ],
           [0. , 0. , 0. , 0.5]])
    """
    whole = isinstance(n_canaries, Integral) and isinstance(n_parameters, Integral)
    if not whole or not 1 <= n_canaries <= n_parameters:
        raise ValueError(
            f"n_canaries must be an integer from 1 to n_parameters, {n_parameters!r}; got "
            f"{n_canaries!r}."
        )
    if not isinstance(norm, Real) or not 0 < norm < np.inf:
        raise ValueError(f"norm must be finite and above 0; got {norm!r}.")
    gradients = np.zeros((n_canaries, n_parameters))
    columns = check_random_state(random_state).permutation(n_parameters)[:n_canaries]
    gradients[np.arange(n_canaries), columns] = norm
    return gradients


def select_gradient_canaries(
    gradients,
    n_canaries,
    *,
    noise_multiplier=0.0,
    max_grad_norm=1.0,
    batch_size=1,
    reference=None,
    aggregate="mean",
):
    r"""Choose the records whose clipped gradients leak most in noisy steps.

    In step :math:`t` the gradient :math:`g` of a record has the leakage score
    :math:`\|g - \mu_t\|^2` in the norm of :math:`(\Sigma_t + C)^{-1} / B`, with the moments of
    gradients in that step, the batch size :math:`B` and the noise :math:`C = \sigma^2 c^2 / B` of a
    row. The records with the largest mean over steps are taken.

    Parameters
    ----------
    gradients : array-like of shape (n_steps, n, n_parameters)
        Clipped gradients of the candidates in each step.
    n_canaries : int
        How many to take, at most n.
    noise_multiplier : float, default=0.0
        Standard deviation of the noise on the sum of gradients, in units of ``max_grad_norm``.
    max_grad_norm : float, default=1.0
        Norm to which gradients were clipped.
    batch_size : int, default=1
        Rows of a step.
    reference : array-like of shape (n_steps, n_reference, n_parameters), default=None
        Clipped gradients that the moments are taken of; None takes those of the candidates.
    aggregate : {"mean", "max"}, default="mean"
        How the scores of steps become one.

    Returns
    -------
    rows : ndarray of shape (n_canaries,)
        The most leaking record first; of equal records the first one.

    See Also
    --------
    skmia.leakage.MahalanobisLeakage : The score.

    Notes
    -----
    The body of the algorithm is lost in the printed source; this one follows its description, and
    the mean over steps is our choice. Covariances are taken as diagonal.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, algorithm 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import select_gradient_canaries
    >>> gradients = np.random.default_rng(0).normal(size=(3, 50, 4))
    >>> gradients[:, 17] *= 3
    >>> select_gradient_canaries(gradients, 1, noise_multiplier=1.0, batch_size=10)
    array([17])
    """
    steps = check_matrix(gradients, allow_nd=True, ensure_2d=False, input_name="gradients")
    if steps.ndim != 3:
        raise ValueError(
            f"gradients must have the shape (n_steps, n, n_parameters); got {steps.shape}."
        )
    if aggregate not in _AGGREGATES:
        raise ValueError(f"aggregate must be 'mean' or 'max'; got {aggregate!r}.")
    n = steps.shape[1]
    check_number(n_canaries, "n_canaries", f"an integer from 1 to {n}", 1, n, whole=True)
    noise = noise_of_means(noise_multiplier, max_grad_norm, batch_size)
    leakage = MahalanobisLeakage(covariance="diagonal", noise_scale=noise, n_samples=batch_size)
    moments = steps if reference is None else np.asarray(reference)
    scores = [leakage.fit(m).score_samples(g) for m, g in zip(moments, steps, strict=True)]
    return np.argsort(-_AGGREGATES[aggregate](scores, axis=0), kind="stable")[:n_canaries]
