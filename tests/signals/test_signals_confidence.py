from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from asking import answers_of
from scipy.special import expit, log_softmax, softmax
from scipy.stats import entropy
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import ThresholdAttack
from skmia.signals import ODIN, AnswerSignal, Doctor, VictimSignal, get_signal_names
from skmia.signals._registry import get_signal

LABEL_FREE = ["doctor", "entropy", "max_softmax", "odin"]

# By hand, for p = (0.5, 0.3, 0.2) and the label in the second column.
BY_HAND = {
    "confidence": 0.3,
    "correctness": 0.0,
    "brier_score": -(0.25 + 0.49 + 0.04),  # the label has probability 0.3
    "doctor": 0.25 + 0.09 + 0.04,
    "entropy": 0.5 * np.log(0.5) + 0.3 * np.log(0.3) + 0.2 * np.log(0.2),
    "hinge": np.log(0.3) - np.log(0.5),
    "loss": np.log(0.3),
    "max_softmax": 0.5,
    "modified_entropy": 0.7 * np.log(0.3) + 0.5 * np.log(0.5) + 0.2 * np.log(0.8),
    "odin": np.sqrt(0.5) / (np.sqrt(0.5) + np.sqrt(0.3) + np.sqrt(0.2)),
    "scaled_logit": np.log(0.3 / 0.7),
}
PROBABILITY_SIGNALS = sorted(BY_HAND)


