"""Attacks that learn from known members judge each record without having learned it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records
from skmia.attacks import QuantileAttack, RenyiAttack, ThresholdAttack
from skmia.base._cross_fitting import assign_folds, cross_fit, judge_records, learns, score
from skmia.signals import Signals


def make_records(n=60, seed=0, **fields):
    """Records with answers that have nothing to do with who is a member."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.05, 0.95, size=n)
    outputs = Outputs(np.column_stack([1 - values, values]), [0, 1])
    records = Records(rng.normal(size=(n, 2)), rng.integers(0, 2, n), outputs=outputs, **fields)
    return records, rng.permutation(n) % 2 == 1


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the records that it was fitted on, and says so of every record."""

    def __init__(self, victim=None):
        self.victim = victim

    def needs(self):
        return RenyiAttack().needs()

    def fit(self, records, membership):
        self.seen_, self.classes_ = records.fingerprint, np.array([0, 1])
        self.share_ = np.mean(membership)
        return self

    def decision_function(self, records):
        return 0.5 + np.isin(records.fingerprint, self.seen_)

    def predict(self, records):
        return (self.decision_function(records) > 1).astype(int)


def test_no_record_is_judged_by_an_attack_that_knows_it():
    records, membership = make_records()
    judged = cross_fit(Memory(), records, membership, seed=0)
    assert not judged.guesses.any()
    assert judged.judged.all()
    assert np.allclose(judged.scores, 0.5)  # all records of a fold tie


def test_folds_keep_copies_and_people_together_and_have_both_sides():
    records, membership = make_records(group_by=np.arange(60) // 2)
    membership = np.repeat(membership[::2], 2)
    records, membership = (
        Records.concat([records, records[:10]]),
        np.append(membership, membership[:10]),
    )
    folds = assign_folds(records, membership, 0)
    assert folds.max() == 4
    assert np.array_equal(folds[:60:2], folds[1:60:2]) and np.array_equal(folds[60:], folds[:10])
    counts = np.array([np.bincount(folds[membership == side]) for side in (True, False)])
    assert (np.ptp(counts, axis=1) <= 4).all() and counts.min() >= 2
    order = np.random.default_rng(0).permutation(70)
    assert np.array_equal(assign_folds(records[order], membership[order], 0), folds[order])
    assert not np.array_equal(assign_folds(records, membership, 1), folds)


def test_people_on_both_sides_are_in_one_fold():
    records, membership = make_records(group_by=np.arange(60) // 3)
    folds = assign_folds(records, membership, 0)
    assert np.array_equal(folds[::3], folds[1::3]) and np.array_equal(folds[::3], folds[2::3])


def test_fewer_folds_where_there_are_few_members():
    records, membership = make_records()
    few = np.flatnonzero(membership)[:3]
    rows = np.append(few, np.flatnonzero(~membership))
    assert assign_folds(records[rows], membership[rows], 0).max() == 2
    with pytest.raises(ValueError, match="at least two members and two non-members"):
        assign_folds(records[rows[2:]], membership[rows[2:]], 0)


def test_population_is_the_non_members_of_the_other_folds():
    records, membership = make_records(200)
    attack = QuantileAttack(target_fpr=0.2, cv=3, estimator=DecisionTreeRegressor(max_depth=2))
    assert learns(attack) and not learns(ThresholdAttack())
    judged = cross_fit(attack, records, membership, seed=0)
    assert judged.scores.shape == (200,)
    assert attack.population is None


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        pytest.param(
            DecisionTreeClassifier(min_samples_leaf=3, random_state=0), marks=pytest.mark.slow
        ),
    ],
    ids=["logistic", "tree"],
)
def test_nothing_is_found_where_there_is_nothing(classifier):
    """The mean AUC and advantage of 8 null worlds are chance, to four standard errors."""
    attack = make_pipeline(Signals(signals=["scaled_logit", "max_softmax"]), classifier)
    found, flattered = [], []
    for seed in range(8):
        records, membership = make_records(60, seed)
        judged = cross_fit(attack, records, membership, seed)
        advantage = judged.guesses[membership].mean() - judged.guesses[~membership].mean()
        found.append([roc_auc_score(membership, judged.scores) - 0.5, advantage])
        fitted = attack.fit(records, membership)
        flattered.append(roc_auc_score(membership, fitted.predict_proba(records)[:, 1]))
    found = np.array(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (abs(found.mean(axis=0)) < 4 * error).all()
    # An attack that is asked about what it has learned is flattered.
    assert np.mean(flattered) > 0.5 + 4 * np.std(flattered) / np.sqrt(len(flattered))


def test_frozen_attack_learns_nothing_more():
    assert not learns(FrozenEstimator(RenyiAttack()))


class GivenScores:
    """An attack whose scores are the records' own, in the form that a test asks for."""

    def __init__(self, **given):
        vars(self).update(given)


def test_records_are_known_whatever_the_order_of_their_columns():
    records, membership = make_records()
    records = Records(pd.DataFrame(records.X, columns=["b", "a"]), records.y)
    turned = Records(records.X[["a", "b"]], records.y)
    victim = LogisticRegression().fit(records.X[membership], records.y[membership])
    attack = RenyiAttack(victim, random_state=0).fit(records, membership)
    np.testing.assert_array_equal(attack.score_samples(turned), attack.score_samples(records))
    attack = RenyiAttack(victim, cross_fit=False).fit(records[1:], membership[1:])
    with pytest.raises(ValueError, match="59 of 60 records are among those"):
        attack.score_samples(turned)


def test_scores_and_predictions_are_read_in_the_form_that_an_attack_has():
    records, values = Records([[0.0], [1.0], [2.0]]), np.array([-1.0, 0.5, 2.0])

    def give(form):
        return lambda records: form[: len(records)]

    two = np.column_stack([1 - values, values])
    forms = {
        "score_samples": values,
        "decision_function": values,
        "predict_proba": two,
        "predict": values,
    }
    for name, form in forms.items():
        worse = {other: give(-values) for other in list(forms)[list(forms).index(name) + 1 :]}
        np.testing.assert_array_equal(
            score(GivenScores(**{name: give(form)}, **worse), records), values
        )
    with pytest.raises(TypeError, match="GivenScores has no method that scores records"):
        score(GivenScores(), records)
    # A score at the threshold itself is one of a member; predictions are asked for without one.
    for offset, expected in ((0.5, [0, 1, 1]), (0.6, [0, 0, 1])):
        attack = GivenScores(score_samples=give(values), offset_=offset, predict=give(1 - values))
        np.testing.assert_array_equal(judge_records(attack, records).guesses, expected)
    attack = GivenScores(score_samples=give(values), predict=give(np.array([1, 0, 1])))
    np.testing.assert_array_equal(judge_records(attack, records).guesses, [1, 0, 1])
