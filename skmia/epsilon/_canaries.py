"""Canaries: records that are inserted into training data to detect memorization."""

import warnings
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._core.caches import clone_to_train
from .._core.checks import check_option, refuse_foreign
from .._core.matrix import check_matrix_and_labels
from .._core.numbers import check_number
from .._core.randomness import check_random_state
from .._core.types import Seed, Splitter

KINDS = ("clip_bkd", "exposed", "natural", "random_label")
_OWNERS = {"estimator": "exposed", "cv": "exposed", "norm": "clip_bkd"}


class Canaries(NamedTuple):
    """Canaries, and the records that they replace.

    Attributes
    ----------
    X : ndarray of shape (n_canaries, n_features)
        Features.
    y : ndarray of shape (n_canaries,)
        Labels.
    rows : ndarray of int
        Records of the data that are used as canaries, or that canaries are derived from. Their
        original form is in no training set.
    """

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray


def make_canaries(
    X: ArrayLike,
    y: ArrayLike,
    n_canaries: int = 1,
    *,
    kind: Literal["clip_bkd", "exposed", "natural", "random_label"] = "random_label",
    estimator: BaseEstimator | None = None,
    cv: Splitter | None = None,
    norm: float | None = None,
    random_state: Seed = None,
) -> Canaries:
    r"""Make canaries: records that an audit inserts into training data and tries to detect.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels; of two classes or more for ``"random_label"`` and ``"clip_bkd"``.
    n_canaries : int, default=1
        Number of canaries: at most the number of records, or the number of features for
        ``"clip_bkd"``.
    kind : {"clip_bkd", "exposed", "natural", "random_label"}, default="random_label"
        ``"natural"``: records of the data as they are.

        ``"random_label"``: records of the data with another label, each of the other classes alike.
        A model can only memorize it.

        ``"exposed"``: the records whose labels a model finds hardest to predict when it has not
        seen them, the hardest first. What a model cannot infer from other records it has to learn
        from the record itself.

        ``"clip_bkd"``: new records in directions in which the data hardly vary, with the least
        likely labels (Jagielski et al.), see Notes.
    estimator : classifier with ``predict_proba``, default=None
        Model for ``"exposed"``. If None, a logistic regression on standardized features is used.
    cv : int or splitter, default=None
        Folds in which ``"exposed"`` leaves records out. If None, 5 folds.
    norm : float, default=None
        Euclidean norm of the records of ``"clip_bkd"``. If None, the median norm of the rows of X.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of records and labels. ``"exposed"`` and ``"clip_bkd"`` are deterministic.

    Returns
    -------
    canaries : Canaries
        ``(X, y, rows)``. The ``rows`` of ``"clip_bkd"`` are empty because its records are new.

    Raises
    ------
    ValueError
        If there are fewer records, features or classes than the kind needs, or when
        ``estimator``, ``cv`` or ``norm`` is given with a kind that does not take it.

    See Also
    --------
    EpsilonAudit, OneRunAudit : Audits that train with and without canaries.
    make_gradient_canaries : Gradients, for auditors who see each step of a training.
    skmia.defenses.mislabel : Wrong labels for Records.

    Notes
    -----
    A record of ``"clip_bkd"`` is :math:`m v`, where :math:`v` is the direction of the smallest
    variance of X, of length 1, and :math:`m` a norm as other records have. No other record moves
    the model along :math:`v`, so that the gradient of this one is seen even where each gradient is
    clipped. Further canaries take the directions of the next smallest variances. The sign of a
    direction is arbitrary; its largest entry is made positive. Where several directions have the
    same variance, such as pixels that never change, the choice among them is arbitrary as well. The
    label is the least likely one according to a logistic regression on X.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmia.epsilon import make_canaries
    >>> X, y = load_iris(return_X_y=True)
    >>> canaries = make_canaries(X, y, 3, kind="random_label", random_state=0)
    >>> bool((canaries.y != y[canaries.rows]).all())
    True
    >>> sorted(make_canaries(X, y, 3, kind="exposed").rows.tolist())
    [70, 106, 133]
    >>> make_canaries(X - X.mean(axis=0), y, kind="clip_bkd").X.round(1)
    array([[ 0.7, -0.7, -1. ,  1.6]])
    """
    check_option(kind, "kind", KINDS)
    settings = {"estimator": estimator, "cv": cv, "norm": norm}
    refuse_foreign("kind", kind, _OWNERS, settings)
    X, y = check_matrix_and_labels(X, y)
    most, what = (X.shape[1], "features") if kind == "clip_bkd" else (len(X), "records")
    allowed = f"an integer from 1 to {most}, the number of {what}"
    check_number(n_canaries, "n_canaries", allowed, 1, most, whole=True)
    if kind == "exposed":
        rows = _rank_exposed(X, y, estimator, 5 if cv is None else cv)[:n_canaries]
        return Canaries(X[rows], y[rows], rows)
    if kind == "clip_bkd":
        return Canaries(*_make_clip_bkd(X, y, n_canaries, norm), np.empty(0, dtype=np.intp))
    classes, codes = np.unique(y, return_inverse=True)
    if kind == "random_label" and len(classes) < 2:
        raise ValueError("Wrong labels need two classes or more; got 1 class.")
    rng = check_random_state(random_state)
    rows = rng.permutation(len(X))[:n_canaries]
    if kind == "natural":
        return Canaries(X[rows], y[rows], rows)
    other = codes[rows] + rng.randint(1, len(classes), size=n_canaries)
    return Canaries(X[rows], classes[other % len(classes)], rows)


def _rank_exposed(X, y, estimator, cv):
    """All records, those first whose labels are hardest to predict when they are left out."""
    if estimator is None:
        estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    codes = np.unique(y, return_inverse=True)[1]
    proba = cross_val_predict(clone_to_train(estimator), X, y, cv=cv, method="predict_proba")
    return np.argsort(proba[np.arange(len(X)), codes], kind="stable")


def _make_clip_bkd(X, y, n_canaries, norm):
    """Records in the directions of least variance, and their least likely labels."""
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
    return made, labels
