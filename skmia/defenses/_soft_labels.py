"""Training on soft labels from models that were not trained on the record."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from joblib import Memory
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from .._core.copies import copy_unfitted
from .._core.numbers import to_array
from .._core.randomness import isolated_randomness, seed_estimator, spawn_seeds
from .._core.routing import route_weights
from .._core.sample_weights import name_parameter
from .._core.sklearn import (
    Interval,
    InvalidParameterError,
    StrOptions,
    at_least,
    refuse_frozen_models,
)
from .._core.types import ArrayLike, Seed
from .._core.validation import call_given
from .._training.job import warn_once
from ._cross_fit import (
    OF_SUB_MODELS,
    CrossFitDefense,
    check_numbers_of_models,
    draw_for,
    stack_left_out,
    train_left_out,
)
from ._meta import (
    DefendedEstimator,
    SoftTargetDefense,
    TargetRows,
    can_continue_on_targets,
    check_labeled,
    check_rows,
    check_takes_targets,
    continue_on_targets,
    one_hot,
    weigh_rows,
)
from .soft_targets import SPREADS, move_to_labels, soften_values


class LabelSmoothingDefense(SoftTargetDefense):
    """Classifier trained on labels that give an equal share to all classes.

    Label smoothing limits the confidence of a classifier, also on its training rows. It is a common
    regularizer, and a baseline for defenses that choose a soft label for each record.

    Parameters
    ----------
    estimator : classifier
        Classifier whose ``fit`` takes ``sample_weight``, or a skorch net with
        ``criterion=CrossEntropyLoss``. Alone or as the last step of a Pipeline.
    smoothing : float, default=0.1
        Share in [0, 1] that is divided among all C classes: the target is ``1 - smoothing`` for
        the label, and ``smoothing / C`` is added to every class.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the soft labels.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SoftLabelDefense : Classifier that softens the labels with which other models disagree.

    Notes
    -----
    Known limitation: the predictions for all training rows are pulled towards the same target,
    which an attack with shadow models trained in the same way can recognize, and smoothed labels
    were found to help model inversion attacks. See :class:`SoftLabelDefense` for how classifiers
    with ``sample_weight`` are trained, and for options that count copies of rows.

    References
    ----------
    Szegedy, C., Vanhoucke, V., Ioffe, S., Shlens, J. and Wojna, Z. (2016). Rethinking the Inception
    architecture for computer vision. CVPR.

    Struppek, L., Hintersdorf, D. and Kersting, K. (2024). Be careful what you smooth for: label
    smoothing can be a privacy shield but also a catalyst for model inversion attacks. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.defenses import LabelSmoothingDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> LabelSmoothingDefense(tree, smoothing=0.3).fit(X, y).predict_proba(X[:1])
    array([[0.8, 0.1, 0.1]])
    """

    _parameter_constraints = {
        **SoftTargetDefense._parameter_constraints,
        "smoothing": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, estimator: BaseEstimator, *, smoothing: float = 0.1) -> None:
        self.estimator = estimator
        self.smoothing = smoothing

    def _fit_targets(self, data):
        classes = np.unique(data.y)
        targets = self._smooth(data.y, classes)
        self.estimator_ = data.fit(copy_unfitted(self.estimator), targets, classes)

    def _smooth(self, y, classes):
        return (1 - self.smoothing) * one_hot(y, classes) + self.smoothing / len(classes)

    _routed = ("fit", "partial_fit")
    __metadata_request__partial_fit = {"classes": UNUSED, "sample_weight": UNUSED}

    @available_if(can_continue_on_targets)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the classifier further on the smoothed labels of these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that any call has; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the loss of each row, as in `fit`.
        **fit_params : dict
            With metadata routing enabled, sample weights under the name by which the estimator
            requests them.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If the first call has no ``classes``, or if a label is not among them.
        """
        check_takes_targets(self.estimator, type(self).__name__)
        weights = route_weights(self, sample_weight, fit_params, "partial_fit")
        data = check_labeled(X, y, weights)
        known = "estimator_" in vars(self)
        classes = self._read_all_classes(classes, data.y)
        model = self.estimator_ if known else copy_unfitted(self.estimator)
        targets = self._smooth(data.y, classes)
        self.estimator_ = continue_on_targets(model, data, targets, classes)
        self.classes_ = classes
        return self

    def _read_all_classes(self, classes, y):
        """Return the labels of all calls of partial_fit, as the first one gave them."""
        if classes is None:
            if not hasattr(self, "classes_"):
                raise ValueError("classes must be passed on the first call to partial_fit.")
            classes = self.classes_
        classes = np.unique(to_array(classes, "classes"))
        known = getattr(self, "classes_", classes)
        if not np.array_equal(classes, known):
            raise ValueError(
                f"classes must be those of the first call, {known.tolist()}; got "
                f"{classes.tolist()}."
            )
        foreign = np.setdiff1d(y, classes)
        if len(foreign):
            raise ValueError(
                f"y must hold labels of classes, {classes.tolist()}; got {foreign.tolist()[0]!r}."
            )
        return classes


