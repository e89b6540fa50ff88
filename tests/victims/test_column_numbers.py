"""What fitted models remember of their columns: scales, and the thresholds of trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia.victims import list_column_numbers

N = 60
rng = np.random.default_rng(0)
Y = np.arange(N) % 2
# Column b tells the labels, with nothing between 10 and 20; a does not, and k is a category.
B = np.where(Y, 20, 0) + rng.integers(1, 11, N)
A = rng.permutation(N) / 100
X = pd.DataFrame({"a": A, "b": B.astype(float)})
WITH_K = X.assign(k=pd.Categorical(rng.choice([*"xyz"], N)))
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


def xgboost(**settings):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=3, max_depth=1, n_jobs=1, **settings)


def lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"num_leaves": 2, "min_child_samples": 1, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMClassifier(n_estimators=3, **settings)


def catboost():
    catboost = pytest.importorskip("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(iterations=3, depth=1, random_seed=0, **quiet)


def histograms(**settings):
    return HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=2, min_samples_leaf=5, early_stopping=False, **settings
    )


@pytest.mark.parametrize(
    ("make", "table", "n"),
    [
        (lambda: STUMP, X, 1),
        (lambda: RandomForestClassifier(3, max_depth=1, max_features=2, random_state=0), X, 3),
        (lambda: BaggingClassifier(STUMP, 3, random_state=0), X, 3),
        (lambda: AdaBoostClassifier(STUMP, n_estimators=3), X, 1),  # which has no errors
        (lambda: GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0), X, 3),
        (histograms, X, 3),
        (lambda: histograms(categorical_features="from_dtype"), WITH_K, 3),
        (xgboost, X, 3),
        (lambda: xgboost(enable_categorical=True), WITH_K, 3),
        (lightgbm, X, 3),
        (lightgbm, WITH_K, 3),
        (catboost, X, 3),
    ],
)
def test_thresholds_are_listed_by_their_column(make, table, n):
    model = make().fit(table, Y)
    scales, (found,) = list_column_numbers(model, table)
    assert scales == []
    assert found.column == "'b'" and found.source == type(model).__name__
    assert len(found.thresholds) == n and found.n_passed == 0
    assert np.all((found.thresholds > 5) & (found.thresholds < 25))
    np.testing.assert_array_equal(found.values, B)


def test_several_trees_of_several_classes_and_columns_of_their_own():
    labels = np.where(B > 25, 2, Y)
    boosted = GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0)
    (found,) = list_column_numbers(boosted.fit(X[["b"]], labels), X[["b"]])[1]
    assert len(found.thresholds) == 2 * 3
    bag = BaggingClassifier(STUMP, 6, max_features=1, random_state=0).fit(X, Y)
    one, two = list_column_numbers(bag, X)[1]
    assert (one.column, two.column) == ("'a'", "'b'")
    assert len(one.thresholds) + len(two.thresholds) == 6
    assert np.all(one.thresholds < 1) and np.all(two.thresholds > 1)
    np.testing.assert_array_equal(one.values, A)
    isolated = IsolationForest(n_estimators=2, random_state=0).fit(X)
    assert [one.column for one in list_column_numbers(isolated, X)[1]] == ["'a'", "'b'"]


@pytest.mark.parametrize(
    ("make", "column"),
    [
        # A split into missing values and others, or of a category, is at no number.
        (histograms, np.where(Y, B, np.nan)),
        (catboost, np.where(Y, 7.0, np.nan)),
        (lightgbm, pd.Categorical(np.where(Y, "x", "y"))),
        (lambda: xgboost(enable_categorical=True), pd.Categorical(np.where(Y, "x", "y"))),
        (
            lambda: histograms(categorical_features="from_dtype"),
            pd.Categorical(np.where(Y, "x", "y")),
        ),
        # LightGBM has a number of its own for zeros and others.
        (lightgbm, np.where(Y, B, 0.0)),
        # These are no trees.
        (lambda: LogisticRegression(), B),
        (lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=2), B),
    ],
)
def test_splits_that_are_at_no_number_are_left_out(make, column):
    table = pd.DataFrame({"b": column})
    splits = list_column_numbers(make().fit(table, Y), table)[1]
    assert not any(len(one.thresholds) for one in splits)


def test_scales_are_listed_by_their_column_and_missing_values_are_left_out():
    table = X.assign(c=3.0)
    table.loc[4, "a"] = np.nan
    model = make_pipeline(StandardScaler(), MinMaxScaler(), histograms()).fit(table, Y)
    records = table.iloc[:10].replace(B[0], np.inf)
    scales, splits = list_column_numbers(model, table.iloc[:10])
    assert [(one.column, one.source, one.n_passed) for one in scales] == [
        ("'a'", "StandardScaler", 0),
        ("'b'", "StandardScaler", 0),
        ("number 1", "MinMaxScaler", 1),
        ("number 2", "MinMaxScaler", 1),
    ]
    np.testing.assert_allclose(
        [(one.center, one.spread) for one in scales[:2]],
        [(np.nanmean(table.a), np.nanstd(table.a)), (B.mean(), B.std())],
    )
    np.testing.assert_array_equal(scales[0].values, np.delete(A[:10], 4))
    np.testing.assert_array_equal(scales[1].values, B[:10])
    scaled = (B - B.mean()) / B.std()
    np.testing.assert_allclose(scales[3].values, scaled[:10])
    np.testing.assert_allclose(
        (scales[3].center, scales[3].spread),
        ((scaled.max() + scaled.min()) / 2, (scaled.max() - scaled.min()) / 2),
    )
    (found,) = splits
    assert (found.column, found.n_passed) == ("number 2", 2)
    np.testing.assert_allclose(found.values, (B[:10] - B.min()) / (B.max() - B.min()))
    # A table of another width is not compared, and infinite values are none.
    assert list_column_numbers(model, table[["a", "b"]]) == ([], [])
    of_infinite = list_column_numbers(StandardScaler().fit(table), records)[0]
    np.testing.assert_array_equal(of_infinite[1].values, B[:10][B[:10] != B[0]])


@pytest.mark.parametrize(("n", "is_told"), [(19, False), (20, True)])
def test_stored_rows_tell_a_scale_if_there_are_enough(n, is_told):
    model = KNeighborsClassifier().fit(X[:n], Y[:n])
    scales = list_column_numbers(model, X)[0]
    assert [one.column for one in scales] == ["'a'", "'b'"] * is_told
    if is_told:
        assert (scales[1].center, scales[1].spread) == pytest.approx((B[:n].mean(), B[:n].std()))
    # Whole numbers may be codes.
    model = KNeighborsClassifier().fit(B[:, None], Y)
    assert list_column_numbers(model, B[:, None]) == ([], [])


def test_parts_that_cannot_be_read_are_left_out():
    broken, whole = (DecisionTreeClassifier(max_depth=1, random_state=k) for k in (1, 2))
    voters = VotingClassifier([("broken", broken), ("whole", whole)]).fit(X, Y)
    voters.estimators_[0].tree_ = "none"
    assert len(list_column_numbers(voters, X)[1]) == 1
    # The predictions by which a stack is fitted are not in the file.
    stack = StackingClassifier([("a", STUMP)], STUMP, cv=2).fit(X, Y)
    assert [one.column for one in list_column_numbers(stack, X)[1]] == ["'b'"]
