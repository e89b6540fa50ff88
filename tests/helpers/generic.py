"""Estimators of any class, made in one way."""

import inspect

from sklearn.base import RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler


def make_generically(kind, settings):
    """An estimator with those settings that it has, around others where it needs them."""
    inner = Ridge() if issubclass(kind, RegressorMixin) else LogisticRegression()
    given = {
        "base_estimator": inner,
        "estimator": inner,
        "estimators": [("inner", inner)],
        "param_distributions": {"fit_intercept": [True]},
        "param_grid": {"fit_intercept": [True]},
        "steps": [("inner", inner)],
        "transformer_list": [("inner", StandardScaler())],
        "transformers": [("inner", StandardScaler(), [0, 1])],
    }
    parameters = inspect.signature(kind).parameters.values()
    required = [one.name for one in parameters if one.default is one.empty]
    required += ["estimator"] * (kind.__name__ == "SelfTrainingClassifier")  # its default fails
    estimator = kind(**{one: given[one] for one in required if one in given})
    names = set(estimator.get_params(deep=False)) & set(settings)
    return estimator.set_params(**{one: settings[one] for one in names})
