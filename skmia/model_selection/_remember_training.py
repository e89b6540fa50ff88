"""Estimators that keep the fingerprints of the rows that they were trained on."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from .._core.containers import as_rows
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.hashing import hash_records
from .._core.records import as_labels
from .._core.routing import make_router, route_params
from .._core.sample_weights import find_given_weights
from .._core.sklearn import HasMethods, refuse_frozen_models
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Rows

# They fit the estimator, and not on rows that would be remembered.
_NOT_DELEGATED = frozenset({"estimator", "estimator_", "fit_predict", "fit_transform"})


class RememberTraining(TransactionMixin, CopiesParameters, MetaEstimatorMixin, BaseEstimator):
    """Estimator that remembers which rows it was trained on, by their fingerprints.

    A search or a cross-validation hands a scorer the rows of the test fold and no others. A
    :func:`make_leakage_scorer` finds out whether a model was trained on all other records. If it
    was trained on a part of them, as in learning curves, successive halving, ``ShuffleSplit`` with
    a ``train_size`` and ``TimeSeriesSplit``, the estimator must remember which records these are.

    Everything but training is delegated: after ``fit``, all methods and attributes are those of
    ``estimator_``. Wrap a whole :class:`~sklearn.pipeline.Pipeline`, or its last step if the other
    steps transform each row of the training set as they transform it later.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to train. A search names its parameters ``estimator__<name>``.

    Attributes
    ----------
    estimator_ : estimator
        Fitted estimator.
    training_rows_ : ndarray of shape (n_different_rows,), dtype uint64
        Sorted fingerprints of the training rows with their labels, equal to those of
        :class:`~skmia.Records`. Rows with a sample weight of 0 are left out. If rows have several
        labels each, which records cannot have, the fingerprints are those of X alone.

    See Also
    --------
    make_leakage_scorer : Scorer that reads the fingerprints.

    Notes
    -----
    Anyone who has a record and the fingerprints can tell whether the record was in the training
    set. Release ``estimator_``, and not the estimator around it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import learning_curve
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.model_selection import RememberTraining, make_leakage_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = RememberTraining(DecisionTreeClassifier(max_depth=8, random_state=0))
    >>> len(tree.fit(X[:100], y[:100]).training_rows_)
    100
    >>> scorer = make_leakage_scorer(Records(X, y))
    >>> settings = {"scoring": scorer, "train_sizes": [0.1, 1.0], "cv": 3}
    >>> sizes, _, scores = learning_curve(tree, X, y, **settings)
    >>> bool((scores.mean(axis=1) < -0.1).all())
    True
    """

    _parameter_constraints: dict = {"estimator": [HasMethods(["fit", "predict"])]}

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: Rows, y: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the estimator and remember its training rows.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or torch tensor of n_samples rows
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels or targets.
        **fit_params : dict
            Passed to ``fit`` of the estimator.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        model, routed = copy_unfitted(self.estimator), route_params(self, "fit", fit_params)
        rows = _list_trained_rows(model, "fit", X, y, routed)
        self.estimator_ = model.fit(X, y, **routed)
        self.training_rows_ = rows
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(self, X: Rows, y: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Train the estimator further and remember these rows, too.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or torch tensor of n_samples rows
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels or targets.
        **fit_params : dict
            Passed to ``partial_fit`` of the estimator, such as ``classes``.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        known = "estimator_" in vars(self)
        model = self.estimator_ if known else copy_unfitted(self.estimator)
        routed = route_params(self, "partial_fit", fit_params)
        rows = _list_trained_rows(model, "partial_fit", X, y, routed)
        self.estimator_ = model.partial_fit(X, y, **routed)
        self.training_rows_ = np.union1d(self.training_rows_, rows) if known else rows
        return self

    def __getattr__(self, name):
        if name.startswith("_") or name in _NOT_DELEGATED:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return getattr(vars(self).get("estimator_", self.estimator), name)

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: all of it goes to the estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        return make_router(self, self.estimator, ("fit", "partial_fit", "predict", "score"))

    def __sklearn_tags__(self):
        return deepcopy(get_tags(self.estimator))


def _list_trained_rows(model, method, X, y, fit_params):
    """Return the fingerprints of the rows that a method of the model trains on, sorted."""
    refuse_frozen_models(model, "The estimator of RememberTraining")
    try:
        rows = as_rows(X)
        labels = None if y is None or issparse(y) else as_labels(y, rows.shape[0])
        fingerprint = hash_records(rows, labels)
    except (TypeError, ValueError):
        # What the estimator refuses as well, it names in its own words.
        getattr(model, method)(X, y, **fit_params)
        raise
    weights = find_given_weights(model, fit_params)
    if weights is not None and np.shape(weights) == fingerprint.shape:
        fingerprint = fingerprint[np.asarray(weights) != 0]
    return np.unique(fingerprint)
