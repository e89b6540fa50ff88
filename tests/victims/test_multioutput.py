"""All outputs of classifiers with several outputs, at once."""

import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.signals import Loss
from skmia.victims import JointOutputs, OneOutput

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
Y = (X[:, :3] + RNG.normal(size=(N, 3)) > 0).astype(int)
WORDS = np.column_stack([Y[:, 0], RNG.integers(3, size=N)]).astype(str)
MEMBERS = RNG.permutation(N) < N // 2

MODELS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbors": KNeighborsClassifier(),
    "apart": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "net": MLPClassifier((3,), solver="lbfgs", max_iter=2000, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())),
}


def make(name, Z=Y):
    labels, y = np.unique(Z, axis=0, return_inverse=True)
    model = clone(MODELS[name]).fit(X[MEMBERS], Z[MEMBERS])
    return model, labels, Records(X, np.reshape(y, -1))


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_sum_over_the_outputs(name):
    model, labels, records = make(name)
    outputs = answers_of(FrozenEstimator(JointOutputs(model, labels)), X)
    assert outputs.classes.tolist() == list(range(8))  # all combinations of three bits
    np.testing.assert_allclose(outputs.values.sum(axis=1), 1)
    parts = [answers_of(FrozenEstimator(OneOutput(model, k)), X) for k in range(3)]
    expected = sum(Loss()(part, Y[:, k]) for k, part in enumerate(parts))
    certain = np.isfinite(expected) & (np.abs(expected) < 20)  # others are cut off one by one
    np.testing.assert_allclose(
        Loss()(outputs, records.y)[certain], expected[certain], rtol=1e-6, atol=1e-9
    )


def test_labels_of_any_kind_and_combinations_that_do_not_occur():
    labels = np.unique(WORDS, axis=0)[:-2]
    model = RandomForestClassifier(5, random_state=0).fit(X, WORDS)
    joint = JointOutputs(model, labels)
    proba, given = joint.predict_proba(X), model.predict_proba(X)
    places = [np.searchsorted(np.unique(column), known) for column, known in zip(WORDS.T, labels.T)]
    expected = given[0][:, places[0]] * given[1][:, places[1]]
    np.testing.assert_allclose(proba[:, :-1], expected)
    np.testing.assert_allclose(proba[:, -1], 1 - expected.sum(axis=1), atol=1e-12)
    assert joint.classes_.tolist() == list(range(len(labels) + 1))
    predicted = joint.predict(X)
    known = [tuple(row) for row in labels]
    for row, number in zip(model.predict(X), predicted):
        assert number == (known.index(tuple(row)) if tuple(row) in known else len(labels))


def test_rounding_leaves_no_probability():
    """What is left of 1 in a vote of 7 trees is a step of the vote or nothing."""
    labels = np.unique(WORDS, axis=0)[:-1]
    model = RandomForestClassifier(7, random_state=0).fit(X, WORDS)
    left = JointOutputs(model, labels).predict_proba(X)[:, -1]
    assert (left == 0).any()
    assert left[left > 0].min() > 1e-3


def test_shadow_models_learn_all_outputs():
    model, labels, records = make("forest")
    joint = FrozenEstimator(JointOutputs(model, labels))
    pool = ShadowPool(joint, 2, store="models", random_state=0).fit(records)
    for shadow in pool.estimators_:
        assert len(shadow.estimator_.classes_) == 3
    assert np.isfinite(pool.signals_).all()


def test_it_is_stronger_than_each_output():
    model, labels, records = make("forest")
    joint = FrozenEstimator(JointOutputs(model, labels))
    together = LiRA(joint, ShadowPool(joint, 8, random_state=0)).fit(records)
    apart = []
    for k in range(3):
        rows, alone = Records(X, Y[:, k]), FrozenEstimator(OneOutput(model, k))
        attack = LiRA(alone, ShadowPool(alone, 8, random_state=0)).fit(rows)
        apart.append(roc_auc_score(MEMBERS, attack.score_samples(rows)))
    assert roc_auc_score(MEMBERS, together.score_samples(records)) > max(apart)


def test_a_model_that_has_not_seen_a_label():
    Z = Y.copy()
    Z[MEMBERS, 0] = 0
    model, labels, records = make("forest", Z)
    proba = JointOutputs(model, labels).predict_proba(X)
    assert (proba[:, : len(labels)][:, labels[:, 0] == 1] == 0).all()
    attack = ThresholdAttack(FrozenEstimator(JointOutputs(model, labels))).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()


def test_what_else_a_model_predicts_that_has_not_seen_a_label():
    """Of the three combinations it can predict one, and another that is none of them."""
    Z = Y[:, :2] * [1, 0]
    model = RandomForestClassifier(5, random_state=0).fit(X, Z)
    joint = JointOutputs(model, [[0, 0], [0, 1], [1, 1]])
    assert joint.classes_.tolist() == [0, 1, 2, 3]
    proba = joint.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert set(joint.predict(X).tolist()) == {0, 3}
    np.testing.assert_array_equal(proba[:, 3] > 0.5, joint.predict(X) == 3)


def test_labels_alone():
    labels, y = np.unique(Y, axis=0, return_inverse=True)
    model = MultiOutputClassifier(RidgeClassifier()).fit(X, Y)
    joint = JointOutputs(model, labels)
    assert not hasattr(joint, "predict_proba")
    right = (model.predict(X) == Y).all(axis=1)
    np.testing.assert_array_equal(joint.predict(X) == np.reshape(y, -1), right)


