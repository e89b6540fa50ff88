"""Sample weights reach the estimators inside of meta-estimators, by request or as they are."""

import inspect
import itertools

import numpy as np
import pytest
import sklearn
from cells import slow_but
from sklearn.base import BaseEstimator
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks

import skmia.defenses
from skmia import Records, ShadowPool
from skmia.defenses import (
    LabelOnlyDefense,
    LabelSmoothingDefense,
    ReleasedFileDefense,
    RoundingDefense,
    SELENADefense,
    SoftLabelDefense,
    SoftRegressionDefense,
    StudentDefense,
    TemperatureDefense,
    TopKDefense,
)
from skmia.model_selection import RememberTraining
from skmia.victims import JointOutputs, OneOutput

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
WEIGHTS = RNG.integers(0, 4, size=120).astype(float)
FEW = {"n_estimators": 4, "n_left_out": 2, "random_state": 0}

METAS = {
    "JointOutputs": JointOutputs,
    "LabelOnlyDefense": LabelOnlyDefense,
    "LabelSmoothingDefense": LabelSmoothingDefense,
    "OneOutput": OneOutput,
    "ReleasedFileDefense": ReleasedFileDefense,
    "RememberTraining": RememberTraining,
    "RoundingDefense": RoundingDefense,
    "SELENADefense": lambda model: SELENADefense(model, **FEW),
    "SoftLabelDefense": lambda model: SoftLabelDefense(model, **FEW),
    "SoftRegressionDefense": lambda model: SoftRegressionDefense(model, **FEW),
    "StudentDefense": lambda model: StudentDefense(model, X[:60]),
    "TemperatureDefense": TemperatureDefense,
    "TopKDefense": TopKDefense,
}
# Their fit takes no metadata.
WITHOUT = {
    "DPSGDClassifier": "a weight would change what one row can contribute",
    "PATEDefense": "a weight would have to go with its row to a teacher",
    "PrivateSearchCV": "the same holds for the estimators that it takes",
}


def make_inner(name):
    return Ridge() if name == "SoftRegressionDefense" else LogisticRegression()


def coefficients(meta):
    return meta.estimator_.coef_


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_every_defense_and_wrapper_is_among_them():
    classes = [getattr(skmia.defenses, name) for name in skmia.defenses.__all__]
    found = {
        one.__name__
        for one in classes
        if inspect.isclass(one)
        and issubclass(one, BaseEstimator)
        and "estimator" in inspect.signature(one).parameters
    }
    assert found - set(WITHOUT) <= set(METAS)


@pytest.mark.parametrize("name", METAS)
def test_a_request_of_the_inner_estimator_is_honored(name, routing):
    make, inner = METAS[name], make_inner(name)
    with sklearn.config_context(enable_metadata_routing=False):
        expected = coefficients(make(inner).fit(X, Y, sample_weight=WEIGHTS))
        unweighted = coefficients(make(inner).fit(X, Y))
    assert np.abs(expected - unweighted).max() > 1e-3
    asking = make(make_inner(name).set_fit_request(sample_weight=True))
    np.testing.assert_allclose(coefficients(asking.fit(X, Y, sample_weight=WEIGHTS)), expected)
    np.testing.assert_allclose(coefficients(asking.fit(X, Y)), unweighted)
    plain = StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False)
    pipeline = make_pipeline(plain, asking).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(coefficients(pipeline[-1]), expected)
    silent = make(make_inner(name).set_fit_request(sample_weight=False))
    # The scaler takes the weights, and the defense gets none.
    plain = StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(plain, silent).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(coefficients(pipeline[-1]), unweighted)


