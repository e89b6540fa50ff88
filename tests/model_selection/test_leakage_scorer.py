"""Leakage as a score: who the members are, and that less is better."""

import pickle
from functools import partial

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import DiversityAttack, LiRA, ThresholdAttack
from skmia.metrics import tpr_at_fpr_score
from skmia.model_selection import RememberTraining, best_below_leakage, make_leakage_scorer

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]
RECORDS = Records(X, Y)
RECORDS_OF_TWO = Records(X[:400], Y[:400] % 2)
TREE = DecisionTreeClassifier(random_state=0)
REMEMBERING = RememberTraining(TREE)
FOLDS = KFold(4, shuffle=True, random_state=0)


def fold_by_hand(score):
    found = []
    for train, _ in FOLDS.split(X):
        victim = FrozenEstimator(clone(TREE).fit(X[train], Y[train]))
        membership = np.isin(np.arange(len(X)), train).astype(int)
        found.append(score(ThresholdAttack(victim).fit(RECORDS), membership))
    return found


def attack_auc(attack):
    return lambda records, members: roc_auc_score(members, attack.score_samples(records))


class BlindToSome(ThresholdAttack):
    """It judges the first 300 of 400 records."""

    def _can_judge(self, records):
        return np.isin(records.fingerprint, RECORDS_OF_TWO[:300].fingerprint)


def cross_score(**settings):
    scorer = make_leakage_scorer(RECORDS, **settings)
    return cross_validate(REMEMBERING, X, Y, cv=FOLDS, scoring=scorer)["test_score"]


def test_it_is_minus_the_advantage_of_the_training_fold():
    expected = fold_by_hand(lambda attack, membership: attack.score(RECORDS, membership))
    np.testing.assert_allclose(cross_score(), np.negative(expected))


@pytest.mark.parametrize(
    "metric, function",
    [("auc", roc_auc_score), (partial(tpr_at_fpr_score, max_fpr=0.1),) * 2],
)
def test_other_metrics_take_scores(metric, function):
    expected = fold_by_hand(
        lambda attack, membership: function(membership, attack.score_samples(RECORDS))
    )
    np.testing.assert_allclose(cross_score(metric=metric), np.negative(expected))


def test_shadow_models_are_trained_as_the_candidate_is():
    attack = LiRA(shadows=ShadowPool(n_estimators=8, random_state=0))
    leakage = -cross_score(attack=attack, metric="auc")
    assert attack.shadows.estimator is None  # what the user gave is left alone
    assert (leakage > -cross_score(metric="auc")).all()


@pytest.mark.parametrize("metric", ["advantage", "auc"])
def test_records_that_the_attack_cannot_judge_are_left_out(metric):
    records, (train, test) = Records(X[:200], Y[:200] % 2), np.split(np.arange(200), [120])
    shadows = ShadowPool(TREE, 4, design="independent", random_state=0)
    victim = RememberTraining(TREE).fit(records.X[train], records.y[train])
    scorer = make_leakage_scorer(records, attack=LiRA(shadows=shadows), metric=metric)
    attack = LiRA(victim.estimator_, FrozenEstimator(clone(shadows).fit(records))).fit(records)
    judged, members = attack.can_judge(records), np.arange(200) < 120
    assert 0 < judged[members].sum() < 120 and 0 < judged[~members].sum() < 80
    measure = attack.score if metric == "advantage" else attack_auc(attack)
    expected = measure(records[judged], members[judged].astype(int))
    assert -scorer(victim, records.X[test], records.y[test]) == pytest.approx(expected)
    assert measure(records, members.astype(int)) != pytest.approx(expected)


def test_a_class_that_the_training_fold_lacks_has_probability_0():
    records, train, test = Records(X[:200], np.append(Y[:199] % 2, 9)), slice(120), slice(120, 200)
    victim = RememberTraining(TREE).fit(records.X[train], records.y[train])
    right = victim.predict(records.X) == records.y
    scorer = make_leakage_scorer(records, attack=ThresholdAttack(signal="correctness"))
    leakage = -scorer(victim, records.X[test], records.y[test])
    assert leakage == pytest.approx(right[train].mean() - right[test].mean())


def test_a_number_of_shadow_models_is_trained_though_the_training_fold_lacks_a_class():
    records, train, test = Records(X[:200], np.append(Y[:199] % 2, 9)), slice(120), slice(120, 200)
    victim = RememberTraining(TREE).fit(records.X[train], records.y[train])
    scorer = make_leakage_scorer(records, attack=LiRA(shadows=4))
    assert -1 <= float(scorer(victim, records.X[test], records.y[test])) <= 1


def test_attack_that_can_judge_no_record_of_one_side_is_refused():
    victim = RememberTraining(TREE).fit(X[:300], Y[:300] % 2)
    scorer = make_leakage_scorer(RECORDS_OF_TWO, attack=BlindToSome())
    with pytest.raises(ValueError, match="BlindToSome can judge none of the 100 non-members; if"):
        float(scorer(victim, X[300:400], Y[300:400] % 2))


def test_attacks_that_learn_from_known_members_do():
    leakage = -cross_score(attack=DiversityAttack(random_state=0))
    assert (leakage > 0).all()


