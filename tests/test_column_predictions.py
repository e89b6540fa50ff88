"""A model that predicts a column, as CatBoost does for several classes, is used like a flat one."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia._core.query import predict_flat
from skmia.attacks import AttributeInferenceAttack, ThresholdAttack
from skmia.defenses import (
    LabelOnlyDefense,
    PATEDefense,
    StudentDefense,
    TopKDefense,
    evaluate_defense,
)
from skmia.defenses._private_search import _run_trial
from skmia.games import membership_game

X, Y = (part[::3] for part in load_iris(return_X_y=True))
PUBLIC = load_iris().data[1::3]


class ColumnTree(DecisionTreeClassifier):
    def predict(self, X):
        return super().predict(X)[:, None]


def play(tree):
    game = membership_game(tree, ThresholdAttack(), Records(X, Y), n_rounds=2, random_state=0)
    return [game[name] for name in ("train_score", "test_score", "worst_case")]


def evaluate(tree):
    candidates = {"tree": tree, "labels": LabelOnlyDefense(tree)}
    settings = {"n_estimators": 4, "n_targets": 2, "random_state": 0}
    frame = evaluate_defense(candidates, Records(X, Y), **settings).to_frame()
    return frame[["train_accuracy", "test_accuracy", "calibration_error", "label_advantage"]]


def count_votes(tree):
    defense = PATEDefense(tree, PUBLIC, n_teachers=5)
    parts, seeds = np.arange(len(X)).reshape(5, -1, order="F"), np.random.SeedSequence(0).spawn(5)
    votes = defense._count_votes(X, Y, parts, seeds, PUBLIC, np.unique(Y))
    assert (votes.sum(axis=1) == 5).all()  # one for each teacher, on which its epsilon relies
    return votes


def teach(tree):
    return StudentDefense(tree, PUBLIC, labels="hard", random_state=0).fit(X, Y).predict(X)


def compare_baseline(tree):
    coarse = Records(X.round(), Y)
    victim = DecisionTreeClassifier(max_depth=2, random_state=0).fit(coarse.X, Y)
    attack = AttributeInferenceAttack(victim, sensitive=3, baseline=tree, random_state=0)
    return attack.fit(coarse[::2]).compare(coarse[1::2])


@pytest.mark.parametrize(
    "use",
    [
        play,
        evaluate,
        count_votes,
        teach,
        compare_baseline,
        lambda tree: TopKDefense(tree).fit(X, Y).predict(X),
        lambda tree: _run_trial(0, tree, (X[::2], Y[::2]), (X, Y, None, 0.0), 0, None).score,
    ],
    ids=["game", "evaluation", "votes", "student", "baseline", "defense", "private search"],
)
def test_a_column_of_predictions_counts_as_a_flat_array(use):
    settings = {"max_depth": 2, "random_state": 0}
    found, wanted = use(ColumnTree(**settings)), use(DecisionTreeClassifier(**settings))
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)


def test_predictions_of_several_outputs_stay_a_matrix():
    model = DecisionTreeClassifier().fit(X, np.column_stack([Y, Y]))
    assert predict_flat(model, X).shape == (len(X), 2)
