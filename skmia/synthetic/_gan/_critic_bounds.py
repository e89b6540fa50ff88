"""Bounds of the gradients of a critic, as functions of its weights."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..._core.checks import check_option
from ..._core.numbers import check_number, check_numbers
from ._bounds import gradient_bounds
from ._penalty import penalty_bounds


def critic_gradient_bounds(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike],
    *,
    negative_slope: float = 0.2,
    sizes: Sequence[int] | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bounds of the gradient of a critic's answer to one row, for all rows.

    They follow from the weights alone, by interval arithmetic. :class:`DPWassersteinGAN` scales its
    noise by them instead of clipping gradients.

    Parameters
    ----------
    weights : sequence of array-like of shape (n_out, n_in)
        Weights of each layer. The last layer has one unit.
    biases : sequence of array-like of shape (n_out,)
        Biases of each layer but the last, which has none.
    negative_slope : float, default=0.2
        Slope of the leaky ReLU after each layer but the last for negative numbers, in [0, 1].
    sizes : sequence of int, default=None
        Number of inputs of each column of a row: 1 for a number in [0, 1], more for a block with
        a single 1. If None, all columns are numbers.

    Returns
    -------
    bounds : list of tuple (low, high) of ndarray
        Ends of the gradient with respect to each parameter, in the order weight, bias, weight,
        bias, ..., weight and in the shapes given.

    Raises
    ------
    ValueError
        If shapes do not follow one another, or a number is out of range.

    See Also
    --------
    gradient_penalty_bounds : Bounds of the gradient of the penalty on the slope.

    Notes
    -----
    With one hidden layer every bound is attained by some row. With more they are wider than need
    be: intervals forget that units depend on each other. The slides mix indices and factors of the
    four products; the formulas here were derived again and are tested on all rows of small tables.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute, section 3.1.2.

    Examples
    --------
    >>> from skmia.synthetic import critic_gradient_bounds
    >>> bounds = critic_gradient_bounds([[[2.0, -1.0]], [[3.0]]], [[0.5]])
    >>> low, high = bounds[-1]  # of the last weight: the output of the hidden unit
    >>> low.round(6), high.round(6)
    (array([[-0.1]]), array([[2.5]]))
    """
    weights = _check_weights(weights)
    negative_slope = check_number(negative_slope, "negative_slope", "a number in [0, 1]", 0, 1)
    biases = [check_numbers(bias, "biases", "finite numbers") for bias in biases]
    hidden = [(len(weight),) for weight in weights[:-1]]
    if [bias.shape for bias in biases] != hidden:
        raise ValueError(
            f"biases must have the shapes {hidden}, one for each layer but the last; got "
            f"{[bias.shape for bias in biases]}."
        )
    if sizes is not None:
        n_inputs = weights[0].shape[1]
        sizes = check_numbers(sizes, "sizes", "integers of at least 1", 1)
        if sizes.ndim != 1 or (sizes % 1).any() or sizes.sum() != n_inputs:
            raise ValueError(
                f"sizes must be integers of at least 1 with the sum {n_inputs}, the number of "
                f"inputs; got {sizes.tolist()}."
            )
        sizes = sizes.astype(np.intp)
    return gradient_bounds(weights, biases, negative_slope, sizes)


def gradient_penalty_bounds(
    weights: Sequence[ArrayLike], *, norm: Literal["spectral", "frobenius"] = "spectral"
) -> np.ndarray:
    """Bounds of the norm of the gradient of the gradient penalty, for each layer of a critic.

    The penalty of a row is ``(norm(J) - 1)**2``, with the gradient J of the critic with respect to
    the row.

    Parameters
    ----------
    weights : sequence of array-like of shape (n_out, n_in)
        Weights of each layer. The last layer has one unit; the others are followed by slopes of at
        most 1, such as a leaky ReLU.
    norm : {"spectral", "frobenius"}, default="spectral"
        Norm of the matrices. Both bounds are valid; the spectral one is several times smaller.

    Returns
    -------
    bounds : ndarray of shape (n_layers,)
        Largest Frobenius norm of the gradient with respect to the weights of each layer.

    Raises
    ------
    ValueError
        If shapes do not follow one another, or norm is none of the two.

    See Also
    --------
    critic_gradient_bounds : Bounds of the gradient of the answer.

    Notes
    -----
    For a layer it is ``2 * max(top - 1, 1)`` times the product of the norms of all other layers,
    with the product ``top`` of the norms of all layers; with the Frobenius norm, both products also
    have the root of the width of each hidden layer as a factor.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute, section 3.1.3.

    Examples
    --------
    >>> from skmia.synthetic import gradient_penalty_bounds
    >>> gradient_penalty_bounds([[[2.0]], [[3.0]]]).round(6)
    array([30., 20.])
    """
    check_option(norm, "norm", ("spectral", "frobenius"))
    return penalty_bounds(_check_weights(weights), norm)


def _check_weights(weights):
    """Weights as matrices; each takes what the one before gives."""
    weights = [check_numbers(weight, "weights", "finite numbers") for weight in weights]
    shapes = [weight.shape for weight in weights]
    chained = all(len(shape) == 2 and min(shape) > 0 for shape in shapes) and all(
        first[0] == second[1] for first, second in pairwise(shapes)
    )
    if not (shapes and chained and shapes[-1][0] == 1):
        raise ValueError(
            "weights must be matrices of shape (n_out, n_in), each with as many columns as the one "
            f"before has rows, the last with one row; got shapes {shapes}."
        )
    return weights
