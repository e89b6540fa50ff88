"""The quadratic form of probabilities that :class:`skmia.attacks.DiversityAttack` uses."""

import warnings
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from .._core.callers import level_of_user
from .._core.needs import BOTH, Needs
from .._core.numbers import check_numbers
from .._core.query import query
from .._core.sklearn import Interval, StrOptions, at_least, start_adam
from .._core.types import ArrayLike, FloatOrArray, Seed
from ..base import SupervisedAttack

__all__ = [
    "diversity_coefficient",
    "diversity_matrix",
]


def diversity_coefficient(proba: ArrayLike, matrix: ArrayLike) -> FloatOrArray:
    r"""Return the diversity coefficient of class probabilities.

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
    skmia.attacks.DiversityAttack : Attack with a matrix for each class.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.31) to (2.43).

    Examples
    --------
    >>> from skmia.attacks.diversity import diversity_coefficient
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
    skmia.attacks.DiversityAttack : Attack with a matrix for each class.

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
    >>> from skmia.attacks.diversity import diversity_matrix
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
    """Return a matrix that separates two groups of probability vectors best; 0 if none does."""
    products = [proba.T @ proba / len(proba) for proba in (members, nonmembers)]
    positive = np.maximum(products[0] - products[1], 0)
    norm = np.linalg.norm(positive)
    return positive / norm if norm > 0 else positive


# Range over which training can move the entries of a matrix of norm 1: Adam changes an entry by the
# learning rate per step. Below the second number, most of the random start remains.
_WAY, _LEAST_WAY = 3.0, 1.0


def _own_product(label, size):
    """Return the matrix that reads only the probability of the label."""
    matrix = np.zeros((size, size))
    matrix[label, label] = 1
    return matrix


def _balance(membership, rng):
    """Draw equal numbers of members and non-members, in random order."""
    sides = [rng.permutation(np.flatnonzero(membership == bit)) for bit in (False, True)]
    n_each = min(map(len, sides))
    return rng.permutation(np.concatenate([side[:n_each] for side in sides]))


def _step_adam(matrix, proba, sign, adam):
    """One step of Adam on the hinge loss of a batch, in place and back onto the sphere."""
    value = np.sum(proba @ matrix * proba, axis=1)
    active = sign * value < 0  # a hinge at 0: members should lie above it
    gradient = -(proba * (sign * active)[:, None]).T @ proba / len(sign)
    gradient -= matrix * np.sum(gradient * matrix)  # along the sphere
    adam.update_params([matrix], [gradient])
    matrix /= np.linalg.norm(matrix)


def _count_epochs(membership, rate, batch_size, max_iter):
    """Return the number of epochs, and how far Adam can move an entry in all of them."""
    n_balanced = 2 * min(membership.sum(), (~membership).sum())
    way = rate * -(-n_balanced // batch_size)
    n_epochs = max(1, int(np.ceil(_WAY / way))) if max_iter is None else max_iter
    return n_epochs, n_epochs * way


def _train_matrix(proba, membership, rate, batch_size, n_epochs, rng):
    """Train the matrix by gradient descent on the hinge loss, from a random start."""
    size = proba.shape[1]
    matrix = rng.normal(size=(size, size))
    matrix /= np.linalg.norm(matrix)
    adam = start_adam([matrix], rate)
    for _ in range(n_epochs):
        rows = _balance(membership, rng)
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            sign = np.where(membership[batch], 1.0, -1.0)
            _step_adam(matrix, proba[batch], sign, adam)
    return matrix


class DiversityAttack(SupervisedAttack):
    r"""Attack on the diversity coefficient of the predicted probabilities.

    The score is :math:`p^\top M_y p` of the probabilities :math:`p`, with one matrix of norm 1 for
    each label. ``"closed_form"`` uses the matrix without negative entries that separates the means
    of known members and non-members best, the positive part of the difference of the mean :math:`p
    p^\top`; ``"learned"`` trains it on a hinge loss.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    method : {"closed_form", "learned"}, default="closed_form"
        How the matrices are estimated.
    learning_rate : float, default=0.01
        Learning rate of Adam, for ``method="learned"``.
    batch_size : int, default=128
        Number of records per training step, for ``method="learned"``.
    max_iter : int, default=None
        Number of epochs, for ``method="learned"``. If None, at least one and as many as give
        ``3 / learning_rate`` steps per label. One epoch, as in the thesis, needs tens of thousands
        of records per label.
    cross_fit : bool, default=True
        Whether records given to ``fit`` are scored by matrices of the other folds; if False, they
        are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds and the training.

    Attributes
    ----------
    coefficients_ : dict of int to ndarray of shape (n_classes, n_classes)
        Matrix of each label, by its position among the victim's classes. A label that is missing
        among the members or the non-members has the product of its own probability with itself.
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Notes
    -----
    The thesis prints that the closed form minimizes the difference; the matrix that it prints
    maximizes it, and so does this class. The thesis keeps the best of several epochs on a
    validation set; here none is set aside, and the last one is kept.

    Training starts from a random matrix. A :class:`~sklearn.exceptions.ConvergenceWarning` says if
    `max_iter` gives too few steps to leave it.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.31) to (2.43).

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import DiversityAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> attack = DiversityAttack(victim, random_state=0).fit(records, membership)
    >>> bool(attack.score(records, membership) > 0.5)
    True
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "method": [StrOptions({"closed_form", "learned"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [at_least(1)],
        "max_iter": [at_least(1), None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        method: Literal["closed_form", "learned"] = "closed_form",
        learning_rate: float = 0.01,
        batch_size: int = 128,
        max_iter: int | None = None,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.method = method
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        return Needs(frozenset({"proba", "logits"}), known=BOTH)

    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.coefficients_ = self._model
        if self.method == "learned" and self.max_iter is not None:
            self._warn_if_short(records, membership)

    def _warn_if_short(self, records, membership):
        settings = self.learning_rate, self.batch_size, self.max_iter
        sides = [membership[records.y == label] for label in np.unique(records.y)]
        ways = [_count_epochs(side, *settings)[1] for side in sides if 0 < side.sum() < len(side)]
        n_short = sum(way < _LEAST_WAY for way in ways)
        if n_short:
            needed = int(np.ceil(self.max_iter * _WAY / min(ways)))
            warnings.warn(
                f"max_iter={self.max_iter} leaves the matrices of {n_short} of {len(ways)} labels "
                "near their random start, so that scores near chance say nothing about the victim; "
                f"set max_iter to {needed} or None.",
                ConvergenceWarning,
                stacklevel=level_of_user(),
            )

    def _collect(self, records):
        outputs = query(self.victim, records)
        return [np.exp(outputs.log_proba()), outputs.label_index(records.y)]

    def _learn(self, collected, membership, seed):
        proba, labels = collected
        rng = np.random.RandomState(seed)
        matrices = {}
        for label in range(proba.shape[1]):
            own = labels == label
            matrix = self._estimate_matrix(proba[own], membership[own], rng)
            matrices[label] = _own_product(label, proba.shape[1]) if matrix is None else matrix
        return matrices

    def _estimate_matrix(self, proba, membership, rng):
        if not 0 < membership.sum() < len(membership):
            return None
        if self.method == "closed_form":
            matrix = separate(proba[membership], proba[~membership])
            return matrix if matrix.any() else None
        settings = self.learning_rate, self.batch_size
        n_epochs, _ = _count_epochs(membership, *settings, self.max_iter)
        return _train_matrix(proba, membership, *settings, n_epochs, rng)

    def _judge(self, model, collected):
        proba, labels = collected
        scores = np.empty(len(labels))
        for label in np.unique(labels):
            p = proba[labels == label]
            scores[labels == label] = np.einsum("ni,ij,nj->n", p, model[label], p)
        return scores
