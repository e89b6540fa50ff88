"""Leakage of training records, from one fit."""

from typing import Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from .._core.advice import with_advice
from .._core.records import Records
from .._core.sklearn import HasMethods, StrOptions, validate_params_of
from ._left_out import leave_out


class LeaveOneOutLeakage(MetaEstimatorMixin, BaseEstimator):
    r"""Leakage of each training record: how much better the model fits it than without it.

    For some models, the prediction for a training record by a model that was trained on all others
    follows from one fit. The difference is what membership adds to the signal that attacks compare,
    so it says which records are exposed, without shadow models and in seconds.

    Parameters
    ----------
    estimator : estimator
        Forest or bagging ensemble with bootstrap, k-nearest neighbors, LinearDiscriminantAnalysis,
        GaussianProcessRegressor, LinearRegression, Ridge or LogisticRegression, or a Pipeline that
        ends in one. A model that is fitted to the same rows in the same order stays as it is in a
        :class:`~sklearn.frozen.FrozenEstimator`.
    scale : {"phi", "p"}, default="phi"
        Scale of the signals. ``"p"`` is the probability of the label, for a regressor minus the
        absolute residual in units of y. ``"phi"`` is the log odds of the label, for a regressor
        minus the log of the absolute residual, which :class:`skmia.attacks.LiRA` compares. They
        rank records differently.

    Attributes
    ----------
    leakage_ : ndarray of shape (n,)
        Signal with the record in the training set, minus the signal without it. NaN where none is
        known: a record that is in the sample of every member of an ensemble, or the only one of its
        class.
    signal_in_, signal_out_ : ndarray of shape (n,)
        The two signals; higher means that the model fits the record better.
    method_ : {"leave-one-out", "one Newton step", "out-of-bag votes"}
        How the record was left out. Leave-one-out is exact. A step of Newton's method from the
        optimum is nearly exact where no record has a large leverage. Out-of-bag votes come from the
        members whose sample the record is not in, which are about a third.
    estimator_ : estimator
        Fitted model.
    n_features_in_ : int
        Number of features, if ``estimator_`` has that attribute.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if ``estimator_`` has that attribute.

    Raises
    ------
    TypeError
        If no such formula is known for this kind of model.
    ValueError
        If it does not hold with the settings of this model.

    See Also
    --------
    skmia.attacks.AnalyticLiRA : Attack on linear models from one fit to all records.
    skmia.disparity.DisparityTest : Compares the leakage of groups.

    Notes
    -----
    The steps of a Pipeline before the model, and hyper-parameters that were chosen on the training
    records, are taken as they are: they do not change when a record is left out.

    With leverages :math:`h` and residuals :math:`e`, the residual without the record is
    :math:`e / (1 - h)` for least squares and ridge regression, and
    :math:`[K^{-1} y]_i / [K^{-1}]_{ii}` for a Gaussian process with covariance K, noise included.
    The votes of a forest of T trees have log odds of at most those of 1 - 1 / (2 T), and of k
    neighbors those of 1 - 1 / (2 k).

    If only the order of the records matters, minus ``signal_out_`` at scale ``"p"`` is a strong
    alternative for forests and neighbors, since a record that others predict poorly leaves the most
    to learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.leakage import LeaveOneOutLeakage
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> leakage = LeaveOneOutLeakage(forest, scale="p").fit(X, y)
    >>> leakage.method_
    'out-of-bag votes'
    >>> leakage.leakage_.argsort()[::-1][:2]  # the most exposed flowers
    array([70, 77])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "scale": [StrOptions({"phi", "p"})],
    }

    def __init__(self, estimator: BaseEstimator, *, scale: Literal["phi", "p"] = "phi") -> None:
        self.estimator = estimator
        self.scale = scale

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model and leave out each of its records.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training records, in the form that the estimator takes.
        y : array-like of shape (n,)
            Labels or targets.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        records = Records(X, y)
        model = clone(self.estimator)
        with with_advice(model, records.X):
            self.estimator_ = model.fit(records.X, records.y)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        sides, self.method_ = leave_out(self.estimator_, records.X, records.y)
        self.signal_in_, self.signal_out_ = getattr(sides, self.scale)
        self.leakage_ = self.signal_in_ - self.signal_out_
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        return tags
