"""One output of classifiers with several outputs."""

import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.victims import OneOutput

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, :2] + RNG.normal(size=(80, 2)) > 0).astype(int)
KINDS = np.column_stack([Y[:, 0], RNG.integers(3, size=80)])

LABELS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbors": KNeighborsClassifier(),
    "apart": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "rest": OneVsRestClassifier(LogisticRegression()),
    "net": MLPClassifier((3,), solver="lbfgs", max_iter=500, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())),
}
NAMES = {"forest", "neighbors", "apart", "pipeline"}  # several outputs of any number of classes


@pytest.mark.parametrize("name", LABELS)
def test_an_output_is_that_of_the_model(name):
    Z = KINDS if name in NAMES else Y
    model = clone(LABELS[name]).fit(X, Z)
    for k in range(2):
        outputs = answers_of(FrozenEstimator(OneOutput(model, k)), X)
        given = model.predict_proba(X)
        if isinstance(given, list):
            expected = given[k]
        else:
            expected = np.column_stack([1 - given[:, k], given[:, k]])
        np.testing.assert_array_equal(outputs.values, expected)
        assert outputs.classes.tolist() == np.unique(Z[:, k]).tolist()
        np.testing.assert_array_equal(OneOutput(model, k).predict(X), model.predict(X)[:, k])


@pytest.mark.parametrize("name", LABELS)
def test_shadow_models_learn_the_output_alone(name):
    model = OneOutput(LABELS[name], 1)
    pool = ShadowPool(model, 2, random_state=0).fit(Records(X, Y[:, 1]))
    assert np.isfinite(pool.signals_).all()
    assert pool.classes_.tolist() == [0, 1]
    victim = clone(model).fit(X, Y)  # on all outputs
    np.testing.assert_array_equal(victim.predict(X), clone(LABELS[name]).fit(X, Y).predict(X)[:, 1])


def test_where_each_output_has_a_model_the_pool_is_that_of_this_model():
    records, settings = Records(X, Y[:, 1]), {"batched": False, "random_state": 0}
    apart = ShadowPool(OneOutput(LABELS["apart"], 1), 4, **settings).fit(records)
    alone = ShadowPool(LogisticRegression(), 4, **settings).fit(records)
    np.testing.assert_array_equal(apart.signals_, alone.signals_)


def test_models_of_all_outputs_make_a_pool():
    records = Records(X, Y[:, 1])
    inside = np.random.default_rng(1).random((4, 80)) < 0.5
    models = [OneOutput(LABELS["forest"], 1).fit(X[rows], Y[rows]) for rows in inside]
    pool = FrozenEstimator(ShadowPool.from_models(models, inside, records))
    victim = OneOutput(LABELS["forest"], 1).fit(X[:40], Y[:40])
    attack = LiRA(FrozenEstimator(victim), pool).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()


def test_decision_values_of_an_output():
    ridge = RidgeClassifier().fit(X, Y)
    np.testing.assert_array_equal(
        OneOutput(ridge, 1).decision_function(X), ridge.decision_function(X)[:, 1]
    )
    assert not hasattr(OneOutput(ridge, 1), "predict_proba")
    attack = ThresholdAttack(FrozenEstimator(OneOutput(ridge, 1)), signal="hinge")
    assert np.isfinite(attack.fit(Records(X, Y[:, 1])).score_samples(Records(X, Y[:, 1]))).all()


def test_weights_reach_the_estimator():
    weights = RNG.choice([0.1, 9.0], 80)
    found = OneOutput(LABELS["apart"], 0).fit(X, Y, sample_weight=weights)
    alone = LogisticRegression().fit(X, Y[:, 0], sample_weight=weights)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), rtol=1e-6)
    with pytest.raises(ValueError, match="fit of KNeighborsClassifier takes no sample_weight"):
        OneOutput(KNeighborsClassifier()).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", LABELS)
def test_several_outputs_are_refused_with_a_way_out(name):
    model = FrozenEstimator(clone(LABELS[name]).fit(X, Y))
    with pytest.raises(ValueError, match=r"attack them one by one, by skmia.victims.OneOutput"):
        ThresholdAttack(model).fit(Records(X, Y[:, 0])).score_samples(Records(X, Y[:, 0]))


@parametrize_refusals(
    (
        lambda: LiRA(FrozenEstimator(clone(LABELS["forest"]).fit(X, Y)), shadows=2).fit(
            Records(X, Y)
        ),
        "2 columns, .*JointOutputs.* OneOutput",
    ),
    (
        lambda: OneOutput(clone(LABELS["forest"]).fit(X, Y), 2).predict_proba(X),
        "output must be below the number of outputs, 2; got 2",
    ),
    (lambda: OneOutput(LinearSVC(), -1).fit(X, Y), "'output' parameter of OneOutput"),
    (
        lambda: OneOutput(clone(LABELS["forest"]).fit(X, Y), -1).predict_proba(X),
        "output must be an integer from 0",
    ),
    (
        lambda: OneOutput(KNeighborsClassifier(), 0).fit([[1, 2], [3]], [[0, 1], [1, 0]]),
        "X must hold rows of equal length",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_labels_of_two_types_are_refused():
    X, y = np.zeros((4, 2)), pd.DataFrame({"a": [0, 1, 0, 1], "b": list("uvuv")})
    with pytest.raises(ValueError, match="y must hold values of one type.*got int, str"):
        OneOutput(KNeighborsClassifier(), 0).fit(X, y)
