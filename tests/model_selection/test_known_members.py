"""Attacks that learn from known members, in games, scorers and evaluations."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_validate
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, QuantileAttack, RenyiAttack, ShadowAttack, ThresholdAttack
from skmia.attacks.white_box import GradientAttack
from skmia.defenses import evaluate_defense
from skmia.disparity import DisparityTest
from skmia.games import leave_two_unlabeled, membership_game
from skmia.model_selection import RememberTraining, make_leakage_scorer
from skmia.signals import Signals

TREE = DecisionTreeClassifier(random_state=0)
SMALL = DecisionTreeClassifier(max_depth=3, random_state=0)
QUANTILES = QuantileAttack(target_fpr=0.2, cv=3, estimator=DecisionTreeRegressor(max_depth=2))


class Deaf(ClassifierMixin, BaseEstimator):
    """Learns nothing, so that nothing can leak."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def make_records(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return Records(X, (X[:, 0] + rng.normal(size=n) > 0).astype(int), group=np.arange(n) % 2)


RECORDS = make_records()


@pytest.mark.parametrize(
    "attack",
    [
        RenyiAttack(cv=2),
        QUANTILES,
        make_pipeline(Signals(signals=["loss", "entropy"]), SMALL),
        pytest.param(
            StackingClassifier(
                [
                    ("lira", LiRA(online=False, shadows=ShadowPool(TREE, 2, store="models"))),
                    ("quantiles", QUANTILES),
                ],
                SMALL,
                cv=2,
            ),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["renyi", "population", "pipeline", "stack"],
)
def test_attacks_that_learn_play_the_game(attack):
    settings = {"n_rounds": 1, "random_state": 0}
    records = RECORDS[:100]
    game = membership_game(TREE, attack, records, **settings)
    assert (game["vulnerability"] > 0).all()
    again = membership_game(TREE, attack, records, **settings)
    assert np.array_equal(again["vulnerability"], game["vulnerability"])


def test_training_that_leaks_nothing_is_not_found_out_by_attacks_that_learn():
    attack = make_pipeline(Signals(signals=["loss", "entropy"]), TREE)
    found = membership_game(Deaf(), attack, RECORDS, n_rounds=8, random_state=0)["vulnerability"]
    # 0.1% of Student's t with 7 degrees of freedom is beyond 5.4.
    assert abs(found.mean()) < 5.4 * found.std(ddof=1) / np.sqrt(8)


def test_groups_can_be_tested_with_an_attack_that_learns():
    test = DisparityTest(TREE, RenyiAttack(cv=2), n_rounds=3, random_state=0).fit(RECORDS)
    assert test.vulnerabilities_.shape == (3, 2)


@pytest.mark.parametrize(
    "attack, estimator, reason",
    [
        (LiRA(), TREE, "needs shadow models, which a game does not make: give it shadows="),
        (GradientAttack(), TREE, "gradients of the victim, which skmia cannot read from Dec"),
        (ThresholdAttack(signal="squared_error"), TREE, "the victim returns class prob"),
        (ShadowAttack(shadows=ShadowPool(TREE, 4)), TREE, 'store="outputs"'),
        (RMIA(temperature=5.0, shadows=ShadowPool(TREE, 4)), TREE, "temperatures="),
    ],
)
def test_game_that_cannot_be_played_is_refused_before_a_victim_is_trained(
    attack, estimator, reason, monkeypatch
):
    monkeypatch.setattr(DecisionTreeClassifier, "fit", pytest.fail)
    with pytest.raises(ValueError, match=f"cannot play this game.*{reason}"):
        membership_game(estimator, attack, RECORDS)


def test_white_box_attack_plays_the_game_of_perceptrons():
    net = MLPClassifier((4,), solver="lbfgs", max_iter=2000, random_state=0)
    attack = GradientAttack(cv=2, attack_estimator=SMALL)
    game = membership_game(net, attack, RECORDS[:150], n_rounds=1, random_state=0)
    assert np.isfinite(game["vulnerability"]).all()


def test_leakage_is_scored_with_attacks_that_learn():
    X, y = load_digits(return_X_y=True)
    X, y = X[:250, ::2], y[:250]
    attack = make_pipeline(Signals(signals=["loss"]), LogisticRegression())
    for metric in ("advantage", "auc"):
        scorer = make_leakage_scorer(Records(X, y), attack=attack, metric=metric)
        folds = KFold(2, shuffle=True, random_state=0)
        scores = [
            cross_validate(
                RememberTraining(model), X, y, cv=folds, scoring=scorer, error_score="raise"
            )["test_score"]
            for model in (TREE, DecisionTreeClassifier(max_depth=2))
        ]
        assert (scores[0] < scores[1]).all()


def test_leakage_scorer_refuses_what_cannot_run():
    with pytest.raises(TypeError, match="attack on membership; got DecisionTreeClassifier"):
        make_leakage_scorer(RECORDS, attack=TREE)
    victim = RememberTraining(TREE).fit(RECORDS.X[:150], RECORDS.y[:150])
    for attack in (LiRA(), GradientAttack()):
        scorer = make_leakage_scorer(RECORDS, attack=attack)
        with pytest.raises(ValueError, match="cannot measure this model: it needs"):
            float(scorer(victim, RECORDS.X[150:], RECORDS.y[150:]))


def test_pair_game_without_refit_refuses_attacks_that_learn():
    attack = make_pipeline(Signals(), LogisticRegression())
    queried = RECORDS.with_outputs(Deaf().fit(None, None))
    membership = np.arange(300) % 2
    with pytest.raises(ValueError, match="learns from known members.*refit=True"):
        leave_two_unlabeled(attack, queried, membership)
    found = leave_two_unlabeled(attack, queried, membership, n_rounds=5, refit=True, random_state=0)
    assert 0 <= found.accuracy <= 1


def test_defenses_are_evaluated_by_attacks_that_read_them():
    settings = {"n_estimators": 4, "n_targets": 2, "random_state": 0}
    evaluation = evaluate_defense({"t": SMALL}, RECORDS, attack=RMIA(temperature=5.0), **settings)
    assert evaluation.targets["auc"].notna().all()
    with pytest.raises(TypeError, match="compares records with shadow models; got ThresholdAttack"):
        evaluate_defense({"t": SMALL}, RECORDS, attack=ThresholdAttack(), **settings)
