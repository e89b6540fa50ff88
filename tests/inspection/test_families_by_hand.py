"""Families of estimators and kinds of their arrays, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy import sparse
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, QuantileRegressor, Ridge, RidgeCV
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skmia.inspection import _families


class OwnQuantiles(QuantileRegressor):
    pass


class Fitted:
    def fit(self):
        """Learn nothing."""


def own(estimator, **attributes):
    vars(estimator).update(attributes)
    return estimator


def get_first_name(estimator):
    family = _families.get_family(estimator)
    return family and family.names.split()[0]


def has_slopes(estimator, **attributes):
    return _families._has_slopes(own(estimator, **attributes))


def get_owner(path, *paths, **estimators):
    """Return the path of the owner, where estimators are trees or what is given."""
    places = {
        one: NS(path=one, estimator=estimators.get(one or "root", DecisionTreeRegressor()))
        for one in paths
    }
    found = _families._get_owner(path, places)
    return found and found.path


def get_kind(path, kind="other", estimator=None, at=""):
    owner = None if estimator is None else NS(estimator=estimator, path=at)
    return _families._get_kind(NS(path=path, kind=kind), owner)


def mark(path="t.values", kind="leaf values", counts=(4, 1), at="t", estimator=None):
    owner = NS(estimator=DecisionTreeRegressor() if estimator is None else estimator)
    one = _families.OwnedArray(NS(path=path), kind, owner)
    arrays = {f"{at}.nodes['n_node_samples']": NS(array=array(counts))}
    return _families._mark_targets(one, arrays).kind


def list_owned(values, kind):
    stored = NS(path="a.b", kind=kind, array=values)
    found = _families.list_owned_arrays(NS(estimators=[], arrays=[stored]))
    return [(one.kind, one.owner, one.stored is stored) for one in found]


def make_frame(*arrays):
    owned = [
        _families.OwnedArray(NS(path=path, array=values), kind, None)
        for path, kind, values in arrays
    ]
    return _families.make_frame(owned).to_numpy().tolist()


def check_model(model, has_file=True):
    before, _families.has_file = _families.has_file, lambda model: has_file
    try:
        return tell_refusal(lambda: _families.check_fitted_model(model))
    finally:
        _families.has_file = before


BYTES = np.zeros(3, dtype=np.int8)

ROWS = [
    (lambda: has_slopes(QuantileRegressor(), coef_=array([0.0, 1.0])), True),
    (lambda: has_slopes(OwnQuantiles(), coef_=array([0.0, 1.0])), True),
    (lambda: has_slopes(QuantileRegressor(), coef_=array([0.0, 0.0])), False),
    (lambda: has_slopes(QuantileRegressor()), False),
    (lambda: has_slopes(Ridge(), coef_=array([0.0, 1.0])), False),
    (lambda: has_slopes(Ridge()), False),
    (lambda: _families._has_slopes(3), False),
    (lambda: get_first_name(own(QuantileRegressor(), coef_=array([1.0]))), "LinearModel"),
    (lambda: get_first_name(own(QuantileRegressor(), coef_=array([0.0]))), "QuantileRegressor"),
    (lambda: get_first_name(SimpleImputer()), "LinearModel"),
    (lambda: get_first_name(SimpleImputer(strategy="median")), "SimpleImputer"),
    (lambda: get_first_name(SimpleImputer(strategy="constant")), None),
    (lambda: get_first_name(OneHotEncoder()), "OneHotEncoder"),
    (lambda: get_first_name(OneHotEncoder(categories=[["a"]])), None),
    (lambda: get_first_name(3), None),
    (lambda: _families._was_given(OneHotEncoder(categories=[["a"]])), True),
    (lambda: _families._was_given(OneHotEncoder(categories="auto")), False),
    (lambda: _families._was_given(CountVectorizer()), False),
    (lambda: _families._was_given(CountVectorizer(vocabulary=["auto"])), True),
    (lambda: _families._was_given(SimpleImputer(strategy="most_frequent")), False),
    (lambda: _families._was_given(own(Ridge(), categories=[["a"]])), False),
    (lambda: _families._was_given(3), False),
    (lambda: _families.get_kinds(SimpleImputer()), {"statistics_": "summaries"}),
    (
        lambda: _families.get_kinds(SimpleImputer(strategy="constant")),
        {"categories_": "structure", "statistics_": "structure", "vocabulary_": "structure"},
    ),
    (lambda: _families.get_kinds(3), {}),
    (lambda: _families.get_kinds(LinearRegression()), {"outliers_": "per-record"}),
    (
        lambda: _families.get_kinds(RidgeCV()),
        {"outliers_": "per-record", "cv_results_": "per-record"},
    ),
    # The innermost one, or the outermost one of a family that covers what is inside
    (lambda: get_owner("a.b", "a", "a.c"), "a"),
    (lambda: get_owner("a[0].b.c", "a", "a[0]", a=3), "a[0]"),
    (lambda: get_owner("a[0].b.c", "a", "a[0]"), "a"),
    (lambda: get_owner("a[0].b.c", "a", "a[0]", a=BaggingRegressor()), "a[0]"),
    (lambda: get_owner("a[0].b.c", "a", "a[0]", **{"a[0]": 3, "a": 3}), "a[0]"),
    (lambda: get_owner("a.b", "", "a"), ""),
    (lambda: get_owner("a.b", "", "a", root=3), "a"),
    (lambda: get_owner("a.b", "a.b"), None),
    (lambda: get_owner("a.b"), None),
    (lambda: get_kind("a.coef_", "summaries"), "summaries"),
    (lambda: get_kind("a.statistics_", "values", SimpleImputer()), "summaries"),
    (lambda: get_kind("a.statistics_[0]", "values", SimpleImputer()), "summaries"),
    (lambda: get_kind("a.statistics_.keys()", "values", SimpleImputer()), "summaries"),
    (lambda: get_kind("statistics_", "labels", SimpleImputer()), "summaries"),
    (lambda: get_kind("a.statistics_", "labels", SimpleImputer(), "a"), "labels"),
    (lambda: get_kind("a.statistics_", "labels"), "labels"),
    (lambda: get_kind("a.other_", "values", SimpleImputer(), "a"), "values"),
    # Leaves of a single row
    (lambda: mark(), "targets"),
    (lambda: mark(kind="counts"), "counts"),
    (lambda: mark(counts=(4, 2)), "leaf values"),
    (lambda: mark(counts=(4, 0)), "leaf values"),
    (lambda: mark(at="other"), "leaf values"),
    (lambda: mark(path="t.values[0]"), "leaf values"),
    (lambda: mark(estimator=RandomForestClassifier()), "leaf values"),
    (lambda: mark(estimator=GradientBoostingRegressor()), "leaf values"),
    (lambda: list_owned(array([0, 0]), "values"), [("values", None, True)]),
    (lambda: list_owned(array([0, 0]), "counts"), []),
    (lambda: list_owned(array([0.0, 0.0]), "covers"), []),
    (lambda: list_owned(array([0, 1]), "counts"), [("counts", None, True)]),
    (lambda: list_owned(array([False]), "counts"), [("counts", None, True)]),
    (lambda: list_owned(array([0], dtype=np.uint8), "counts"), []),
    (lambda: list_owned(sparse.csr_array((1, 2)), "counts"), [("counts", None, True)]),
    (lambda: list_owned(array([1]), "labels"), []),
    (lambda: list_owned(array([1]), "names"), []),
    (lambda: list_owned(array([1]), "structure"), []),
    # Places
    (lambda: _families.is_inside("a.b", ""), True),
    (lambda: _families.is_inside("a.b", "a"), True),
    (lambda: _families.is_inside("a[0]", "a"), True),
    (lambda: _families.is_inside("ab", "a"), False),
    (lambda: _families.is_inside("a", "a"), False),
    (lambda: _families.generalize("a[12].b[3]"), "a[*].b[*]"),
    (lambda: _families.generalize("steps[1].transformers_[2]"), "steps[1].transformers_[2]"),
    (lambda: _families.generalize("transformer_list[1]"), "transformer_list[1]"),
    (lambda: _families.generalize("a['1']"), "a['1']"),
    (
        lambda: make_frame(
            ("a[0]", "counts", BYTES),
            ("a[1]", "counts", BYTES[:2]),
            ("b", "counts", np.zeros(2)),
            ("c[0]", "rows", BYTES),
            ("c[0]", "values", BYTES),
            ("d[0]", "other", BYTES),
            ("d[1]", "other", BYTES),
        ),
        [
            ["c[0]", "rows", 1, (3,), 3, 3],
            ["c[0]", "values", 1, (3,), 3, 3],
            ["b", "counts", 1, (2,), 2, 16],
            ["a[*]", "counts", 2, None, 5, 5],
            ["d[*]", "other", 2, (3,), 6, 6],
        ],
    ),
    (lambda: _families._measure_arrays([sparse.csr_array([[0.0, 2.0]])]), (1, (1, 2), 1, 8)),
    (lambda: _families.get_strongest([]), None),
    (lambda: _families.get_strongest(_families.LEVELS[::-1]) == _families.LEVELS[0], True),
    (lambda: check_model(own(Ridge(), coef_=array([1.0]))), None),
    (lambda: check_model(Ridge()), "model must be fitted; this Ridge is not."),
    (lambda: check_model(Fitted()), None),
    (lambda: check_model(3), "model must be a fitted estimator; got int."),
    (
        lambda: check_model(Fitted(), has_file=False),
        "An inspection reads the file of a model; Fitted has none.",
    ),
]


def test_answers_by_hand():
    expect_answers(ROWS)
