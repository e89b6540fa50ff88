"""Base class of classifiers that make one output of the several of another classifier."""

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.asking import unwrap
from .._core.containers import as_rows
from .._core.numbers import to_array
from .._core.sample_weights import fit_weighted, name_parameter
from .._core.sklearn import HasMethods, validate_params_of


class OutputsBase(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Base class of classifiers around a multi-output or multi-label classifier.

    The classifier in ``estimator`` may be fitted, or is cloned and trained by ``fit``. A subclass
    says which labels it is trained on with ``_choose_labels``, which also sets ``_is_alone``:
    whether there is a single output.
    """

    _parameter_constraints: dict = {"estimator": [HasMethods(["fit", "predict"])]}

    _is_alone = False

    def _train(self, X, y, sample_weight):
        """Train a clone of the estimator, and return the labels that it was trained on."""
        validate_params_of(self)
        as_rows(X)  # the estimator gets X itself
        y, model = to_array(y, "y"), clone(unwrap(self.estimator))
        if sample_weight is not None and name_parameter(model) is None:
            raise ValueError(f"fit of {type(model).__name__} takes no sample_weight.")
        y = self._choose_labels(y, model)
        with with_advice(model, X):
            self.estimator_ = fit_weighted(model, X, y, sample_weight)
        return y

    @property
    def _model(self):
        return getattr(self, "estimator_", self.estimator)

    def __sklearn_is_fitted__(self):
        try:
            check_is_fitted(unwrap(self._model))
        except NotFittedError:
            return False
        return True

    @property
    def n_features_in_(self) -> int:
        return self._model.n_features_in_

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = own.input_tags, own.classifier_tags
        tags.non_deterministic = own.non_deterministic
        return tags


def has(name):
    """Whether the model of such a classifier has a method."""
    return lambda self: hasattr(self._model, name)
