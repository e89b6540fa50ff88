import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV

from skmia import Outputs, Records
from skmia.attacks import ThresholdAttack
from skmia.signals import ODIN, get_signal_names
from skmia.signals._registry import get_signal


@pytest.fixture(scope="module")
def audit():
    X, y = make_classification(n_samples=400, n_features=10, flip_y=0.3, random_state=0)
    membership = np.random.default_rng(0).permutation(np.arange(400) % 2)
    records = Records(X, y)
    members = records[membership == 1]
    victim = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    return FrozenEstimator(victim), records, membership


def stored(p, y=None):
    """Records with answers (1 - p, p) to the label 1."""
    p = np.asarray(p, dtype=float)
    y = np.ones(len(p), int) if y is None else y
    return Records(
        np.arange(len(p))[:, None], y, outputs=Outputs(np.column_stack([1 - p, p]), [0, 1])
    )


def test_score_is_the_signal(audit):
    victim, records, _ = audit
    outputs = records.with_outputs(victim)["outputs"]
    signals = [get_signal(name) for name in get_signal_names(answers_only=True)]
    signals = [signal for signal in signals if outputs.kind in signal.reads]
    for signal in [*signals, ODIN(temperature=4.0)]:
        attack = ThresholdAttack(victim, signal=signal).fit(records)
        expected = get_signal(signal)(outputs, records.y)
        np.testing.assert_array_equal(attack.score_samples(records), expected)


def test_natural_threshold_is_the_mean():
    records = stored([0.1, 0.4, 0.9])
    attack = ThresholdAttack(signal="confidence").fit(records)
    np.testing.assert_allclose(attack.offset_, (0.1 + 0.4 + 0.9) / 3)
    assert attack.predict(records).tolist() == [0, 0, 1]
    np.testing.assert_allclose(
        attack.decision_function(records), [0.1 - 1.4 / 3, 0.4 - 1.4 / 3, 0.9 - 1.4 / 3]
    )


def test_equal_signals_are_at_the_threshold_whatever_their_number():
    for n in (10, 77):
        answers = np.full((n, 2), (0.3, 0.7))
        records = Records(
            np.zeros((n, 1)), np.arange(n) % 2, outputs=Outputs(answers, classes=[0, 1])
        )
        one = records[records.y == 1]
        assert ThresholdAttack(signal="confidence").fit(one).predict(one).all()


def test_an_infinite_signal_has_no_mean_and_ranks_last():
    logits = Outputs([[0.0, -np.inf], [0.0, 1.0], [2.0, 0.0]], [0, 1], "logits")
    records = Records([[0.0], [1.0], [2.0]], [1, 0, 0], outputs=logits)
    with pytest.raises(ValueError, match="signal 'loss' .* infinite for 1 of 3 records"):
        ThresholdAttack(signal="loss").fit(records)
    with pytest.raises(ValueError, match="1 of 3 are infinite, .* use a signal without logarithms"):
        ThresholdAttack(signal="loss").fit(records, [0, 1, 0])
    attack = ThresholdAttack(signal="loss", mean_train_loss=0.5).fit(records)
    assert attack.score_samples(records)[0] == -np.inf
    assert attack.predict(records).tolist() == [0, 0, 1]
    assert np.isfinite(ThresholdAttack(signal="confidence").fit(records).offset_)


def test_mean_training_loss_is_the_threshold_of_yeom(audit):
    victim, records, membership = audit
    members = records[membership == 1]
    loss = log_loss(members.y, victim.predict_proba(members.X))
    attack = ThresholdAttack(victim, mean_train_loss=loss).fit(records)
    rows = np.arange(400)
    with np.errstate(divide="ignore"):
        own_loss = -np.log(victim.predict_proba(records.X)[rows, records.y])
    np.testing.assert_array_equal(attack.predict(records), own_loss <= loss)


def test_mean_training_loss_of_a_regressor_is_a_squared_error():
    X, y = make_regression(n_samples=40, n_features=3, noise=10, random_state=0)
    victim = LinearRegression().fit(X, y)
    squared = (y - victim.predict(X)) ** 2
    attack = ThresholdAttack(FrozenEstimator(victim), mean_train_loss=squared.mean())
    guesses = attack.fit(Records(X, y)).predict(Records(X, y))
    np.testing.assert_array_equal(guesses, squared <= squared.mean())


@pytest.mark.parametrize("loss", [np.nan, np.inf, -1.0, True])
def test_mean_training_loss_is_a_finite_number(audit, loss):
    with pytest.raises(ValueError, match="The 'mean_train_loss' parameter of ThresholdAttack must"):
        ThresholdAttack(audit[0], mean_train_loss=loss).fit(audit[1])


def test_mean_training_loss_goes_with_the_loss(audit):
    with pytest.raises(ValueError, match="threshold of the signal 'loss'; the signal is 'entropy'"):
        ThresholdAttack(audit[0], signal="entropy", mean_train_loss=0.1).fit(audit[1])


def test_membership_sets_the_threshold_of_the_highest_balanced_accuracy():
    records = stored([0.1, 0.3, 0.5, 0.6, 0.8, 0.9])
    membership = [0, 0, 1, 0, 1, 1]
    attack = ThresholdAttack(signal="confidence").fit(records, membership)
    # Between 0.3 and 0.5 (TPR 1, FPR 1/3) and between 0.6 and 0.8 (TPR 2/3, FPR 0) are as good.
    assert attack.offset_ == pytest.approx(0.4) or attack.offset_ == pytest.approx(0.7)
    np.testing.assert_allclose(attack.score(records, membership), 2 / 3)


