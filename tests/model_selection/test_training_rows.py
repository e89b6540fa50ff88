"""The leakage scorer on models that do not remember their rows: a right number or a reason."""

import weakref

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RANSACRegressor,
    SGDClassifier,
)
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.attacks.white_box import GradientAttack
from skmia.defenses import RoundingDefense
from skmia.model_selection import (
    RememberTraining,
    _find_training,
    best_below_leakage,
    make_leakage_scorer,
)
from skmia.victims import iter_leaves

X, Y = load_digits(return_X_y=True)
X, Y = X[:150], Y[:150]
RECORDS = Records(X, Y)
SCORER = make_leakage_scorer(RECORDS)
TREE = DecisionTreeClassifier(random_state=0)
LOGISTIC = LogisticRegression(C=0.01, tol=0.05, max_iter=1000)
CURE = r"^The leakage was not measured: make_leakage_scorer cannot know which records .*: {}.*\. "
CURE += (
    r"Search over RememberTraining\(\w+\(\.\.\.\)\), whose parameters are named estimator__<name>"
)


DETERMINISTIC = [
    TREE,
    LOGISTIC,
    GaussianNB(),
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    RandomForestClassifier(5, random_state=0),
    RandomForestClassifier(5, max_samples=0.5, random_state=0),
    RoundingDefense(TREE),
    GridSearchCV(TREE, {"max_depth": [2, 5]}, cv=2),
]
SLOW = [
    CalibratedClassifierCV(TREE, cv=2),
    StackingClassifier([("tree", TREE), ("bayes", GaussianNB())], LOGISTIC, cv=2),
]


FOLDS = {"three": KFold(3), "two": KFold(2), "listed": RepeatedKFold(n_splits=3, n_repeats=1)}


# Each model in three folds, and a model of each kind in others.
@pytest.mark.parametrize(
    "folds, model",
    [
        *(pytest.param("three", one, id=f"three-{type(one).__name__}") for one in DETERMINISTIC),
        *(
            pytest.param("three", one, id=f"three-{type(one).__name__}", marks=pytest.mark.slow)
            for one in SLOW
        ),
        *(
            pytest.param(
                folds,
                one,
                id=f"{folds}-{type(one).__name__}",
                marks=[pytest.mark.slow] * (folds == "two"),
            )
            for folds in ("two", "listed")
            for one in (TREE, LOGISTIC)
        ),
    ],
)
def test_leakage_is_that_of_a_model_that_remembers(model, folds):
    folds = FOLDS[folds]
    if isinstance(folds, RepeatedKFold):
        folds = list(folds.split(X))
    settings = {"cv": folds, "scoring": SCORER, "return_train_score": True}
    alone, remembering = (
        cross_validate(one, X, Y, **settings) for one in (model, RememberTraining(model))
    )
    for name in ("test_score", "train_score"):
        np.testing.assert_array_equal(alone[name], remembering[name])