@pytest.fixture(scope="module")
def answers():
    """Logits, the same answers as probabilities, and labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 4, size=(60, 4))
    proba = softmax(logits, axis=1)
    return Outputs(logits, range(4), "logits"), Outputs(proba, range(4)), rng.integers(4, size=60)


def test_signals_have_names():
    of_answers = sorted([*PROBABILITY_SIGNALS, "log_residual", "squared_error"])
    assert get_signal_names(answers_only=True) == of_answers
    assert set(of_answers) < set(get_signal_names())
    for name in get_signal_names():
        assert get_signal(name).name == name


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
def test_value_computed_by_hand(name):
    y = ["b"]
    proba = Outputs([[0.5, 0.3, 0.2]], ["a", "b", "c"])
    np.testing.assert_allclose(get_signal(name)(proba, y), BY_HAND[name], rtol=1e-12)
    logits = Outputs(np.log([[0.5, 0.3, 0.2]]) + 7, ["a", "b", "c"], "logits")
    np.testing.assert_allclose(get_signal(name)(logits, y), BY_HAND[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
def test_logits_and_their_probabilities_give_the_same_signal(answers, name):
    logits, proba, y = answers
    signal = get_signal(name)
    np.testing.assert_allclose(signal(logits, y), signal(proba, y), rtol=1e-9, atol=1e-10)


def test_signals_agree_with_scipy(answers):
    logits, proba, y = answers
    rows = np.arange(len(y))
    p = proba.values
    np.testing.assert_allclose(get_signal("entropy")(logits, y), -entropy(p, axis=1))
    np.testing.assert_allclose(
        get_signal("loss")(logits, y), log_softmax(logits.values, 1)[rows, y]
    )
    np.testing.assert_allclose(expit(get_signal("scaled_logit")(logits, y)), p[rows, y])
    for temperature in (0.5, 3.0):
        tempered = softmax(logits.values / temperature, axis=1)
        np.testing.assert_allclose(ODIN(temperature)(proba, y), tempered.max(axis=1))
        np.testing.assert_allclose(Doctor(temperature)(proba, y), (tempered**2).sum(axis=1))


@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_modified_entropy_of_a_certain_right_answer_is_zero(kind):
    sure = np.array([[1.0, 0.0, 0.0]]) if kind == "proba" else np.array([[900.0, 0.0, -50.0]])
    outputs = Outputs(sure, [0, 1, 2], kind)
    np.testing.assert_allclose(get_signal("modified_entropy")(outputs, [0]), 0, atol=1e-10)


def test_modified_entropy_of_a_certain_wrong_answer_has_no_bound():
    signal = get_signal("modified_entropy")
    # p = (1, e^-z): (1 - p_y) (-log p_y) + p_k (-log(1 - p_k)) = 2 z up to e^-z.
    for z in (50.0, 700.0, 2000.0):
        np.testing.assert_allclose(signal(Outputs([[z, 0.0]], [0, 1], "logits"), [1]), -2 * z)
    # Probabilities are cut at 1e-12.
    np.testing.assert_allclose(
        signal(Outputs([[1.0, 0.0]], [0, 1]), [1]), 2 * np.log(1e-12), rtol=1e-4
    )


def test_modified_entropy_falls_where_entropy_cannot_tell_right_from_wrong():
    outputs = Outputs([[0.9, 0.1]] * 2, [0, 1])
    right, wrong = get_signal("modified_entropy")(outputs, [0, 1])
    assert right > wrong
    right, wrong = get_signal("entropy")(outputs, [0, 1])
    assert right == wrong


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
@pytest.mark.parametrize("values", [[[1000.0, -1000.0]], [[-1000.0, 1000.0]], [[0.0, -np.inf]]])
def test_extreme_logits_give_no_nan(name, values):
    outputs = Outputs(values, [0, 1], "logits")
    for label in (0, 1):
        assert not np.isnan(get_signal(name)(outputs, [label])).any()


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
def test_probabilities_of_zero_and_one_give_finite_signals(name):
    outputs = Outputs([[1.0, 0.0, 0.0]] * 3, [0, 1, 2])
    assert np.isfinite(get_signal(name)(outputs, [0, 1, 2])).all()


def test_scaled_logit_of_certain_answers_is_cut_at_1e_minus_12():
    scores = get_signal("scaled_logit")(Outputs([[1.0, 0.0]] * 2, [0, 1]), [0, 1])
    np.testing.assert_allclose(scores, [-np.log(1e-12), np.log(1e-12)])


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_order_and_names_of_the_classes_do_not_matter(answers, name, kind):
    outputs = answers[0] if kind == "logits" else answers[1]
    y = answers[2]
    order = np.array([2, 0, 3, 1])
    names = np.array(["cat", "ant", "dog", "bee"])
    renamed = Outputs(outputs.values[:, order], names[order], kind)
    signal = get_signal(name)
    np.testing.assert_allclose(signal(renamed, names[y]), signal(outputs, y), rtol=1e-11)


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
def test_shift_of_all_logits_does_not_matter(answers, name):
    logits, _, y = answers
    shifted = Outputs(logits.values + 500, range(4), "logits")
    signal = get_signal(name)
    np.testing.assert_allclose(signal(shifted, y), signal(logits, y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_signals_ignore_the_label(answers, name):
    logits, _, y = answers
    signal = get_signal(name)
    np.testing.assert_array_equal(signal(logits, y), signal(logits, (y + 1) % 4))


@pytest.mark.parametrize("name", sorted(set(PROBABILITY_SIGNALS) - set(LABEL_FREE)))
@pytest.mark.parametrize("kind", ["proba", "logits"])
def test_signal_with_a_label_never_falls_with_its_probability(name, kind):
    p = np.linspace(0.01, 0.99, 99)
    values = np.column_stack([p, 0.6 * (1 - p), 0.4 * (1 - p)])
    outputs = Outputs(values if kind == "proba" else np.log(values), [0, 1, 2], kind)
    assert (np.diff(get_signal(name)(outputs, np.zeros(99, int))) >= 0).all()


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_signal_rises_with_certainty(name):
    p = np.linspace(0.51, 0.99, 49)
    outputs = Outputs(np.column_stack([p, 1 - p]), [0, 1])
    assert (np.diff(get_signal(name)(outputs, np.zeros(49, int))) > 0).all()


@pytest.fixture(scope="module")
def overfit():
    X, y = make_classification(
        n_samples=600, n_features=20, n_informative=5, n_classes=3, flip_y=0.3, random_state=0
    )
    membership = np.arange(600) % 2
    victim = RandomForestClassifier(30, random_state=0).fit(X[membership == 1], y[membership == 1])
    return answers_of(victim, X), y, membership


@pytest.mark.parametrize("name", PROBABILITY_SIGNALS)
def test_members_of_an_overfit_victim_score_higher(overfit, name):
    outputs, y, membership = overfit
    least = 0.65 if name in ("correctness", *LABEL_FREE) else 0.9
    assert roc_auc_score(membership, get_signal(name)(outputs, y)) > least


def test_correctness_auc_is_its_balanced_accuracy(overfit):
    outputs, y, membership = overfit
    right = get_signal("correctness")(outputs, y)
    expected = (right[membership == 1].mean() + 1 - right[membership == 0].mean()) / 2
    np.testing.assert_allclose(roc_auc_score(membership, right), expected)


def test_hinge_and_correctness_read_decision_values():
    X, y = make_classification(n_samples=60, n_classes=3, n_informative=4, random_state=0)
    model = SVC().fit(X, y)
    outputs = answers_of(model, X)
    values = model.decision_function(X)
    by_hand = [values[i, y[i]] - max(np.delete(values[i], y[i])) for i in range(60)]
    np.testing.assert_allclose(get_signal("hinge")(outputs, y), by_hand)
    np.testing.assert_array_equal(get_signal("correctness")(outputs, y), model.predict(X) == y)


def test_two_classes_and_three_with_an_impossible_one_agree():
    X, y = make_classification(n_samples=60, random_state=0)
    two = answers_of(LogisticRegression().fit(X, y), X)
    three = Outputs(np.column_stack([two.values, np.zeros(60)]), [0, 1, 2])
    for name in set(PROBABILITY_SIGNALS) - {"odin"}:
        signal = get_signal(name)
        np.testing.assert_allclose(signal(three, y), signal(two, y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["nothing", "", 5, None])
def test_unknown_signal_is_named_with_the_known_ones(name):
    with pytest.raises(ValueError, match=f"Unknown signal {name!r}; .* squared_error"):
        get_signal(name)


def test_signal_needs_a_known_label():
    with pytest.raises(ValueError, match=r"position 0: 'd' is none of \['a', 'b'\]"):
        get_signal("loss")(Outputs([[0.5, 0.5]], ["a", "b"]), ["d"])


@dataclass(frozen=True)
class Mine(AnswerSignal):
    """A signal that was written by a user."""

    give: Callable

    name = "mine"
    reads = ("proba",)

    def _evaluate(self, outputs, y):
        return self.give(outputs.values[:, 0])


@dataclass(frozen=True)
class MineOfTheVictim(VictimSignal):
    """The same, for a signal that needs the victim."""

    give: Callable

    name = "mine"

    def _inspect(self, victim, records):
        return self.give(victim.predict_proba(records.X)[:, 0])


@pytest.mark.parametrize("kind", [Mine, MineOfTheVictim])
@pytest.mark.parametrize(
    ("give", "sentence"),
    [
        (lambda values: values[:5], r"mine' must give one number per .*\(20,\); got .* \(5,\)"),
        (lambda values: values.mean(), r"mine' must give one number .*; got one of shape \(\)"),
        (lambda values: values[:1], r"mine' must give one number .*; got one of shape \(1,\)"),
        (lambda values: values[:, None], r"mine' must give .*; got one of shape \(20, 1\)"),
        (lambda values: values.astype(str), r"mine' must give .*; got .* dtype <U"),
        (
            lambda values: np.where(np.arange(20) % 5 == 3, np.nan, values),
            "answers, by the signal 'mine', give no score for 4 of 20 records, first at position 3",
        ),
    ],
)
def test_signal_of_a_user_gives_one_number_per_record(kind, give, sentence):
    records = Records(np.arange(20.0)[:, None], np.arange(20) % 2)
    victim = FrozenEstimator(LogisticRegression().fit(records.X, records.y))
    signal = kind(give)
    with pytest.raises(ValueError, match=sentence):
        ThresholdAttack(victim, signal=signal).fit(records).score_samples(records)
    if "give no score" not in sentence:
        with pytest.raises(ValueError, match=sentence):
            ShadowPool(LogisticRegression(), 2, signals=["auto", signal], random_state=0).fit(
                records
            )


@pytest.mark.parametrize("kind", [Mine, MineOfTheVictim])
def test_signal_of_a_user_may_give_a_list_and_infinity(kind):
    records = Records(np.arange(4.0)[:, None], np.arange(4) % 2)
    victim = FrozenEstimator(LogisticRegression().fit(records.X, records.y))
    found = kind(lambda values: [1, np.inf, 2, -np.inf]).of(victim, records)
    np.testing.assert_array_equal(found, [1, np.inf, 2, -np.inf])