@pytest.mark.parametrize(
    "membership, offset, guesses",
    [
        ([1, 0, 0], 0.7, [0, 0, 1]),  # members lie below: no threshold is better than none
        ([0, 0, 1], 0.7, [0, 0, 1]),
        ([0, 1, 1], 0.35, [0, 1, 1]),
    ],
)
def test_threshold_lies_between_two_scores(membership, offset, guesses):
    records = stored([0.2, 0.5, 0.9])
    attack = ThresholdAttack(signal="confidence").fit(records, membership)
    if membership[0] == 1:
        assert attack.score(records, membership) == 0
    else:
        assert attack.offset_ == pytest.approx(offset)
        assert attack.predict(records).tolist() == guesses


def test_all_ties_are_no_evidence():
    records = stored([0.5] * 6)
    attack = ThresholdAttack().fit(records, [0, 1] * 3)
    assert attack.score(records, [0, 1] * 3) == 0


def test_score_is_the_difference_of_the_rates(audit):
    victim, records, membership = audit
    attack = ThresholdAttack(victim).fit(records)
    guesses = attack.predict(records)
    expected = guesses[membership == 1].mean() - guesses[membership == 0].mean()
    np.testing.assert_allclose(attack.score(records, membership), expected)


def test_members_are_found_and_shuffled_ones_are_not(audit):
    victim, records, membership = audit
    for signal in ("loss", "modified_entropy", "hinge"):
        scores = ThresholdAttack(victim, signal=signal).fit(records).score_samples(records)
        assert roc_auc_score(membership, scores) > 0.7
        shuffled = np.random.default_rng(3).permutation(membership)
        assert abs(roc_auc_score(shuffled, scores) - 0.5) < 4 * np.sqrt(1 / 12 / 100)


def test_one_record_is_scored_as_among_others(audit):
    victim, records, _ = audit
    attack = ThresholdAttack(victim).fit(records)
    scores = attack.score_samples(records)
    assert attack.score_samples(records[17]).tolist() == [scores[17]]
    assert attack.predict(records[17]).shape == (1,)


@pytest.mark.parametrize("dtype", [bool, np.float32, str])
def test_labels_may_be_of_every_type(audit, dtype):
    _, records, membership = audit
    y = records.y.astype(dtype)
    members = membership == 1
    victim = RandomForestClassifier(20, random_state=0).fit(records.X[members], y[members])
    scores = [
        ThresholdAttack(FrozenEstimator(model)).fit(some).score_samples(some)
        for model, some in ((victim, Records(records.X, y)), (audit[0], records))
    ]
    np.testing.assert_array_equal(*scores)


def test_stored_answers_give_the_same_scores(audit):
    victim, records, _ = audit
    asked = ThresholdAttack(victim).fit(records).score_samples(records)
    answered = records.with_outputs(victim)
    np.testing.assert_array_equal(ThresholdAttack().fit(answered).score_samples(answered), asked)


def test_label_that_the_victim_does_not_know_is_named(audit):
    records = Records(audit[1].X[:3], [0, 7, 1])
    with pytest.raises(ValueError, match=r"position 1: 7 is none of \[0, 1\]"):
        ThresholdAttack(audit[0]).fit(records)


def test_signals_are_searched_with_the_membership(audit):
    victim, records, membership = audit
    search = GridSearchCV(
        ThresholdAttack(victim), {"signal": ["loss", "max_softmax"]}, scoring="roc_auc", cv=3
    )
    assert search.fit(records, membership).best_params_ == {"signal": "loss"}


@pytest.mark.parametrize(
    "membership, message",
    [
        ([1] * 400, "holds one class only: the records contain no non-members"),
        ([0] * 400, "holds one class only: the records contain no members"),
        ([0, 1], r"one value for each of 400 records; got shape \(2,\)"),
        (np.arange(400), "must be 1 for members and 0 for non-members"),
        (["in", "out"] * 200, "write membership == 'in', or == 'out', by the value of the members"),
        ([None] * 400, "has no value for 400 of 400 records, first at position 0"),
        ([0.0, np.nan] * 200, "has no value for 200 of 400 records, first at position 1"),
        (np.array([1, "a"] * 200, dtype=object), "must be 1 for members .* got the values 1, 'a'"),
    ],
)
def test_unusable_membership_is_refused(audit, membership, message):
    with pytest.raises(ValueError, match=message):
        ThresholdAttack(audit[0]).fit(audit[1], membership)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"signal": 3}, "'signal' parameter of ThresholdAttack"),
        ({"signal": "los"}, "Unknown signal 'los'"),
        ({"mean_train_loss": "low"}, "'mean_train_loss' parameter of ThresholdAttack"),
    ],
)
def test_wrong_parameters_are_named(audit, settings, message):
    with pytest.raises(ValueError, match=message):
        ThresholdAttack(audit[0], **settings).fit(audit[1])


def test_scores_need_fit(audit):
    for call in ("score_samples", "predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(ThresholdAttack(audit[0]), call)(audit[1])
    with pytest.raises(NotFittedError):
        clone(ThresholdAttack(audit[0]).fit(audit[1])).predict(audit[1])


@pytest.mark.parametrize("call", ["fit", "score"])
def test_task_labels_in_the_place_of_membership_are_pointed_out(call):
    y = np.arange(40) % 2
    records = Records(np.arange(40.0)[:, None], y)
    attack = ThresholdAttack(DummyClassifier().fit(records.X, y)).fit(records, np.arange(40) < 20)
    with pytest.warns(UserWarning, match="membership of all records equals their task labels"):
        getattr(attack, call)(records, records.y)