@pytest.mark.parametrize("name", METAS)
def test_weights_that_nobody_requests_are_refused_as_in_scikit_learn(name, routing):
    meta = METAS[name](make_inner(name))
    known = FixedThresholdClassifier(LogisticRegression())
    ignoring = StandardScaler().set_fit_request(sample_weight=False)
    for one in (meta, known):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            one.fit(X, Y, sample_weight=WEIGHTS)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            make_pipeline(ignoring, one).fit(X, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("name", [name for name in METAS if name.endswith("Defense")])
def test_another_name_of_the_weights_is_honored(name, routing):
    make = METAS[name]
    asking = make(make_inner(name).set_fit_request(sample_weight=True))
    expected = coefficients(asking.fit(X, Y, sample_weight=WEIGHTS))
    renamed = make(make_inner(name).set_fit_request(sample_weight="importance"))
    np.testing.assert_array_equal(coefficients(renamed.fit(X, Y, importance=WEIGHTS)), expected)


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize(
    "name, n_jobs",
    # Both train their sub-models in one place.
    slow_but(
        itertools.product(["SoftLabelDefense", "SoftRegressionDefense"], [1, 2]),
        ("SoftLabelDefense", 2),
        ("SoftRegressionDefense", 1),
    ),
)
def test_steps_inside_get_what_they_request_in_workers_too(name, n_jobs, routing):
    expected = []
    for wants in (True, False):
        scaler = StandardScaler().set_fit_request(sample_weight=wants)
        inner = make_pipeline(scaler, make_inner(name).set_fit_request(sample_weight=True))
        meta = METAS[name](inner).set_params(n_jobs=n_jobs, store_targets=True)
        meta.fit(X, Y, sample_weight=WEIGHTS)
        expected.append(meta.targets_)
        mean = np.average(X, axis=0, weights=WEIGHTS) if wants else X[WEIGHTS > 0].mean(axis=0)
        np.testing.assert_allclose(meta.estimator_[0].mean_, mean)
        alone = METAS[name](inner).set_params(n_jobs=1, store_targets=True)
        np.testing.assert_allclose(
            meta.targets_, alone.fit(X, Y, sample_weight=WEIGHTS).targets_, rtol=1e-6
        )
    assert np.abs(expected[0] - expected[1]).max() > 1e-6


def test_weights_of_records_reach_a_defense_in_a_pool(routing):
    records = Records(X, Y, sample_weight=WEIGHTS)
    defended = TemperatureDefense(LogisticRegression().set_fit_request(sample_weight=True))
    settings = {"n_estimators": 4, "random_state": 0}
    plain = ShadowPool(defended.estimator, **settings, store="models")
    pool = ShadowPool(defended, **settings, store="models").fit(records)
    for model, alone in zip(pool.estimators_, plain.fit(records).estimators_, strict=True):
        np.testing.assert_allclose(coefficients(model), alone.coef_)


def test_a_search_routes_weights_through_a_defense(routing):
    inner = LogisticRegression().set_fit_request(sample_weight=True)
    grid = {"estimator__C": [0.1, 1.0]}
    scoring = get_scorer("neg_log_loss").set_score_request(sample_weight=False)
    search = GridSearchCV(TemperatureDefense(inner), grid, scoring=scoring, cv=2)
    search.fit(X, Y, sample_weight=WEIGHTS)
    known = search.best_estimator_.estimator.fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(coefficients(search.best_estimator_), known.coef_)


def test_other_parameters_of_fit_are_refused_where_targets_are_made():
    for name in ("SoftLabelDefense", "LabelSmoothingDefense", "SoftRegressionDefense"):
        with pytest.raises(TypeError, match="takes sample_weight and no other parameter; got coef"):
            METAS[name](make_inner(name)).fit(X, Y, coef_init=0)
    with pytest.raises(ValueError, match="fit of MLPRegressorless takes no sample_weight"):
        Nameless = type("MLPRegressorless", (Ridge,), {"fit": lambda self, X, y: self})
        SoftRegressionDefense(Nameless(), **FEW).fit(X, Y, sample_weight=WEIGHTS)


def test_weights_of_a_regression_count_rows():
    counts = WEIGHTS.astype(int)
    defended = SoftRegressionDefense(Ridge(), alpha=np.inf, **FEW)
    weighted = defended.fit(X, Y, sample_weight=WEIGHTS).estimator_.coef_
    repeated = Ridge().fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted, repeated.coef_)


# Training further

BATCHES = [slice(0, 50), slice(50, 90), slice(90, 120)]
CONTINUED = [LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense]


@pytest.mark.parametrize("defense", CONTINUED)
def test_partial_fit_is_that_of_the_estimator(defense):
    inner = SGDClassifier(loss="log_loss", random_state=0)
    defended, known = defense(inner), SGDClassifier(loss="log_loss", random_state=0)
    for k, batch in enumerate(BATCHES):
        given = {"classes": [0, 1, 2]} if k == 0 else {}
        given["sample_weight"] = WEIGHTS[batch]
        assert defended.partial_fit(X[batch], Y[batch], **given) is defended
        known.partial_fit(X[batch], Y[batch], **given)
        np.testing.assert_array_equal(coefficients(defended), known.coef_)
        np.testing.assert_array_equal(defended.classes_, [0, 1, 2])
        np.testing.assert_array_equal(defended.predict(X), known.predict(X))
    assert not hasattr(inner, "coef_")
    assert defended.n_features_in_ == 3
    if hasattr(defended, "predict_proba"):
        changed = defended.change_proba(known.predict_proba(X))
        np.testing.assert_array_equal(defended.predict_proba(X), changed)
    # As in scikit-learn, partial_fit goes on after fit, and fit begins anew.
    defended.fit(X, Y).partial_fit(X[:50], Y[:50])
    known.fit(X, Y).partial_fit(X[:50], Y[:50])
    np.testing.assert_array_equal(coefficients(defended), known.coef_)
    np.testing.assert_array_equal(defended.classes_, [0, 1])


