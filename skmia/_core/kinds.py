"""Whether a model is a classifier or a regressor, and of several outputs."""

import numpy as np
import sklearn.base
from sklearn.base import (
    ClassifierMixin,
    ClusterMixin,
    DensityMixin,
    OutlierMixin,
    RegressorMixin,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

_MIXINS = {
    "classifier": ClassifierMixin,
    "regressor": RegressorMixin,
    "clusterer": ClusterMixin,
    "outlier_detector": OutlierMixin,
    "density_estimator": DensityMixin,
}


def is_classifier(model):
    """Return whether a model is a classifier, like the function of scikit-learn."""
    return sklearn.base.is_classifier(model) or get_estimator_type(model) == "classifier"


def is_regressor(model):
    """Return whether a model is a regressor, like the function of scikit-learn."""
    return sklearn.base.is_regressor(model) or get_estimator_type(model) == "regressor"


def get_estimator_type(model):
    """Return the type of an estimator by its tags, or without one by its attribute or mixin.

    scikit-learn does not know the type of a class that derives from BaseEstimator before its mixin.
    """
    kind = get_tags(model).estimator_type or getattr(model, "_estimator_type", None)
    kind = kind or next((one for one, mixin in _MIXINS.items() if isinstance(model, mixin)), None)
    if kind is not None:
        return kind
    inner = getattr(model, "estimator", None)
    if isinstance(model, Pipeline):
        inner = model.steps[-1][1] if model.steps else None
    is_model = hasattr(model, "predict")  # a selector of columns has an estimator, and is no model
    return get_estimator_type(inner) if is_model and hasattr(inner, "__sklearn_tags__") else None


def has_classes_of_several(model):
    """Return whether a fitted classifier lists the labels of several outputs."""
    classes = getattr(model, "classes_", None)
    return isinstance(classes, list) and any(map(np.ndim, classes))
