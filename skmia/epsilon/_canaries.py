"""Records that are put into training data to see whether they can be found again."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._core.caches import clone_to_train
from .._core.matrix import check_matrix_and_labels
from .._core.numbers import check_number
from .._core.randomness import check_random_state


class Canaries(NamedTuple):
    """Canaries, and the records whose place they take.

    Attributes
    ----------
    X : ndarray of shape (n_canaries, n_features)
        Features.
    y : ndarray of shape (n_canaries,)
        Labels.
    rows : ndarray of int
        Records of the data that are canaries now, or that canaries were made of. They are in no
        training set in their old form.
    """

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray


def _check(X, y, n_canaries, most, what):
    X, y = check_matrix_and_labels(X, y)
    most = len(X) if most is None else most(X)
    allowed = f"an integer from 1 to {most}, the number of {what}"
    check_number(n_canaries, "n_canaries", allowed, 1, most, whole=True)
    return X, y


def natural_canaries(X, y, n_canaries=1, *, random_state=None):
    """Take records of the data as they are.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels.
    n_canaries : int, default=1
        How many.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    canaries : Canaries

    See Also
    --------
    random_label_canaries : The same with wrong labels, which leak more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmia.epsilon import natural_canaries
    >>> X, y = load_iris(return_X_y=True)
    >>> canaries = natural_canaries(X, y, 3, random_state=0)
    >>> bool((canaries.X == X[canaries.rows]).all())
    True
    """
    X, y = _check(X, y, n_canaries, None, "records")
    rows = check_random_state(random_state).permutation(len(X))[:n_canaries]
    return Canaries(X[rows], y[rows], rows)


def random_label_canaries(X, y, n_canaries=1, *, random_state=None):
    """Give records of the data another label, which a model can only learn by heart.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels of two classes or more.
    n_canaries : int, default=1
        How many.
    random_state : int, RandomState instance or None, default=None
        Draws the records and their labels, each of the other classes alike.

    Returns
    -------
    canaries : Canaries

    See Also
    --------
    skmia.defenses.mislabel : The same for Records.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmia.epsilon import random_label_canaries
    >>> X, y = load_iris(return_X_y=True)
    >>> canaries = random_label_canaries(X, y, 3, random_state=0)
    >>> bool((canaries.y != y[canaries.rows]).all())
    True
    """
    X, y = _check(X, y, n_canaries, None, "records")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("Wrong labels need two classes or more; got 1 class.")
    rng = check_random_state(random_state)
    rows = rng.permutation(len(X))[:n_canaries]
    other = codes[rows] + rng.randint(1, len(classes), size=n_canaries)
    return Canaries(X[rows], classes[other % len(classes)], rows)


def exposed_canaries(X, y, n_canaries=1, *, estimator=None, cv=5, random_state=None):
    """Take the records whose labels a model finds hardest to predict when it has not seen them.

    What a model cannot infer from other records it has to learn from the record itself. These are
    natural records, mislabeled or unusual ones first.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels.
    n_canaries : int, default=1
        How many.
    estimator : classifier with ``predict_proba``, default=None
        The model. None takes a logistic regression on standardized features.
    cv : int or splitter, default=5
        Folds in which records are left out.
    random_state : int, RandomState instance or None, default=None
        Not used: there is no chance in it but that of the estimator.

    Returns
    -------
    canaries : Canaries
        The hardest first.

    See Also
    --------
    select_gradient_canaries : By what single gradients leak.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmia.epsilon import exposed_canaries
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(exposed_canaries(X, y, 3).rows.tolist())
    [70, 106, 133]
    """
    X, y = _check(X, y, n_canaries, None, "records")
    if estimator is None:
        estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    codes = np.unique(y, return_inverse=True)[1]
    proba = cross_val_predict(clone_to_train(estimator), X, y, cv=cv, method="predict_proba")
    held_out = proba[np.arange(len(X)), codes]
    rows = np.argsort(held_out, kind="stable")[:n_canaries]
    return Canaries(X[rows], y[rows], rows)


def clip_bkd_canaries(X, y, n_canaries=1, *, norm=None, random_state=None):
    r"""Make records in directions in which the data hardly vary, with the least likely labels.

    The record is :math:`m v`, where :math:`v` is the direction of the smallest variance of X, of
    length 1, and :math:`m` a norm as that of other records. No other record moves the model along
    :math:`v`, so that the gradient of this one is seen even where each gradient is clipped. Further
    canaries take the directions of the next smallest variances.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels of two classes or more.
    n_canaries : int, default=1
        How many, at most the number of features.
    norm : float, default=None
        Their Euclidean norm. None takes the median norm of the rows of X.
    random_state : int, RandomState instance or None, default=None
        Not used: there is no chance in it.

    Returns
    -------
    canaries : Canaries
        With no ``rows``: they are new records.

    See Also
    --------
    EpsilonAudit : Trains with them and without them.

    Notes
    -----
    The sign of a direction is arbitrary; its largest entry is made positive. Where several
    directions have the same variance, such as pixels that never change, the choice among them is
    arbitrary as well. The label is the least likely one according to a logistic regression on X.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import clip_bkd_canaries
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 0.1, 2]
    >>> canary = clip_bkd_canaries(X, X[:, 0] > 0)
    >>> canary.X.round(1)
    array([[0. , 1.7, 0. ]])
    """
    X, y = _check(X, y, n_canaries, lambda X: X.shape[1], "features")
    centered = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = centered.T @ centered
    if not np.isfinite(spread).all():
        raise ValueError("X holds numbers whose squares are too large for double precision.")
    if norm is None:
        norm = np.median(np.linalg.norm(X, axis=1))
    _, vectors = np.linalg.eigh(spread)
    directions = vectors[:, :n_canaries].T
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(n_canaries), largest])[:, np.newaxis]
    made = (norm * directions).astype(X.dtype if X.dtype.kind == "f" else np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the order of classes is all we ask
        model = LogisticRegression(max_iter=1000).fit(X, y)
    labels = model.classes_[model.predict_proba(made).argmin(axis=1)]
    return Canaries(made, labels, np.empty(0, dtype=np.intp))


CANARIES = {
    "clip_bkd": clip_bkd_canaries,
    "exposed": exposed_canaries,
    "natural": natural_canaries,
    "random_label": random_label_canaries,
}