def test_partial_fit_routes_weights_and_hands_on_classes(routing):
    known = GaussianNB().partial_fit(X, Y, [0, 1], sample_weight=WEIGHTS)
    for make in (TemperatureDefense, RememberTraining):
        asking = make(GaussianNB().set_partial_fit_request(sample_weight=True))
        asking.partial_fit(X, Y, classes=[0, 1], sample_weight=WEIGHTS)
        np.testing.assert_array_equal(asking.estimator_.theta_, known.theta_)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            make(GaussianNB()).partial_fit(X, Y, classes=[0, 1], sample_weight=WEIGHTS)


def test_partial_fit_of_smoothed_labels_is_that_of_weighted_copies():
    counts = RNG.integers(0, 5, size=(120, 4))
    labels = RNG.integers(3, size=120)
    defended, known = LabelSmoothingDefense(MultinomialNB(), smoothing=0.3), MultinomialNB()
    for k, batch in enumerate(BATCHES):
        given = {"classes": [0, 1, 2]} if k == 0 else {}
        defended.partial_fit(counts[batch], labels[batch], **given, sample_weight=WEIGHTS[batch])
        targets = 0.7 * (labels[batch, None] == [0, 1, 2]) + 0.1
        for column in range(3):  # counts add up in any order
            weight = targets[:, column] * WEIGHTS[batch]
            label = np.full(len(weight), column)
            known.partial_fit(counts[batch], label, [0, 1, 2], sample_weight=weight)
    np.testing.assert_allclose(defended.estimator_.feature_count_, known.feature_count_)
    np.testing.assert_array_equal(defended.classes_, [0, 1, 2])
    np.testing.assert_allclose(defended.predict_proba(counts), known.predict_proba(counts))
    with pytest.raises(ValueError, match="must be those of the first call"):
        defended.partial_fit(counts, labels, classes=[0, 1])
    with pytest.raises(ValueError, match="labels of classes, \\[0, 1, 2\\]; got 3"):
        defended.partial_fit(counts, labels + 1)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        LabelSmoothingDefense(MultinomialNB()).partial_fit(counts, labels)


def test_who_has_partial_fit():
    online, batch = SGDClassifier(loss="log_loss"), LogisticRegression()
    for name, make in METAS.items():
        continued = make in (*CONTINUED, LabelSmoothingDefense, RememberTraining)
        if name != "SoftRegressionDefense":
            assert hasattr(make(online), "partial_fit") == continued, name
        assert not hasattr(make(batch), "partial_fit"), name
    fitted = FrozenEstimator(online.fit(X, Y))
    for defense in CONTINUED:
        assert not hasattr(defense(fitted), "partial_fit")  # it would change the model of the user
    assert not hasattr(LabelSmoothingDefense(DecisionTreeClassifier()), "partial_fit")


class Failing(GaussianNB):
    """Fails in its own words when it is trained."""

    def fit(self, X, y, sample_weight=None):
        raise KeyError("width")

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        raise KeyError("width")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("defense", [*CONTINUED, LabelSmoothingDefense])
def test_a_training_that_fails_names_the_estimator(defense, method):
    further = {"classes": [0, 1]} if method == "partial_fit" else {}
    with pytest.raises(ValueError, match="^Failing cannot take these records: KeyError: 'width'"):
        getattr(defense(Failing()), method)(X, Y, **further)


@pytest.mark.parametrize("defense", [*CONTINUED, LabelSmoothingDefense])
def test_partial_fit_passes_the_checks_of_scikit_learn(defense):
    one = defense(GaussianNB())
    estimator_checks.check_estimators_partial_fit_n_features(defense.__name__, one)
    estimator_checks.check_n_features_in_after_fitting(defense.__name__, one)
    estimator_checks.check_estimators_dtypes(defense.__name__, one)


def test_an_evaluation_with_requested_weights_warns_of_none(routing):
    records = Records(X, np.arange(120) % 2, sample_weight=np.ones(120))
    tree = DecisionTreeClassifier(max_depth=1).set_fit_request(sample_weight=True)
    skmia.defenses.evaluate_defense({"tree": tree}, records, n_estimators=4, n_targets=2)
