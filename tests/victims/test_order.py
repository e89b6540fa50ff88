import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import ThresholdAttack
from skmia.victims import CallableVictim

RNG = np.random.default_rng(0)
NAMES = np.array(["a", "b", "c"])
CENTERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
LABEL = RNG.integers(3, size=300)
X = CENTERS[LABEL] + RNG.normal(size=(300, 2))
Y = NAMES[LABEL]
MODEL = LogisticRegression().fit(X, Y)
PROBA = MODEL.predict_proba(X)
MESSAGE = r"columns of the answers stand for the classes \['a', 'b', 'c'\].*Check the order"


def test_classes_of_a_service_in_the_wrong_order_are_noticed():
    victim = CallableVictim(MODEL.predict_proba, classes=["b", "a", "c"])
    with pytest.warns(UserWarning, match=MESSAGE):
        Records(X, Y).with_outputs(victim)
    with pytest.warns(UserWarning, match=MESSAGE):
        ThresholdAttack(victim).fit(Records(X, Y))


@pytest.mark.parametrize("kind", ["proba", "logits", "decision"])
def test_classes_of_stored_answers_in_the_wrong_order_are_noticed(kind):
    answers = Outputs(PROBA if kind == "proba" else np.log(PROBA), ["c", "a", "b"], kind)
    with pytest.warns(UserWarning, match=MESSAGE):
        Records(X, Y, outputs=answers)
    with pytest.warns(UserWarning, match=MESSAGE):
        Records(X, Y).with_fields(outputs=answers)


def test_columns_of_shadow_models_in_the_wrong_order_are_noticed():
    inside = np.arange(300) % 2 == [[0], [1]]
    outputs, records = np.array([PROBA, PROBA])[:, :, [1, 0, 2]], Records(X, Y)
    with pytest.warns(UserWarning, match=r"for the classes \['b', 'a', 'c'\], and .* as given"):
        ShadowPool.from_outputs(outputs, inside, records, kind="proba")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ShadowPool.from_outputs(outputs, inside, records, classes=["b", "a", "c"], kind="proba")
        ShadowPool.from_outputs(np.log(outputs), inside, records, classes=["b", "a", "c"])


def test_probabilities_given_as_logits_are_noticed():
    message = 'add to 1, as probabilities do. If they are probabilities, say kind="proba"'
    inside = np.arange(300) % 2 == [[0], [1]]
    records = Records(X, Y)
    with pytest.warns(UserWarning, match=message):
        ShadowPool.from_outputs([PROBA, PROBA], inside, records)
    with pytest.warns(UserWarning, match=message):
        records.with_fields(outputs=Outputs(PROBA, NAMES, "logits"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = PROBA.copy()
        some[150] = [0.5, 0.6, 0.1]  # one record whose answers are none
        records.with_fields(outputs=Outputs(some, NAMES, "logits"))


def test_classes_in_the_right_order_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Records(X, Y, outputs=Outputs(PROBA, NAMES))
        Records(X, Y).with_outputs(CallableVictim(MODEL.predict_proba, NAMES))
        Records(X, outputs=Outputs(PROBA, ["c", "a", "b"]))  # without labels
        Records(X[:4], Y[:4], outputs=Outputs(PROBA[:4], ["c", "a", "b"]))  # too few to say


def test_models_that_learned_their_own_classes_are_believed():
    turned = RandomForestClassifier(5, random_state=0).fit(X, NAMES[(LABEL + 1) % 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Records(X, Y).with_outputs(turned)


@pytest.mark.parametrize("n_classes", [2, 10, 50])
def test_answers_that_mean_nothing_are_in_no_better_order(n_classes):
    classes = np.arange(n_classes)
    for seed in range(200):  # at a level of 1e-4 one of them in fifty runs
        rng = np.random.default_rng(seed)
        answers = Outputs(rng.dirichlet(np.ones(n_classes), 200), classes)
        Records(np.zeros((200, 1)), rng.integers(n_classes, size=200), outputs=answers)


@pytest.mark.parametrize("proba", [[0.5, 0.5], [0.6, 0.4]])
def test_one_answer_to_all_records_says_nothing_of_the_order(proba):
    y = np.where(RNG.random(300) < 0.9, "b", "a")
    Records(X, y, outputs=Outputs(np.tile(proba, (300, 1)), ["a", "b"]))


def test_labels_that_the_answers_do_not_know_are_left_to_others():
    Records(X, np.full(300, "d"), outputs=Outputs(PROBA, NAMES))
