"""Models that remember their training rows, and the leakage that is scored by it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_validate,
    learning_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.model_selection import RememberTraining, make_leakage_scorer

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]
RECORDS = Records(X, Y)
TREE = DecisionTreeClassifier(random_state=0)
REMEMBERING = RememberTraining(TREE)
SCORER = make_leakage_scorer(RECORDS)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=0),
        pytest.param(DecisionTreeRegressor(random_state=0), marks=pytest.mark.slow),
        pytest.param(make_pipeline(StandardScaler(), LogisticRegression()), marks=pytest.mark.slow),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_scikit_learn(estimator):
    check_estimator(RememberTraining(estimator), on_skip=None)


def test_it_is_the_model_that_it_wraps():
    model = clone(REMEMBERING).fit(X[:300], Y[:300])
    alone = clone(TREE).fit(X[:300], Y[:300])
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.score(X, Y) == alone.score(X, Y)
    assert model.get_depth() == alone.get_depth()
    assert is_classifier(REMEMBERING) and is_regressor(RememberTraining(DecisionTreeRegressor()))
    with pytest.raises(NotFittedError):
        clone(REMEMBERING).predict(X)
    with pytest.raises(AttributeError, match="decision_function"):
        REMEMBERING.decision_function(X)
    rows = pickle.loads(pickle.dumps(model)).training_rows_
    np.testing.assert_array_equal(rows, np.unique(RECORDS[:300].fingerprint))


def test_rows_that_cannot_be_remembered_are_refused_though_the_model_takes_them():
    class Deaf(ClassifierMixin, BaseEstimator):
        def fit(self, X, y=None):
            if X == "rows":
                raise TypeError(f"no {X} of {y}")
            return self

        def predict(self, X):
            return np.zeros(len(X))

    model = RememberTraining(Deaf())
    with pytest.raises(TypeError, match="^no rows of labels$"):  # in the words of the estimator
        model.fit("rows", "labels")
    with pytest.raises(TypeError, match="X must be an array, .* got dict"):
        model.fit({"a": [1, 2]}, [0, 1])
    with pytest.raises(ValueError, match="X has 2 records and y has 1 labels"):
        model.fit([[1], [2]], [0])
    assert not hasattr(model, "training_rows_")
    frozen = RememberTraining(FrozenEstimator(clone(TREE).fit(X, Y)))  # of other rows
    with pytest.raises(ValueError, match="is trained from the beginning; a FrozenEstimator in it"):
        frozen.fit(X[:9], Y[:9])


def test_rows_are_those_of_the_last_fit_and_of_each_partial_fit():
    model = RememberTraining(GaussianNB()).fit(X[:100], Y[:100]).fit(X[100:200], Y[100:200])
    np.testing.assert_array_equal(model.training_rows_, np.unique(RECORDS[100:200].fingerprint))
    model.partial_fit(X[300:400], Y[300:400])
    seen = np.r_[100:200, 300:400]
    np.testing.assert_array_equal(model.training_rows_, np.unique(RECORDS[seen].fingerprint))
    assert not hasattr(REMEMBERING, "partial_fit")


@pytest.mark.parametrize("routing", [False, True])
def test_rows_without_weight_were_not_trained_on(routing):
    weights = (np.arange(600) < 450).astype(float)
    with config_context(enable_metadata_routing=routing):
        tree = clone(TREE).set_fit_request(sample_weight=True) if routing else TREE
        search = GridSearchCV(RememberTraining(tree), {"estimator__max_depth": [2]}, cv=2)
        model = search.fit(X, Y, sample_weight=weights).best_estimator_
    np.testing.assert_array_equal(model.training_rows_, np.unique(RECORDS[:450].fingerprint))


@pytest.mark.parametrize(
    "model, name",
    [
        (make_pipeline(StandardScaler(), TREE), "decisiontreeclassifier__sample_weight"),
        (Pipeline([("in", Pipeline([("tree", TREE)]))]), "in__tree__sample_weight"),
        (
            GridSearchCV(Pipeline([("tree", TREE)]), {"tree__max_depth": [2]}, cv=2),
            "tree__sample_weight",
        ),
    ],
)
def test_weights_of_a_step_are_those_of_the_model(model, name):
    weights = (np.arange(600) < 450).astype(float)
    fitted = RememberTraining(model).fit(X, Y, **{name: weights})
    np.testing.assert_array_equal(fitted.training_rows_, np.unique(RECORDS[:450].fingerprint))
    of_scaler = {"standardscaler__sample_weight": weights}
    if name.startswith("decision"):
        assert len(RememberTraining(model).fit(X, Y, **of_scaler).training_rows_) == 600


def score_by_hand(train, test):
    """Minus the advantage among the records of a split."""
    victim = FrozenEstimator(clone(TREE).fit(X[train], Y[train]))
    records = RECORDS[np.r_[train, test]]
    return (
        -ThresholdAttack(victim).fit(records).score(records, np.arange(len(records)) < len(train))
    )


@pytest.mark.parametrize(
    "folds",
    [KFold(3), ShuffleSplit(3, train_size=0.1, test_size=0.3, random_state=0), TimeSeriesSplit(3)],
    ids=lambda folds: type(folds).__name__,
)
def test_members_are_what_the_model_was_trained_on(folds):
    expected = [score_by_hand(train, test) for train, test in folds.split(X)]
    got = cross_validate(REMEMBERING, X, Y, cv=folds, scoring=SCORER, error_score="raise")
    np.testing.assert_allclose(got["test_score"], expected)


@pytest.mark.parametrize("incremental", [False, True])
def test_points_of_a_learning_curve_have_their_own_members(incremental):
    folds = KFold(3, shuffle=True, random_state=0)
    model = RememberTraining(GaussianNB()) if incremental else REMEMBERING
    settings = {"train_sizes": [0.1, 0.5, 1.0], "error_score": "raise"}
    settings["exploit_incremental_learning"] = incremental
    sizes, train_scores, scores = learning_curve(model, X, Y, cv=folds, scoring=SCORER, **settings)
    assert np.isfinite(train_scores).all()
    if not incremental:
        for fold, (train, test) in enumerate(folds.split(X)):
            expected = [score_by_hand(train[:size], test) for size in sizes]
            np.testing.assert_allclose(scores[:, fold], expected)
    else:  # the fewer the records, the more naive Bayes overfits
        assert (np.diff(scores.mean(axis=1)) > 0).all()


def test_halving_measures_what_a_plain_search_measures():
    search = HalvingGridSearchCV(
        REMEMBERING,
        {"estimator__max_depth": [2, None]},
        scoring=SCORER,
        cv=KFold(3, shuffle=True, random_state=0),
        min_resources=300,
        random_state=0,
        error_score="raise",
    ).fit(X, Y)
    deep = [depth is None for depth in search.cv_results_["param_estimator__max_depth"]]
    assert (search.cv_results_["mean_test_score"][deep] < -0.2).all()
    assert search.best_params_ == {"estimator__max_depth": 2}


@pytest.mark.parametrize("kind", ["frame", "sparse", "float32"])
def test_tables_of_any_kind_are_recognized(kind):
    table = {
        "frame": lambda: pd.DataFrame(X).assign(kind=np.where(X[:, 20] > 3, "a", "b")),
        "sparse": lambda: sparse.csr_matrix(X),
        "float32": lambda: X.astype(np.float32),
    }[kind]()
    labels = pd.Series(Y) if kind == "frame" else Y
    model = RememberTraining(make_pipeline(PickNumbers(), TREE))
    scorer = make_leakage_scorer(Records(table, labels))
    got = cross_validate(model, table, labels, cv=KFold(3), scoring=scorer, error_score="raise")
    expected = cross_validate(REMEMBERING, X, Y, cv=KFold(3), scoring=SCORER)
    np.testing.assert_allclose(got["test_score"], expected["test_score"])


class PickNumbers(MaxAbsScaler):
    """Leaves numbers as they are, and drops other columns."""

    def fit(self, X, y=None):
        self.scale_ = np.ones(1)
        return self

    def transform(self, X):
        return X.drop(columns="kind").to_numpy() if isinstance(X, pd.DataFrame) else X


def test_last_step_of_a_pipeline_may_remember():
    inside = make_pipeline(MaxAbsScaler(), REMEMBERING)
    around = RememberTraining(make_pipeline(MaxAbsScaler(), TREE))
    settings = {"cv": KFold(3), "scoring": SCORER, "error_score": "raise"}
    scores = [cross_validate(one, X, Y, **settings)["test_score"] for one in (inside, around)]
    np.testing.assert_array_equal(*scores)
    # What fit_transform gives differs from transform in the last digits.
    message = r"are not among .*, and wrap the whole Pipeline in Rem"
    with pytest.raises(RuntimeError, match=message):
        cross_validate(make_pipeline(PCA(30), REMEMBERING), X, Y, **settings)


def test_a_search_within_a_search_remembers():
    inner = GridSearchCV(REMEMBERING, {"estimator__max_depth": [3]}, cv=2)
    got = cross_validate(inner, X, Y, cv=KFold(3), scoring=SCORER, error_score="raise")
    shallow = RememberTraining(clone(TREE).set_params(max_depth=3))
    expected = cross_validate(shallow, X, Y, cv=KFold(3), scoring=SCORER)
    np.testing.assert_array_equal(got["test_score"], expected["test_score"])


def test_people_of_left_out_records_are_no_non_members_of_a_training_score():
    person = np.arange(600) // 3
    scorer = make_leakage_scorer(RECORDS.with_fields(group_by=person))
    folds = list(GroupKFold(3).split(X, Y, person))
    settings = {"scoring": scorer, "train_sizes": [100], "error_score": "raise"}
    _, train_scores, scores = learning_curve(REMEMBERING, X, Y, cv=folds, **settings)
    assert (scores < 0).all() and (train_scores < 0).all()


def test_rows_of_several_labels_are_remembered_with_them():
    both = np.column_stack([Y, Y > 4])
    model = clone(REMEMBERING).fit(X, both)
    np.testing.assert_array_equal(model.training_rows_, np.unique(Records(X, both).fingerprint))
    marked = sparse.csr_matrix(both)
    model = RememberTraining(KNeighborsClassifier()).fit(X, marked)
    np.testing.assert_array_equal(model.training_rows_, np.unique(Records(X).fingerprint))


def test_rows_are_listed_before_the_model_can_change_them():
    class Careless(SGDClassifier):
        def fit(self, X, y):
            fitted = super().fit(X, y)
            X *= 2
            return fitted

    data = X[:100].copy()
    model = RememberTraining(Careless(random_state=0)).fit(data, Y[:100])
    np.testing.assert_array_equal(model.training_rows_, np.unique(RECORDS[:100].fingerprint))
