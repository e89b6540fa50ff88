"""Which models are classifiers and regressors, and what they answer."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia._core.kinds import get_estimator_type, is_classifier, is_regressor
from skmia._core.query import query_victim

X = np.array([[0.0], [1.0], [2.0]])


class Answers(BaseEstimator):
    def __init__(self, answers=(0, 1, 0)):
        self.answers = answers

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(self.answers)


class LateRegressor(Answers, RegressorMixin):
    pass


class LateClassifier(Answers, ClassifierMixin):
    classes_ = [0, 1]

    def predict_proba(self, X):
        return [[0.25, 0.75]] * len(X)


class LateClusters(Answers, ClusterMixin):
    pass


class OldRegressor(Answers):
    _estimator_type = "regressor"


INSIDE = [
    lambda model: model,
    lambda model: make_pipeline(StandardScaler(), model),
    FrozenEstimator,
    lambda model: GridSearchCV(model, {}),
]


@pytest.mark.parametrize("put", INSIDE)
@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        (LateRegressor(), (False, True)),
        (LateClassifier(), (True, False)),
        (OldRegressor(), (False, True)),
        (LateClusters(), (False, False)),
        (Answers(), (False, False)),
    ],
)
def test_a_class_whose_mixin_comes_last_is_of_its_kind(put, model, kinds):
    assert (is_classifier(put(model)), is_regressor(put(model))) == kinds


def test_transformers_are_not_of_the_kind_of_a_model_in_them():
    selector = SelectFromModel(LogisticRegression())
    for model in (selector, make_pipeline(StandardScaler(), selector), RandomTreesEmbedding()):
        assert get_estimator_type(model) is None


def test_a_regressor_whose_mixin_comes_last_answers_with_numbers():
    assert query_victim(LateRegressor((1, 2, 4)).fit(X), X).kind == "value"


def test_lists_are_the_classes_and_probabilities_of_one_output():
    outputs = query_victim(LateClassifier().fit(X), X)
    assert outputs.kind == "proba" and outputs.classes.tolist() == [0, 1]
    assert outputs.values.tolist() == [[0.25, 0.75]] * 3


def test_groups_of_a_class_whose_mixin_comes_last_are_no_labels():
    with pytest.raises(TypeError, match="LateClusters is a clusterer"):
        query_victim(LateClusters().fit(X), X)


def test_numbers_of_a_model_without_a_kind_are_no_labels():
    with pytest.raises(ValueError, match=r"Derive its class from sklearn.base.RegressorMixin and"):
        query_victim(Answers((0.5, 1, 2)).fit(X), X)
    assert query_victim(Answers((0.0, 1, 2)).fit(X), X).kind == "label"