def test_a_search_weighs_leakage_against_accuracy():
    scoring = {"accuracy": "accuracy", "leakage": make_leakage_scorer(RECORDS)}
    search = GridSearchCV(
        REMEMBERING,
        {"estimator__max_depth": [2, 4, 12]},
        scoring=scoring,
        cv=FOLDS,
        refit="leakage",
    )
    search.fit(X, Y)
    leakage = -search.cv_results_["mean_test_leakage"]
    assert (np.diff(leakage) > 0).all()  # a deeper tree keeps more of its records
    assert search.best_params_ == {"estimator__max_depth": 2}  # and less is better
    for limit, depth in ((1.0, 12), ((leakage[1] + leakage[2]) / 2, 4)):
        best = best_below_leakage(limit)(search.cv_results_)
        assert search.cv_results_["params"][best] == {"estimator__max_depth": depth}
    with pytest.raises(ValueError, match=r"No candidate leaks at most -1; the smallest leakage is"):
        best_below_leakage(-1)(search.cv_results_)


@pytest.mark.parametrize(
    "results, message",
    [
        (["score"], "utility='accuracy', .* got one scorer without a name"),
        (["auc", "leakage"], "utility='accuracy', .* got 'auc', 'leakage'"),
        (["accuracy", "privacy"], "leakage='leakage', .* got 'accuracy', 'privacy'"),
    ],
)
def test_scorers_of_other_names_are_named(results, message):
    with pytest.raises(ValueError, match=message):
        best_below_leakage(0.1)({f"mean_test_{name}": [0.0, -0.1] for name in results})


def test_a_mean_of_folds_at_the_limit_is_below_it():
    leakage = [-np.mean([0.1] * 3), -0.2, -0.05]  # the first is -0.10000000000000002
    results = {"mean_test_accuracy": [0.8, 0.9, 0.7], "mean_test_leakage": leakage}
    assert best_below_leakage(0.1)(results) == 0


def test_a_candidate_that_failed_is_not_chosen():
    results = {"mean_test_accuracy": [np.nan, 0.7, 0.6], "mean_test_leakage": [-0.1, -0.1, np.nan]}
    with pytest.warns(
        UserWarning, match="2 of 3 candidates .* number 0, have no accuracy and no l"
    ):
        assert best_below_leakage(0.2)(results) == 1
    results["mean_test_leakage"] = [np.nan] * 3
    with pytest.raises(ValueError, match="All 3 candidates .* no leakage, .* error_score='raise'"):
        best_below_leakage(0.2)(results)


@pytest.mark.usefixtures("copied_workers")
def test_it_can_be_sent_to_workers():
    scorer = pickle.loads(pickle.dumps(make_leakage_scorer(RECORDS)))
    alone = cross_validate(REMEMBERING, X, Y, cv=FOLDS, scoring=scorer)["test_score"]
    two = cross_validate(REMEMBERING, X, Y, cv=FOLDS, scoring=scorer, n_jobs=2)["test_score"]
    np.testing.assert_array_equal(alone, two)


@parametrize_refusals(
    (
        lambda victim: float(make_leakage_scorer(RECORDS)(victim, X / 16, Y)),
        "600 of the 600 rows that are scored are not among",
    ),
    (
        lambda victim: float(make_leakage_scorer(RECORDS)(victim, X, Y)),
        "rows that the model was trained on are not among the re",
    ),
    (
        lambda victim: float(make_leakage_scorer(RECORDS)(clone(REMEMBERING).fit(X, Y), X, Y)),
        "non-members are missing",
    ),
)
def test_other_rows_are_refused(call, words, error):
    victim = RememberTraining(LogisticRegression(max_iter=5000)).fit(X / 16, Y)
    check_refusal(call, words, error, victim)


def test_record_with_a_copy_in_the_training_fold_is_a_member():
    first = np.arange(0, 600, 2)
    records = Records(np.repeat(X[first], 2, axis=0), np.repeat(Y[first], 2))
    test = np.r_[0:200, 200:300:2]  # of 100 records both copies, of 50 records one
    train = np.setdiff1d(np.arange(600), test)
    victim = clone(REMEMBERING).fit(records.X[train], records.y[train])
    leakage = -make_leakage_scorer(records)(victim, records.X[test], records.y[test])
    membership = (np.arange(600) >= 200).astype(int)
    attack = ThresholdAttack(FrozenEstimator(victim.estimator_)).fit(records)
    assert leakage == pytest.approx(attack.score(records, membership))


def test_fold_of_nothing_but_copies_is_refused():
    twice = Records(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    victim = clone(REMEMBERING).fit(X, Y)
    with pytest.raises(ValueError, match="non-members are missing"):
        float(make_leakage_scorer(twice)(victim, X, Y))


def test_people_in_both_folds_are_refused():
    person = np.arange(600) // 3
    scorer = make_leakage_scorer(RECORDS.with_fields(group_by=person))
    victim = clone(REMEMBERING).fit(X[301:], Y[301:])
    with pytest.raises(ValueError, match="divide the records of 1 values of group_by, first of"):
        float(scorer(victim, X[:301], Y[:301]))
    folds = GroupKFold(4).split(X, Y, person)
    together = cross_validate(REMEMBERING, X, Y, cv=folds, scoring=scorer, error_score="raise")
    assert (together["test_score"] < 0).all()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="metric must be 'advantage', 'auc' or a callable"):
        make_leakage_scorer(RECORDS, metric="recall")
    with pytest.raises(TypeError, match="Expected skmia.Records"):
        make_leakage_scorer(X)
