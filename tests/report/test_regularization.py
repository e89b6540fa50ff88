"""What to do next is advice for the kind of the model."""

import inspect
import re

import pytest
from sklearn.utils import all_estimators

from skmia.report._regularization import _OTHERS, advise_by_kind

WORDS = {
    "DecisionTreeClassifier": "leaves",
    "ExtraTreeRegressor": "leaves",
    "RandomForestClassifier": "leaves",
    "ExtraTreesClassifier": "leaves",
    "GradientBoostingClassifier": "shallower trees",
    "HistGradientBoostingRegressor": "shallower trees",
    "XGBClassifier": "shallower trees",
    "LGBMRegressor": "shallower trees",
    "CatBoostClassifier": "shallower trees",
    "LogisticRegression": "stronger penalty",
    "Ridge": "stronger penalty",
    "SGDClassifier": "stronger penalty",
    "LinearSVC": "smaller C",
    "SVC": "smaller C",
    "KNeighborsClassifier": "More neighbors",
    "MLPClassifier": "Weight decay",
    "NeuralNetClassifier": "Weight decay",
    "GaussianNB": "smoothing",
    "GaussianProcessRegressor": "noise level",
    "GaussianProcessClassifier": "smoother kernel",
    "QuadraticDiscriminantAnalysis": "Shrinkage",
}


@pytest.mark.parametrize(("name", "words"), WORDS.items())
def test_each_kind_has_its_own_advice(name, words):
    assert words in advise_by_kind(name)


def test_leaves_are_for_models_with_leaves():
    for kind in ("classifier", "regressor"):
        for name, _ in all_estimators(type_filter=kind):
            has_leaves = any(word in name for word in ("Tree", "Forest", "Voting", "Stacking"))
            has_leaves |= "Bagging" in name
            assert has_leaves or "leaves" not in advise_by_kind(name), name


def test_parameters_that_are_named_are_those_of_the_model():
    n_named = 0
    for kind in ("classifier", "regressor"):
        for name, estimator in all_estimators(type_filter=kind):
            known = set(inspect.signature(estimator).parameters)
            for named in re.findall(r"\((.*?)\)", advise_by_kind(name)):
                assert known & set(re.findall(r"\w+", named)), (name, named)
                n_named += 1
    assert n_named > 20


def test_a_model_of_an_unknown_kind():
    assert advise_by_kind("MyModel") == _OTHERS