RANDOM = [
    DecisionTreeClassifier(),
    ExtraTreesClassifier(5),
    RandomForestClassifier(5, max_samples=0.5),
    MLPClassifier((4,), max_iter=3),
    MLPClassifier((4,), max_iter=3, early_stopping=True),
    pytest.param(
        HistGradientBoostingClassifier(max_iter=2, early_stopping=True), marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize("model", RANDOM, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "folds",
    [
        KFold(3),
        pytest.param(ShuffleSplit(2, test_size=0.3, random_state=0), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_random_models_are_known_by_the_number_of_their_rows(model, folds):
    folds = list(folds.split(X))
    settings = {
        "cv": folds,
        "scoring": SCORER,
        "return_train_score": True,
        "return_estimator": True,
    }
    found = cross_validate(model, X, Y, **settings)
    for k, (train, _) in enumerate(folds):
        attack = ThresholdAttack(FrozenEstimator(found["estimator"][k])).fit(RECORDS)
        membership = np.isin(np.arange(len(X)), train)
        assert (
            found["test_score"][k] == found["train_score"][k] == -attack.score(RECORDS, membership)
        )


@pytest.mark.parametrize("kind", ["frame", "float32", "texts"])
def test_records_of_any_kind_train_a_clone(kind):
    table = {"frame": pd.DataFrame(X), "float32": X.astype(np.float32), "texts": X}[kind]
    labels = np.array(list("abcdefghij"))[Y] if kind == "texts" else Y
    scorer = make_leakage_scorer(Records(table, labels))
    scores = [
        cross_val_score(one, table, labels, cv=3, scoring=scorer)
        for one in (LOGISTIC, RememberTraining(LOGISTIC))
    ]
    np.testing.assert_array_equal(*scores)


def test_regressors_are_known():
    table, target = (one[:120] for one in load_diabetes(return_X_y=True))
    scorer = make_leakage_scorer(Records(table, target))
    model = LinearRegression()
    scores = [
        cross_val_score(one, table, target, cv=4, scoring=scorer)
        for one in (model, RememberTraining(model))
    ]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(
        RuntimeError, match=CURE.format("a clone .* with random_state=None, predicts otherwise")
    ):
        cross_val_score(RANSACRegressor(), table, target, cv=4, scoring=scorer)


def test_searches_choose_as_with_models_that_remember():
    grid, wrapped = {"min_samples_leaf": [1, 5, 20]}, {"estimator__min_samples_leaf": [1, 5, 20]}
    scoring = {"accuracy": "accuracy", "leakage": SCORER}
    settings = {"scoring": scoring, "refit": best_below_leakage(0.2), "cv": 3}
    plain = GridSearchCV(TREE, grid, **settings).fit(X, Y)
    known = GridSearchCV(RememberTraining(TREE), wrapped, **settings).fit(X, Y)
    assert plain.best_index_ == known.best_index_
    for name in ("mean_test_leakage", "rank_test_leakage"):
        np.testing.assert_array_equal(*(one.cv_results_[name] for one in (plain, known)))
    drawn = RandomizedSearchCV(TREE, grid, n_iter=2, scoring=SCORER, cv=3, random_state=0)
    assert np.isfinite(drawn.fit(X, Y).best_score_)


def test_curves_over_settings_and_attacks_with_shadow_models_are_measured():
    _, scores = validation_curve(
        TREE, X, Y, param_name="min_samples_leaf", param_range=[1, 20], cv=3, scoring=SCORER
    )
    assert np.isfinite(scores).all()
    attack = LiRA(shadows=ShadowPool(n_estimators=4, random_state=0))
    scorer = make_leakage_scorer(RECORDS, attack=attack, metric="auc")
    assert (cross_val_score(TREE, X, Y, cv=2, scoring=scorer) < -0.5).all()


def test_people_are_kept_together():
    person = np.arange(len(X)) // 5
    scorer = make_leakage_scorer(RECORDS.with_fields(group_by=person))
    settings = {"groups": person, "scoring": scorer}
    assert np.isfinite(cross_val_score(TREE, X, Y, cv=GroupKFold(3), **settings)).all()
    with pytest.raises(RuntimeError, match="The folds divide the records of .* such as GroupKFold"):
        cross_val_score(TREE, X, Y, cv=KFold(3, shuffle=True, random_state=0), scoring=scorer)


def test_equal_records_in_both_folds_are_members():
    twice = Records(np.repeat(X[:100], 2, axis=0), np.repeat(Y[:100], 2))
    folds = [(np.r_[1:201:2][:75], np.r_[0:200:4]), (np.r_[0:150], np.r_[150:200])]
    scorer = make_leakage_scorer(twice)
    # The first fold leaves records out. The second has both copies of each record on one side.
    with pytest.raises(RuntimeError, match="it states 75 training rows, and a clone states 150"):
        cross_val_score(TREE, twice.X, twice.y, cv=folds[:1], scoring=scorer)
    cut = [(np.r_[0:149], np.r_[149:200])]  # both copies of one record are divided
    for split in (folds[1:], cut):
        scores = [
            cross_val_score(one, twice.X, twice.y, cv=split, scoring=scorer)
            for one in (TREE, RememberTraining(TREE))
        ]
        np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    "scoring", [SCORER, {"accuracy": "accuracy", "leakage": SCORER}], ids=["alone", "beside"]
)
@pytest.mark.parametrize("error_score", slow_but([np.nan, 0, "raise"], np.nan))
@pytest.mark.parametrize("model", [TREE, LOGISTIC], ids=["states", "states nothing"])
def test_training_on_a_part_ends_in_the_cure(model, scoring, error_score):
    reason = {
        TREE: r"it states \d+ training rows, and a clone states \d+ that is trained on the \d+ re",
        LOGISTIC: r"a clone that is trained on the \d+ records outside of the scored fold, .* o",
    }[model]
    some = ShuffleSplit(2, train_size=0.3, test_size=0.3, random_state=0)
    for folds in (TimeSeriesSplit(3), some):
        with pytest.raises(RuntimeError, match=CURE.format(reason)):
            cross_validate(model, X, Y, cv=folds, scoring=scoring, error_score=error_score)
        with pytest.raises(RuntimeError, match=CURE.format(reason)):
            GridSearchCV(
                model, {}, cv=folds, scoring=scoring, error_score=error_score, refit=False
            ).fit(X, Y)


def test_learning_curves_and_halving_end_in_the_cure():
    for model in (TREE, LOGISTIC, GaussianNB()):
        with pytest.raises(RuntimeError, match=CURE.format("")):
            learning_curve(model, X, Y, cv=3, scoring=SCORER, train_sizes=[0.5, 1.0])
    incremental = {"exploit_incremental_learning": True, "train_sizes": [0.5, 1.0]}
    with pytest.raises(RuntimeError, match=CURE.format("it states 50 ")):
        learning_curve(GaussianNB(), X, Y, cv=3, scoring=SCORER, **incremental)
    # As many records as the test fold has, which are others.
    with pytest.raises(RuntimeError, match=CURE.format("it states 50 ")):
        learning_curve(DecisionTreeClassifier(), X, Y, cv=3, scoring=SCORER, train_sizes=[0.5])
    halving = HalvingGridSearchCV(
        TREE, {"min_samples_leaf": [1, 20]}, scoring=SCORER, min_resources=50, cv=2
    )
    with pytest.raises(RuntimeError, match=CURE.format("it states 25 ")):
        halving.fit(X, Y)
    trees = HalvingGridSearchCV(
        RandomForestClassifier(random_state=0),
        {"min_samples_leaf": [1, 20]},
        resource="n_estimators",
        min_resources=2,
        max_resources=4,
        scoring=SCORER,
        cv=3,
    )
    assert trees.fit(X, Y).best_params_["min_samples_leaf"] == 20


class Licensed(GaussianNB):
    """A model that states no number of rows, and that trains so many times."""

    n_fits = 0

    def fit(self, X, y):
        Licensed.n_fits -= 1
        if Licensed.n_fits < 0:
            raise RuntimeError("no license\nfor this")
        super().fit(X, y)
        self.class_count_ = np.ones(10)
        return self


def test_a_clone_that_cannot_be_trained_ends_in_the_cure(monkeypatch):
    monkeypatch.setattr(Licensed, "n_fits", 1)
    model = Licensed().fit(X[:100], Y[:100])
    reason = "a clone of it cannot be trained \\(no license for this\\)"
    with pytest.raises(ValueError, match=f"trained on: {reason}\\. Search over"):
        float(SCORER(model, X[100:], Y[100:]))


def test_a_clone_on_the_scored_fold_is_tried_if_the_other_one_cannot_be_trained(monkeypatch):
    fit = DecisionTreeClassifier.fit

    def refuse_many(self, X, y):
        if len(X) > 50:
            raise ValueError("too many rows")
        return fit(self, X, y)

    class Small(DecisionTreeClassifier):
        fit = refuse_many

    model = Small(random_state=0).fit(X[100:], Y[100:])
    score = float(SCORER(model, X[100:], Y[100:]))
    assert score == float(SCORER(RememberTraining(TREE).fit(X[100:], Y[100:]), X[100:], Y[100:]))


def test_a_model_whose_state_cannot_be_read_is_known_by_its_predictions(monkeypatch):
    def refuse(model):
        raise RuntimeError("a part of it is not here")

    monkeypatch.setattr(_find_training, "count_stated_rows", refuse)
    scores = [
        cross_val_score(one, X, Y, cv=2, scoring=SCORER) for one in (TREE, RememberTraining(TREE))
    ]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(RuntimeError, match=CURE.format("a clone .* predicts otherwise")):
        cross_val_score(DecisionTreeClassifier(max_features=1), X, Y, cv=2, scoring=SCORER)


def test_two_folds_of_random_models_end_in_the_cure():
    reason = "a clone .* without further parameters of fit and with random_state=None, predicts"
    with pytest.raises(RuntimeError, match=CURE.format(reason)):
        cross_val_score(RandomForestClassifier(5), X, Y, cv=2, scoring=SCORER)


def test_models_that_no_fold_trains_end_in_the_cure():
    fitted = clone(TREE).fit(X[:100], Y[:100])
    for model in (FrozenEstimator(fitted), CalibratedClassifierCV(FrozenEstimator(fitted))):
        with pytest.raises(
            RuntimeError, match=CURE.format("it is in a FrozenEstimator, which no fold")
        ):
            cross_val_score(model, X, Y, cv=3, scoring=SCORER)


@pytest.mark.filterwarnings("ignore:.*does not support sample_weight")
def test_weights_are_not_forgotten():
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    for scoring in (SCORER, {"accuracy": "accuracy", "leakage": SCORER}):
        name = "mean_test_score" if scoring is SCORER else "mean_test_leakage"
        found = [
            GridSearchCV(one, {}, cv=3, scoring=scoring, refit=False).fit(
                X, Y, sample_weight=weights
            )
            for one in (TREE, RememberTraining(TREE))
        ]
        np.testing.assert_array_equal(*(one.cv_results_[name] for one in found))
        assert (
            found[0].cv_results_[name] != cross_val_score(TREE, X, Y, cv=3, scoring=SCORER).mean()
        )
    with config_context(enable_metadata_routing=True):
        routed = clone(LOGISTIC).set_fit_request(sample_weight=True)
        with pytest.raises(
            RuntimeError, match=CURE.format("a clone .* without further parameters of fit")
        ):
            cross_validate(routed, X, Y, cv=3, scoring=SCORER, params={"sample_weight": weights})
        found = cross_validate(
            RememberTraining(routed), X, Y, cv=3, scoring=SCORER, params={"sample_weight": weights}
        )
    assert (found["test_score"] < 0).all()


@pytest.mark.parametrize("scoring", [SCORER, {"accuracy": "accuracy", "leakage": SCORER}])
@pytest.mark.filterwarnings("ignore:.*does not support sample_weight")
def test_weights_of_0_end_in_the_cure(scoring):
    search = GridSearchCV(TREE, {}, cv=2, scoring=scoring, refit=False)
    reason = "rows with a sample weight of 0 are not trained on"
    with pytest.raises(RuntimeError, match=CURE.format(reason)):
        search.fit(X, Y, sample_weight=np.arange(len(X)) % 7)


def test_a_model_that_remembers_is_measured_after_its_fit():
    with pytest.raises(NotFittedError, match="This RememberTraining instance is not fitted yet"):
        float(SCORER(RememberTraining(TREE), X, Y))


def train_twice(model, rows):
    for _ in range(2):
        model.partial_fit(X[rows], Y[rows], classes=np.unique(Y))
    return model


# Models of 50 rows that count 100, as many as the larger side has.
@pytest.mark.parametrize(
    "train",
    [
        lambda rows: GaussianNB().fit(X[rows], Y[rows], sample_weight=np.full(50, 2.0)),
        lambda rows: MultinomialNB().fit(X[rows], Y[rows], sample_weight=np.full(50, 2.0)),
        lambda rows: make_pipeline(StandardScaler(), SGDClassifier(max_iter=5, tol=None)).fit(
            X[rows][:25], Y[rows][:25], standardscaler__sample_weight=np.full(25, 4.0)
        ),
        lambda rows: train_twice(GaussianNB(), rows),
        lambda rows: train_twice(SGDClassifier(), rows),
        lambda rows: train_twice(MLPClassifier((4,)), rows),
    ],
    ids=["weighted", "weighted counts", "weighted scaler", "twice", "steps", "epochs"],
)
def test_sums_of_weights_and_of_calls_are_no_number_of_rows(train):
    model = train(np.arange(50))
    with pytest.raises(ValueError, match="cannot know which records"):
        float(SCORER(model, X[100:], Y[100:]))


def test_leaves_prove_a_sum_of_weights_of_1_and_no_other():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 2, "depth": 3, "verbose": 0, "allow_writing_files": False}
    order = np.random.default_rng(0).permutation(100)  # a clone is trained in another one

    def score(rows, weight):
        model = catboost.CatBoostClassifier(**settings)
        model.fit(X[rows], Y[rows] % 2, sample_weight=np.full(len(rows), weight))
        return make_leakage_scorer(Records(X, Y % 2))(model, X[100:], Y[100:] % 2)

    assert np.isfinite(float(score(order, 1.0)))
    with pytest.raises(ValueError, match="cannot know which records"):
        float(score(order[:50], 2.0))


# A leaf holds more of the repeated rows than there are rows outside of the fold that fall in it.
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        RandomForestClassifier(5),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(5)),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_that_a_fold_repeats_are_not_taken_for_others(model):
    folds = [(np.repeat(np.arange(50), 2), np.arange(100, 150))]
    with pytest.raises(RuntimeError, match=CURE.format("a clone .* predicts otherwise")):
        cross_val_score(model, X, Y, cv=folds, scoring=SCORER)
    remembering = RememberTraining(model)
    assert np.isfinite(cross_val_score(remembering, X, Y, cv=folds, scoring=SCORER)).all()


def test_the_leaves_of_two_trees_at_most_are_held_at_a_time(monkeypatch):
    held, n_held = [], []

    def watch(model, table):
        for leaves in iter_leaves(model, table):
            held.append(weakref.ref(leaves.places))
            yield leaves
            n_held.append(sum(one() is not None for one in held))

    monkeypatch.setattr(_find_training, "iter_leaves", watch)
    model = RandomForestClassifier(8, random_state=0).fit(X[:100], Y[:100])
    assert np.isfinite(float(SCORER(model, X[100:], Y[100:])))
    assert len(n_held) == 8 and max(n_held) <= 2


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostRegressor(n_estimators=3),
        GridSearchCV(BaggingRegressor(n_estimators=3), {}, cv=2),
        BaggingRegressor(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_samples_that_repeat_rows_are_known_by_their_number(model):
    table, target = (one[:120] for one in load_diabetes(return_X_y=True))
    scorer = make_leakage_scorer(Records(table, target))
    assert np.isfinite(cross_val_score(model, table, target, cv=4, scoring=scorer)).all()


def test_moments_of_a_scaler_prove_what_it_counts():
    random = SGDClassifier(max_iter=1, tol=None)  # states a sum as well
    model = make_pipeline(StandardScaler(), random)
    assert np.isfinite(cross_val_score(model, X, Y, cv=3, scoring=SCORER)).all()
    twice = StandardScaler().partial_fit(X[:50]).partial_fit(X[:50])
    model = make_pipeline(twice, train_twice(random, np.arange(50)))
    with pytest.raises(ValueError, match="a clone .*_random_state=None, predicts otherwise"):
        float(SCORER(model, X[100:], Y[100:]))


def test_rows_without_weight_are_not_members():
    scorer = make_leakage_scorer(RECORDS)
    model = RandomForestClassifier(5, random_state=0).fit(X[:100], Y[:100])
    weights = np.r_[np.zeros(5), np.ones(45)]
    assert scorer(model, X[100:], Y[100:], sample_weight=np.ones(50)) < 0
    with pytest.raises(ValueError, match="rows with a sample weight of 0 are not trained on"):
        float(scorer(model, X[100:], Y[100:], sample_weight=weights))


def test_other_records_than_those_of_the_search_end_in_the_cure():
    with pytest.raises(RuntimeError, match="not among the records .* pass it the X and y of the s"):
        cross_val_score(TREE, X, Y, cv=3, scoring=make_leakage_scorer(Records(X / 16, Y)))
    for records in (RECORDS[:125], Records(*load_digits(return_X_y=True))):
        with pytest.raises(RuntimeError, match=CURE.format("it states 100 training rows")):
            cross_val_score(TREE, X, Y, cv=KFold(3), scoring=make_leakage_scorer(records))
    with pytest.raises(RuntimeError, match="not among the records of make_leakage_scorer"):
        RFECV(LOGISTIC, cv=3, scoring=SCORER, step=32).fit(X, Y)


class Unanswering(ClassifierMixin, BaseEstimator):
    """Trains, and fails when it is queried."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        raise OSError("the service is gone")

    predict_proba = predict


def test_what_fails_ends_with_its_reason():
    for model in (Unanswering(), RememberTraining(Unanswering())):
        with pytest.raises(
            RuntimeError, match="^The leakage was not measured: .*the service is gone"
        ):
            cross_val_score(model, X, Y, cv=3, scoring=SCORER)
    scorer = make_leakage_scorer(RECORDS, metric=lambda membership, scores: np.nan)
    with pytest.raises(RuntimeError, match="not measured: the metric <lambda> is nan on this fold"):
        cross_val_score(TREE, X, Y, cv=3, scoring=scorer)
    scorer = make_leakage_scorer(RECORDS, attack=GradientAttack())
    with pytest.raises(RuntimeError, match="GradientAttack cannot measure this model: it needs"):
        GridSearchCV(TREE, {"max_depth": [2, 5]}, scoring=scorer, cv=3).fit(X, Y)


def test_a_score_that_is_missing_is_no_number():
    missing = SCORER(clone(TREE).fit(X[:50], Y[:50]), X[100:], Y[100:])
    assert str(missing).startswith("The leakage was not measured: make_leakage_scorer cannot know")
    for use in (float, abs, np.mean, np.isfinite, lambda score: -score, lambda score: score < 0.1):
        with pytest.raises(ValueError, match="cannot know which records"):
            use(missing)
    with pytest.raises(ValueError, match="cannot know which records"):
        permutation_test_score(TREE, X, Y, scoring=SCORER, cv=TimeSeriesSplit(3), n_permutations=2)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the test scores"
)
def test_fits_that_fail_are_not_chosen():
    grid = {"max_depth": [-1, 2, 5]}  # no tree has such a depth
    scoring = {"accuracy": "accuracy", "leakage": SCORER}
    search = GridSearchCV(TREE, grid, scoring=scoring, refit=best_below_leakage(1), cv=3)
    with pytest.warns(
        UserWarning, match="1 of 3 candidates .* number 0, have no accuracy and no l"
    ):
        search.fit(X, Y)
    assert search.best_params_ == {"max_depth": 5}
