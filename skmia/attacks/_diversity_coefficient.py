"""The diversity coefficient of a probability vector, and the matrix that separates groups best."""

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import check_numbers
from .._core.types import FloatOrArray


def diversity_coefficient(proba: ArrayLike, matrix: ArrayLike) -> FloatOrArray:
    r"""Diversity coefficient of class probabilities.

    It is the quadratic form :math:`p^T M p`.

    Parameters
    ----------
    proba : array-like of shape (..., n_classes)
        Class probabilities.
    matrix : array-like of shape (n_classes, n_classes)
        Matrix of the quadratic form.

    Returns
    -------
    coefficient : float or ndarray of shape (...)
        Value of the quadratic form. With a matrix of :func:`diversity_matrix`, higher values are
        more like members.

    Raises
    ------
    ValueError
        If values are not probabilities, or shapes do not fit.

    See Also
    --------
    DiversityAttack : Attack with a matrix for each class.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.31) to (2.43).

    Examples
    --------
    >>> from skmia.attacks import diversity_coefficient
    >>> diversity_coefficient([[0.5, 0.5], [1.0, 0.0]], [[1, 0], [0, 0]])
    array([0.25, 1.  ])
    """
    proba = check_numbers(proba, "proba", "probabilities in [0, 1]", 0, 1)
    matrix = check_numbers(matrix, "matrix", "finite numbers")
    n_classes = proba.shape[-1] if proba.ndim else 0
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"matrix must be of shape ({n_classes}, {n_classes}), the classes of proba; got shape "
            f"{matrix.shape}."
        )
    coefficient = np.einsum("...i,ij,...j->...", proba, matrix, proba)
    return float(coefficient) if coefficient.ndim == 0 else coefficient


def diversity_matrix(members: ArrayLike, nonmembers: ArrayLike) -> np.ndarray:
    r"""Matrix of norm 1 with entries of at least 0 that separates the mean coefficients best.

    It is the positive part of the difference of the means of :math:`p p^T`, divided by its
    Frobenius norm.

    Parameters
    ----------
    members : array-like of shape (n, n_classes)
        Class probabilities of known members.
    nonmembers : array-like of shape (m, n_classes)
        Class probabilities of known non-members.

    Returns
    -------
    matrix : ndarray of shape (n_classes, n_classes)
        Symmetric matrix; 0 if no entry of the mean of :math:`p p^T` is larger for members.

    Raises
    ------
    ValueError
        If values are not probabilities, or shapes do not fit.

    See Also
    --------
    DiversityAttack : Attack with a matrix for each class.

    Notes
    -----
    The thesis asks for the smallest difference of members and non-members, and prints the solution
    with the largest, which its figures and its decision rule need as well.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.31) to (2.38).

    Examples
    --------
    >>> from skmia.attacks import diversity_matrix
    >>> diversity_matrix([[1.0, 0.0]], [[0.5, 0.5]])
    array([[1., 0.],
           [0., 0.]])
    """
    sides = []
    for values, name in ((members, "members"), (nonmembers, "nonmembers")):
        proba = check_numbers(values, name, "probabilities in [0, 1]", 0, 1)
        if proba.ndim != 2 or not len(proba):
            raise ValueError(
                f"{name} must be a matrix of one row or more; got shape {proba.shape}."
            )
        sides.append(proba)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            "members and nonmembers must have the same classes; got "
            f"{sides[0].shape[1]} and {sides[1].shape[1]} columns."
        )
    return separate(*sides)


def separate(members, nonmembers):
    """Matrix that separates two groups of probability vectors best; 0 if none does."""
    products = [proba.T @ proba / len(proba) for proba in (members, nonmembers)]
    positive = np.maximum(products[0] - products[1], 0)
    norm = np.linalg.norm(positive)
    return positive / norm if norm > 0 else positive