def test_training_from_numbers_is_that_from_labels():
    labels, y = np.unique(Y, axis=0, return_inverse=True)
    given = JointOutputs(MODELS["forest"], labels).fit(X, np.reshape(y, -1)).predict_proba(X)
    np.testing.assert_array_equal(given, JointOutputs(MODELS["forest"]).fit(X, Y).predict_proba(X))
    weights = np.ones(N)
    again = JointOutputs(MODELS["forest"], labels).fit(X, y, sample_weight=weights)
    assert log_loss(np.reshape(y, -1), again.predict_proba(X)) < log_loss(
        np.reshape(y, -1), np.full(again.predict_proba(X).shape, 1 / 8)
    )


@parametrize_refusals(
    (lambda: JointOutputs(MODELS["forest"], [[0, 1], [0, 1]]).fit(X, Y[:, 0]), "once, as a row"),
    (lambda: JointOutputs(MODELS["forest"], [0, 1]).fit(X, Y), r"once, as a row, .* shape \(2,\)"),
    (lambda: JointOutputs(MODELS["forest"], [[0, 1]]).fit(X, Y[:, 0]), "from 0 to 0; got 1"),
    (
        lambda: JointOutputs(make("forest")[0]).predict_proba(X),
        "labels must be given .*np.unique",
    ),
    (
        lambda: JointOutputs(make("forest")[0], [[0, 1]]).predict_proba(X),
        "a column for each of 3 outputs; got 2",
    ),
    (
        lambda: JointOutputs(make("forest")[0], Y.astype(str)[:1]).predict_proba(X),
        r"that the model knows; the first is \['[01]', .* are \[\[0, 1\], \[0, 1\], \[0, 1\]\]",
    ),
    (
        lambda: JointOutputs(MODELS["neighbors"]).fit(X, Y, sample_weight=np.ones(N)),
        "fit of KNeighborsClassifier takes no sample_weight",
    ),
)
def test_wrong_use(call, words, error):
    check_refusal(call, words, error)


def test_labels_may_be_columns_of_text_in_a_table():
    forest, text = MODELS["forest"], WORDS.astype(object)
    joint, expected = JointOutputs(forest).fit(X, pd.DataFrame(text)), np.unique(WORDS, axis=0)
    assert joint.labels_.tolist() == expected.tolist()
    again = JointOutputs(forest, expected.astype(object)).fit(X, text)
    np.testing.assert_array_equal(again.predict_proba(X), joint.predict_proba(X))
    with pytest.raises(ValueError, match="once, as a row"):
        JointOutputs(forest, np.array([["a", "b"]] * 2, dtype=object)).fit(X, text)


def test_a_column_of_labels_is_a_single_output():
    with pytest.warns(DataConversionWarning):
        column = JointOutputs(MODELS["forest"]).fit(X, Y[:, :1])
    flat = JointOutputs(MODELS["forest"]).fit(X, Y[:, 0])
    np.testing.assert_array_equal(column.predict_proba(X), flat.predict_proba(X))


@pytest.fixture(scope="module")
def make_net():
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")

    def make(kind="NeuralNetClassifier", **settings):
        return getattr(skorch, kind)(
            torch.nn.Linear,
            module__in_features=4,
            module__out_features=3,
            criterion=torch.nn.BCEWithLogitsLoss,
            train_split=None,
            verbose=0,
            **settings,
        )

    return make


@pytest.mark.parametrize(
    "kind, gives_pairs, dtype",
    [
        ("NeuralNetClassifier", True, np.float32),
        ("NeuralNetClassifier", False, np.int64),
        ("NeuralNet", True, np.int64),
    ],
)
def test_a_net_of_several_labels_is_one_classifier(make_net, kind, gives_pairs, dtype):
    torch = pytest.importorskip("torch")
    settings = {} if gives_pairs else {"predict_nonlinearity": torch.sigmoid}
    rows = X.astype(np.float32)
    net = make_net(kind, **settings).fit(rows, Y.astype(np.float32))
    labels, numbers = np.unique(Y.astype(dtype), axis=0, return_inverse=True)
    joint = JointOutputs(net, labels)
    p = torch.sigmoid(net.forward(rows)).numpy()
    expected = np.prod(np.where(Y == 1, p, 1 - p), axis=1)
    found = joint.predict_proba(rows)[np.arange(N), numbers]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(labels[joint.predict(rows)], p > 0.5)
    one = OneOutput(net, 2)
    np.testing.assert_allclose(one.predict_proba(rows)[:, 1], p[:, 2], rtol=1e-6)
    np.testing.assert_array_equal(one.predict(rows), p[:, 2] > 0.5)
    pool = ShadowPool(joint, 2, store="models", random_state=0).fit(Records(rows, numbers))
    assert [one.estimator_.module_.weight.shape for one in pool.estimators_] == [(3, 4)] * 2


def test_a_net_of_several_labels_that_is_asked_like_one_of_one_label_is_named(make_net):
    rows, targets = X.astype(np.float32), Y.astype(np.float32)
    net = make_net().fit(rows, targets)
    with pytest.raises(ValueError, match="y has 3 columns, .*attack all outputs .*JointOutputs"):
        audit(net, Records(rows, targets), MEMBERS, random_state=0)
    with pytest.raises(RuntimeError, match="net is trained on all of its outputs together"):
        ShadowPool(OneOutput(net, 1), 2).fit(Records(rows, Y[:, 1]))
