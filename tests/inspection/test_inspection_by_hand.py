"""Small functions of inspection at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import pandas as pd
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array, nan
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skmia.inspection import _families, _inspect, _reconstruct

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _families: [
        (lambda: _families._find_name(Ridge(), {"Ridge": 1}), "Ridge"),
        (lambda: _families._find_name(Ridge(), {"BaseEstimator": 1}), "BaseEstimator"),
        (lambda: _families._find_name(Ridge(), {"SVC": 1}), None),
        (lambda: _families._keeps_means(SimpleImputer()), True),
        (lambda: _families._keeps_means(SimpleImputer(strategy="median")), False),
        (lambda: _families._keeps_means(Ridge()), False),
        (lambda: _families.keeps_targets(DecisionTreeRegressor()), True),
        (lambda: _families.keeps_targets(LogisticRegression()), False),
        (lambda: _families.has_learned(Ridge()), False),
        (lambda: _families.has_learned(3), True),
        (lambda: _families.name_place("a", ["b"]), "b"),
        (lambda: _families.name_place("a", ["b", "c"]), "a"),
    ],
    _inspect: [
        (lambda: _inspect._as_count(3.0), 3),
        (lambda: _inspect._as_count(3.5), 0),
        (lambda: _inspect._as_count(0), 0),
        (lambda: _inspect._as_count(nan), 0),
        (lambda: _inspect._as_count("3"), 0),
        (lambda: _inspect._is_noted(3), True),
        (lambda: _inspect._is_noted(True), False),
        (lambda: bool(_inspect._is_noted(array([1]))), True),
        (lambda: bool(_inspect._is_noted(array([1.5]))), False),
        (
            lambda: _inspect._describe_pipeline(make_pipeline(SimpleImputer(), Ridge())),
            "Pipeline(SimpleImputer, Ridge)",
        ),
        (lambda: _inspect._describe_pipeline(Ridge()), "Ridge"),
    ],
    _reconstruct: [
        (
            lambda: [one.name for one in _reconstruct.name_columns(NS(n_features_in_=2))],
            ["x0", "x1"],
        ),
        (
            lambda: [
                one.name for one in _reconstruct.name_columns(NS(feature_names_in_=["b", "a"]))
            ],
            ["b", "a"],
        ),
        (lambda: [one.name for one in _reconstruct.name_columns(NS())], []),
        (lambda: _reconstruct.snap(array([1.2500001, 3.0]), 1e-4), [1.25, 3.0]),
        (lambda: _reconstruct.snap(array([1 / 3]), 1e-12), [0.333333333]),
        (lambda: _reconstruct._count_rounded_decimals(array([1.25, 3.0])), 2),
        (lambda: _reconstruct._count_rounded_decimals(array([1 / 3])), None),
        (
            lambda: _reconstruct.write_counts(
                pd.DataFrame(
                    {"exact": [1234, 1], "derived": [0, 2], "edge": [5, 3]}, index=["a", "b"]
                ),
                1,
            ),
            ["    exact  derived     edge  column", "    1,234        0        5  a", "1 more"],
        ),
        (
            lambda: _reconstruct.write_counts(
                pd.DataFrame({"exact": [1234], "derived": [0], "edge": [5]}, index=["a"]), 1
            ),
            ["    exact  derived     edge  column", "    1,234        0        5  a"],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import inspection

    found, n_compared = compare_defaults_of(inspection)
    assert not found
    assert n_compared >= 1
