"""Canaries: records and gradients that are inserted into a training to measure its leakage."""

import warnings
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._core.caches import clone_to_train
from .._core.gaussians import estimate_moments, make_moments
from .._core.linear_influence import refuse_infinite
from .._core.matrix import check_feature_matrix, check_matrix_and_labels
from .._core.metric_inputs import check_option, refuse_other_choice
from .._core.numbers import SMALLEST, check_count, check_number, to_array
from .._core.randomness import check_random_state, derive_random_state
from .._core.records import Records
from .._core.types import ArrayLike, Seed, Splitter
from .._core.validation import check_records
from ..leakage import MahalanobisLeakage
from ._result import noise_of_means

__all__ = ["make_canaries", "make_gradient_canaries", "mislabel", "trace_scores"]

KINDS = ("clip_bkd", "exposed", "natural", "random_label")
_OWNERS = {"estimator": "exposed", "cv": "exposed", "norm": "clip_bkd"}
_OVER_STEPS = {"sum": np.sum, "max": np.max}


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

        ``"random_label"``: records of the data with another label, drawn uniformly from the other
        classes. A model can only memorize it.

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
    mislabel : Wrong labels for Records.

    Notes
    -----
    A record of ``"clip_bkd"`` is :math:`m v`, where :math:`v` is the direction of the smallest
    variance of X, of length 1, its largest entry positive, and :math:`m` a norm as other records
    have. No other record moves the model along :math:`v`, so that the gradient of this one is seen
    even where each gradient is clipped. Further canaries take the directions of the next smallest
    variances; among equal ones the choice is arbitrary. The label is the least likely one according
    to a logistic regression on X.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmia.epsilon.canaries import make_canaries
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
    refuse_other_choice("kind", kind, _OWNERS, settings)
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
    rng = derive_random_state(random_state, "make_canaries")
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
    """Return records in the directions of least variance, and their least likely labels."""
    centered = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = centered.T @ centered
    refuse_infinite(spread)
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
    skmia.epsilon.one_run_epsilon_lower_bound : Bound of epsilon from the scores.

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
    >>> from skmia.epsilon.canaries import make_gradient_canaries, trace_scores
    >>> canaries = make_gradient_canaries(6, n_parameters=20, random_state=0).gradients
    >>> coins = np.array([1, 0, 1, 1, 0, 0])
    >>> noise = np.random.default_rng(0).normal(size=(50, 20))
    >>> steps = (coins @ canaries + noise) / 100
    >>> scores = trace_scores(steps, canaries, batch_size=100, noise_multiplier=1.0)
    >>> (scores > 0).astype(int)
    array([1, 0, 1, 1, 0, 0])
    """
    released = check_feature_matrix(noisy_gradients, input_name="noisy_gradients", dtype=np.float64)
    canaries = _as_gradient_steps(canaries, released, "canaries")
    check_option(aggregate, "aggregate", _OVER_STEPS)
    sample_rate = check_number(sample_rate, "sample_rate", "above 0 and at most 1", SMALLEST, 1)
    noise = noise_of_means(noise_multiplier, max_grad_norm, batch_size)
    if reference is not None:
        reference = _as_gradient_steps(reference, released, "reference")
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
    return _OVER_STEPS[aggregate](total, axis=0)


def _as_gradient_steps(gradients, released, name):
    """Return gradients in each step."""
    gradients = check_feature_matrix(
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


_GRADIENT_KINDS = ("dirac", "selected", "spread")
_OVER_SHADOWS = {"mean": np.mean, "max": np.max}
_GRADIENT_OWNERS = dict.fromkeys(
    ("gradients", "noise_multiplier", "batch_size", "reference", "aggregate"), "selected"
)


class GradientCanaries(NamedTuple):
    """Gradients that an audit adds to the steps of a private training.

    Attributes
    ----------
    gradients : ndarray of shape (n_canaries, n_parameters) or (n_steps, n_canaries, n_parameters)
        The same in all steps, or one set per step: what :func:`trace_scores` takes.
    rows : ndarray of int
        Candidates that they are gradients of; empty for ``"dirac"`` and ``"spread"``.
    """

    gradients: np.ndarray
    rows: np.ndarray


def mislabel(
    records: Records, n_canaries: int, *, random_state: Seed = None
) -> tuple[Records, np.ndarray]:
    """Give some records another label, as canaries that a classifier can only memorize.

    Parameters
    ----------
    records : Records of n records
        Labeled records.
    n_canaries : int
        Number of canaries.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of canaries and their labels.

    Returns
    -------
    records : Records of n records
        Records with wrong labels for the canaries.
    canaries : ndarray of shape (n,), dtype bool
        Marks the canaries.

    Examples
    --------
    >>> from skmia.datasets import load_sklearn
    >>> from skmia.epsilon.canaries import mislabel
    >>> records = load_sklearn("iris")
    >>> changed, canaries = mislabel(records, 10, random_state=0)
    >>> int(canaries.sum()), bool((changed.y[canaries] == records.y[canaries]).any())
    (10, False)
    """
    check_records(records)
    classes, label = np.unique(records.y, return_inverse=True)
    allowed = f"an integer from 1 to {len(records)}"
    check_number(n_canaries, "n_canaries", allowed, 1, len(records), whole=True)
    if len(classes) < 2:
        raise ValueError("The records need two classes for wrong labels; got 1 class.")
    rng = derive_random_state(random_state, "mislabel")
    canaries = np.zeros(len(records), dtype=bool)
    canaries[rng.choice(len(records), n_canaries, replace=False)] = True
    step = rng.randint(1, len(classes), size=n_canaries)
    label[canaries] = (label[canaries] + step) % len(classes)
    return Records(records.X, classes[label], **records.fields), canaries


def make_gradient_canaries(
    n_canaries: int,
    *,
    kind: Literal["dirac", "selected", "spread"] = "dirac",
    n_parameters: int | None = None,
    gradients: ArrayLike | None = None,
    max_grad_norm: float = 1.0,
    noise_multiplier: float | None = None,
    batch_size: int | None = None,
    reference: ArrayLike | None = None,
    aggregate: Literal["mean", "max"] | None = None,
    random_state: Seed = None,
) -> GradientCanaries:
    r"""Make gradients that are easy to detect in the noisy steps of a private training.

    Parameters
    ----------
    n_canaries : int
        Number of canaries: at most ``n_parameters`` for ``"dirac"`` and ``"spread"``, or the number
        of candidates for ``"selected"``.
    kind : {"dirac", "selected", "spread"}, default="dirac"
        ``"dirac"``: gradients of one entry each, all of them different (Nasr et al.). A private
        training that is being audited adds such a gradient to the sum of a step, like the gradient
        of a record. It has the largest norm that clipping allows, canaries do not overlap, and each
        shares one coordinate with the gradients of other records.

        ``"spread"``: orthogonal gradients of the same norm in random directions, over all entries.
        Other records disturb all of them equally, while they disturb some canaries of ``"dirac"``
        much more than others.

        ``"selected"``: of the gradients of records, those that leak most in noisy steps (Azize and
        Basu), see Notes.
    n_parameters : int, default=None
        Number of weights of the model, which ``"dirac"`` and ``"spread"`` need.
    gradients : array-like of shape (n_steps, n, n_parameters), default=None
        Clipped gradients of the candidates in each step, which ``"selected"`` needs.
    max_grad_norm : float, default=1.0
        Norm to which gradients are clipped.
    noise_multiplier : float, default=None
        For ``"selected"``, standard deviation of the noise on the sum of gradients, in units of
        ``max_grad_norm``. If None, 0.
    batch_size : int, default=None
        For ``"selected"``, number of rows per step. If None, 1.
    reference : array-like of shape (n_steps, n_reference, n_parameters), default=None
        For ``"selected"``, clipped gradients from which the moments are estimated. If None, the
        gradients of the candidates.
    aggregate : {"mean", "max"}, default=None
        For ``"selected"``, how the scores of steps are combined. If None, ``"mean"``.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of the coordinates of ``"dirac"`` and of the directions of ``"spread"``;
        ``"selected"`` is deterministic.

    Returns
    -------
    canaries : GradientCanaries
        ``(gradients, rows)``. Of ``"selected"`` the most leaking record comes first, and of equal
        records the first one.

    Raises
    ------
    ValueError
        If a parameter is out of range or missing, or given with a kind that does not take it.

    See Also
    --------
    trace_scores : Scores of canaries in the noisy gradients.
    skmia.defenses.DPSGDClassifier : Adds them to its steps as ``extra_gradients``.
    make_canaries : Canaries that are records.
    skmia.leakage.MahalanobisLeakage : Leakage score behind ``"selected"``.

    Notes
    -----
    In step :math:`t` the gradient :math:`g` of a record has the leakage score :math:`\|g -
    \mu_t\|^2` in the norm of :math:`(\Sigma_t + C)^{-1} / B`, with the moments of gradients in that
    step, the batch size :math:`B` and the noise :math:`C = \sigma^2 c^2 / B` of a row. The records
    with the largest mean over steps are selected. The body of the algorithm is missing in the
    printed source; this one follows its description, and the mean over steps is our choice.
    Covariances are taken as diagonal.

    References
    ----------
    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and Terzis,
    A. (2023). Tight auditing of differentially private machine learning. USENIX Security.

    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, algorithm 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon.canaries import make_gradient_canaries
    >>> made = make_gradient_canaries(2, n_parameters=4, max_grad_norm=0.5, random_state=0)
    >>> made.gradients
    array([[0. , 0. , 0.5, 0. ],
           [0. , 0. , 0. , 0.5]])
    >>> steps = np.random.default_rng(0).normal(size=(3, 50, 4))
    >>> steps[:, 17] *= 3
    >>> settings = {"noise_multiplier": 1.0, "batch_size": 10}
    >>> make_gradient_canaries(1, kind="selected", gradients=steps, **settings).rows
    array([17])
    """
    check_option(kind, "kind", _GRADIENT_KINDS)
    arguments = locals()
    given = {name: arguments[name] for name in ("n_parameters", *_GRADIENT_OWNERS)}
    owners = _GRADIENT_OWNERS | {"n_parameters": "dirac" if kind == "selected" else kind}
    refuse_other_choice("kind", kind, owners, given)
    needed = "gradients" if kind == "selected" else "n_parameters"
    if given[needed] is None:
        raise ValueError(f"kind={kind!r} needs {needed}; got None.")
    if kind != "selected":
        make = {"dirac": _make_dirac, "spread": _make_spread}[kind]
        check_count(n_parameters, "n_parameters")
        allowed = f"an integer from 1 to n_parameters, {n_parameters}"
        check_number(n_canaries, "n_canaries", allowed, 1, n_parameters, whole=True)
        check_number(max_grad_norm, "max_grad_norm", "finite and above 0", SMALLEST)
        directions = make(n_canaries, n_parameters, check_random_state(random_state))
        return GradientCanaries(max_grad_norm * directions, np.empty(0, dtype=np.intp))
    chosen = {name: value for name, value in given.items() if value is not None}
    return _select(n_canaries, max_grad_norm=max_grad_norm, **chosen)


def _make_dirac(n_canaries, n_parameters, rng):
    directions = np.zeros((n_canaries, n_parameters))
    columns = rng.permutation(n_parameters)[:n_canaries]
    directions[np.arange(n_canaries), columns] = 1
    return directions


def _make_spread(n_canaries, n_parameters, rng):
    """Return the rows of a uniformly random orthogonal matrix."""
    orthogonal, triangle = np.linalg.qr(rng.normal(size=(n_parameters, n_canaries)))
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)  # the signs of qr are not random
    return (orthogonal * signs).T


def _select(
    n_canaries,
    *,
    gradients,
    max_grad_norm,
    noise_multiplier=0.0,
    batch_size=1,
    reference=None,
    aggregate="mean",
):
    steps = check_feature_matrix(gradients, allow_nd=True, ensure_2d=False, input_name="gradients")
    if steps.ndim != 3:
        raise ValueError(
            f"gradients must have the shape (n_steps, n, n_parameters); got {steps.shape}."
        )
    check_option(aggregate, "aggregate", _OVER_SHADOWS)
    n = steps.shape[1]
    check_number(n_canaries, "n_canaries", f"an integer from 1 to {n}", 1, n, whole=True)
    noise = noise_of_means(noise_multiplier, max_grad_norm, batch_size)
    leakage = MahalanobisLeakage(covariance="diagonal", noise_scale=noise, n_samples=batch_size)
    moments = steps if reference is None else to_array(reference, "reference")
    scores = [leakage.fit(m).score_samples(g) for m, g in zip(moments, steps, strict=True)]
    rows = np.argsort(-_OVER_SHADOWS[aggregate](scores, axis=0), kind="stable")[:n_canaries]
    return GradientCanaries(steps[:, rows], rows)