class SoftLabelDefense(CrossFitDefense):
    r"""Classifier trained on soft labels between out-of-sample predictions and the label.

    Sub-models are trained on parts of the rows, such that each row is left out of some of them. The
    mean of the predictions of these sub-models for the row does not depend on its label. The soft
    label is this mean, moved towards the label by ``alpha`` standard deviations of the predictions.
    The classifier is trained on the soft labels, so it can memorize only these predictions, and
    with a larger ``alpha`` more of the label.

    With a smaller ``alpha``, less remains of labels that no other model would predict: wrong
    labels, and rare correct labels.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, and a ``fit`` that takes ``sample_weight``; or a skorch net with
        ``criterion=CrossEntropyLoss``. Alone or as the last step of a Pipeline.
    alpha : float or callable, default=0.0
        Number of standard deviations, 0 or more. With 0, the soft label is the mean prediction,
        with ``inf`` the label. A callable takes X and y, without rows of weight 0, and returns a
        number for each row.
    n_estimators : int, default=10
        Number of sub-models in each round.
    n_left_out : int or "auto", default="auto"
        Number of sub-models that each row is left out of, at least 2. ``"auto"`` is 5, or half of
        the sub-models if there are not more.
    spread : {"label", "direction", "coordinate"}, default="label"
        Quantity whose standard deviation (divisor ``n_left_out``) is used: the probability of the
        label; the projection of the prediction on the line from the mean to the label; or the
        probability of each class separately, after which the soft label is clipped and normalized.
    n_iterations : int, default=1
        Number of rounds. From the second round on, the sub-models are trained on the soft labels of
        the previous round, so they contain less of the labels of other rows. This does not
        necessarily help: classifiers that memorize their targets may become easier to attack.
    store_targets : bool, default=False
        Whether to keep the soft labels as ``targets_``.
    memory : str, object with the joblib.Memory interface or None, default=None
        Folder that stores the predictions of sub-models, so that a search over ``alpha`` trains
        them once in each fold. Also set ``random_state``. The predictions are private: do not share
        the folder.
    n_jobs : int, default=None
        Sub-models trained in parallel; nets and perceptrons that one program trains together are
        not divided. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are left out, and the seeds of the sub-models and the classifier.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the soft labels.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    targets_ : ndarray of shape (n_samples, n_classes) or None
        Soft labels, with ``store_targets=True``; without rows of weight 0. They reveal what the
        defense hides: do not publish them.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SELENADefense : Classifier trained on the means, with more sub-models.
    LabelSmoothingDefense : Classifier that softens all labels equally, without sub-models.

    Notes
    -----
    With answers :math:`P_1, ..., P_K` of the K sub-models that a row is left out of, their mean
    :math:`\mu` and the one-hot label :math:`e_y`, the soft label is :math:`\mu + t(e_y - \mu)` with
    :math:`t = \min(1, \alpha \, sd(P_{\cdot y}) / (1 - \mu_y))`, where sd has the divisor K. The
    slides say "standard deviations towards the label" without saying of what; here, the probability
    of the label rises by ``alpha`` of its own standard deviations. If all K sub-models agree, t is
    0 for every finite ``alpha``.

    Equal rows with equal labels are left out together. The label of a row still affects the soft
    labels of others, and a classifier that memorizes its targets predicts differently for rows
    without targets. The defense has no guarantee: evaluate it with shadow models that are trained
    with it, and on the most exposed rows, such as mislabeled ones.

    Classifiers with ``sample_weight`` get a copy of each row for each class, weighted by the soft
    label. If the loss is a sum over rows, this is the cross-entropy with the soft labels. Options
    that count rows then count copies: ``class_weight="balanced"``, the least size of a leaf,
    bootstrap samples, mini-batches, rows held back for early stopping or calibration. A net is
    trained on the soft labels directly; its ``valid_acc`` is then measured against their most
    probable class. Transformers before the classifier in a Pipeline are fitted once, on plain rows
    and labels.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.defenses import SoftLabelDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> y[:10] = 2  # wrong
    >>> defended = SoftLabelDefense(LogisticRegression(max_iter=500), alpha=1.0, random_state=0)
    >>> defended.fit(X, y).predict(X[:10])
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """

    _usual_left_out = 5, 2
    _parameter_constraints = {
        **CrossFitDefense._parameter_constraints,
        "alpha": [Interval(Real, 0, np.inf, closed="both"), callable],
        "n_left_out": [at_least(2), StrOptions({"auto"})],
        "spread": [StrOptions(set(SPREADS))],
        "n_iterations": [at_least(1)],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        alpha: float | Callable[..., Any] = 0.0,
        n_estimators: int = 10,
        n_left_out: int | Literal["auto"] = "auto",
        spread: Literal["label", "direction", "coordinate"] = "label",
        n_iterations: int = 1,
        store_targets: bool = False,
        memory: str | Memory | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.n_left_out = n_left_out
        self.spread = spread
        self.n_iterations = n_iterations
        self.store_targets = store_targets
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _combine(self, proba, codes, data):
        return move_to_labels(proba, codes, self._compute_alpha(data), self.spread)

    def _compute_alpha(self, data):
        if not callable(self.alpha):
            return self.alpha
        alpha = call_given(self.alpha, "alpha", "f(X, y)", data.X, data.y)
        alpha = to_array(alpha, "What alpha(X, y) returns", "hold numbers", np.float64)
        if alpha.shape != data.y.shape or not (alpha >= 0).all():
            raise ValueError(
                f"alpha(X, y) must return {len(data.y)} numbers of 0 or more, one for each row; "
                f"got {alpha!r:.80}."
            )
        return alpha


class SoftRegressionDefense(RegressorMixin, DefendedEstimator):
    r"""Regressor trained on soft targets between out-of-sample predictions and the target.

    Sub-models are trained on parts of the rows, so that each row is left out of some of them. The
    mean of their predictions for the row does not depend on its target. From this mean, the soft
    target moves towards the target by ``alpha`` standard deviations of these predictions, and the
    regressor is trained on the soft targets.

    Parameters
    ----------
    estimator : regressor
        Cloned and trained.
    alpha : float, default=0.0
        Number of standard deviations, 0 or more. With 0 the soft target is the mean prediction,
        with ``inf`` the target.
    n_estimators : int, default=10
        Number of sub-models.
    n_left_out : int or "auto", default="auto"
        Number of sub-models that each row is left out of, at least 2. ``"auto"`` is 5, or half of
        the sub-models if there are not more.
    store_targets : bool, default=False
        Whether to keep the soft targets as ``targets_``.
    n_jobs : int, default=None
        Sub-models trained in parallel. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are left out, and the seeds of the sub-models and the regressor.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.

    Attributes
    ----------
    estimator_ : regressor
        Fitted on the soft targets.
    targets_ : ndarray of shape (n_samples,) or None
        Soft targets, with ``store_targets=True``. They reveal what the defense hides: do not
        publish them.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SoftLabelDefense : Classifier trained on soft labels.
    skmia.defenses.soft_targets.soften_values : The soft targets alone.

    Notes
    -----
    With predictions of the mean :math:`\mu` and the standard deviation s (divisor ``n_left_out``),
    the soft target is :math:`\mu + \min(1, \alpha s / |y - \mu|)(y - \mu)`, the formula of
    :class:`SoftLabelDefense` with the prediction instead of the probability of the label; the
    source is about classes. The limitations named there also apply here.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skmia.defenses import SoftRegressionDefense
    >>> X, y = load_diabetes(return_X_y=True)
    >>> defended = SoftRegressionDefense(DecisionTreeRegressor(), alpha=1.0, random_state=0)
    >>> defended.fit(X[:300], y[:300]).score(X[:300], y[:300]) < 0.9
    True
    """

    _usual_left_out = 5, 2
    _parameter_constraints: dict = {
        **DefendedEstimator._parameter_constraints,
        "alpha": [Interval(Real, 0, np.inf, closed="both")],
        **OF_SUB_MODELS,
        "n_left_out": [at_least(2), StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        alpha: float = 0.0,
        n_estimators: int = 10,
        n_left_out: int | Literal["auto"] = "auto",
        store_targets: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.n_left_out = n_left_out
        self.store_targets = store_targets
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    __metadata_request__fit = {"sample_weight": UNUSED}  # the estimator requests them

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Make the soft targets and fit the regressor on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for ``fit`` of sub-models and regressor; a row of weight 0 counts as absent.
            With metadata routing enabled, the estimator has to request them.
        **fit_params : dict
            With metadata routing enabled, sample weights under the name by which the estimator
            requests them.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        check_numbers_of_models(self)
        refuse_frozen_models(self.estimator, "The estimator of SoftRegressionDefense")
        data = _read_targets(X, y)
        weights = route_weights(self, sample_weight, fit_params)
        if weights is not None and name_parameter(self.estimator) is None:
            raise InvalidParameterError(
                f"fit of {type(self.estimator).__name__} takes no sample_weight; leave it out."
            )
        data = weigh_rows(data, weights)
        for_rows, for_models, for_estimator = spawn_seeds(self.random_state, 3)
        left_out = draw_for(self, data, for_rows, is_classification=False)
        left_out, answers, caught = train_left_out(
            copy_unfitted(self.estimator),
            data,
            left_out,
            for_models.spawn(self.n_estimators),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        warn_once(caught, self.n_estimators, "sub-models")
        predictions = stack_left_out(left_out, [_take_value_outputs(part) for part in answers])
        targets = soften_values(predictions, data.y, self.alpha)
        estimator = copy_unfitted(self.estimator)
        seed_estimator(estimator, for_estimator)
        with isolated_randomness(for_estimator):
            self.estimator_ = data._replace(y=targets).fit_labels(estimator)
        self.targets_ = targets if self.store_targets else None
        return self


def _read_targets(X, y):
    """Return the training rows of a regressor."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = to_array(y, "y", "hold numbers")
    if np.iscomplexobj(y):
        raise ValueError("Complex data not supported: y must hold real numbers.")
    y = column_or_1d(to_array(y, "y", "hold numbers", np.float64), warn=True)
    return TargetRows(check_rows(X, y), y, None)


def _take_value_outputs(outputs):
    if outputs.kind != "value":
        raise InvalidParameterError(
            "estimator must be a regressor that predicts one number for each row; its answers are "
            f"of kind {outputs.kind!r}."
        )
    return np.asarray(outputs.values, dtype=np.float64).reshape(len(outputs.values))
