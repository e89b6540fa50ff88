"""What the unlearning game refuses, in one sentence each."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.exceptions import TrainingError
from skmia.games import unlearning_game
from skmia.games.unlearning import SISA, FineTuning, NegativeWeights, Relabeling, WeightNoise

RECORDS = Records(np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2)
MARGINS = LinearSVC(random_state=0).fit(RECORDS.X, RECORDS.y)
SETTINGS = {
    "train": LogisticRegression(),
    "unlearn": "noop",
    "records": RECORDS,
    "n_estimators": 4,
    "n_targets": 2,
    "random_state": 0,
}


def train_by_hand(X, y, seed):
    return LogisticRegression().fit(X, y).predict_log_proba


class Unweighted(GaussianNB):
    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes)


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"unlearn": "forget"}, ValueError, "unlearn must be one of 'retrain', 'noop'"),
        ({"unlearn": FineTuning}, ValueError, "an object such as FineTuning"),
        ({"unlearn": None}, ValueError, "got None"),
        ({"train": GaussianNB}, TypeError, "got the class GaussianNB, not an instance"),
        ({"train": 3}, TypeError, "train must be an estimator or a function"),
        ({"forget": 1.5}, ValueError, "'forget' parameter of unlearning_game"),
        ({"forget": 0.01}, ValueError, "at least 2 must be forgotten"),
        ({"attacks": ("lira",)}, ValueError, "attacks must name one or more of 'population'"),
        ({"attacks": ()}, ValueError, "attacks must name one or more"),
        ({"attacks": True}, ValueError, "attacks must name one or more .* got True"),
        ({"attacks": np.array(1.0)}, ValueError, "attacks must name one or more .* got array"),
        ({"n_targets": 1}, ValueError, "'n_targets' parameter"),
        ({"confidence_level": 95}, ValueError, "confidence_level"),
        ({"max_fpr": 2}, ValueError, "max_fpr must be"),
        ({"records": np.eye(3)}, TypeError, "Expected skmia.Records"),
        ({"unlearn": lambda *_: None}, TypeError, "unlearn must return the model .* got NoneType"),
        (
            {"train": train_by_hand, "unlearn": lambda *_: None},
            TypeError,
            "unlearn must return the model .* got NoneType",
        ),
        ({"unlearn": lambda *_: MARGINS}, ValueError, "got proba before and decision after"),
        ({"train": DecisionTreeClassifier(), "unlearn": "noise"}, TypeError, "model with weights"),
        ({"train": RandomForestClassifier(), "unlearn": "finetune"}, TypeError, "partial_fit; got"),
        ({"train": GaussianNB(), "unlearn": "noise"}, TypeError, "model with weights"),
        ({"train": MLPClassifier(), "unlearn": NegativeWeights()}, TypeError, "no effect"),
        (
            {"train": MLPClassifier(early_stopping=True), "unlearn": "relabel"},
            TypeError,
            "partial_fit of MLPClassifier takes no early_stopping=True. Set it to False",
        ),
        (
            {"train": HistGradientBoostingClassifier(early_stopping=True), "unlearn": "finetune"},
            TypeError,
            "partial_fit; got HistGradientBoostingClassifier",
        ),
        ({"train": GaussianNB(), "unlearn": WeightNoise()}, TypeError, "model with weights"),
        ({"train": SVC(), "unlearn": "noise"}, TypeError, "model with weights .* got SVC"),
        ({"unlearn": "negative"}, TypeError, "partial_fit; got LogisticRegression"),
        (
            {"train": Unweighted(), "unlearn": NegativeWeights()},
            TypeError,
            "partial_fit of Unweighted takes no sample_weight. Pass a function unlearn",
        ),
        ({"unlearn": SISA(12)}, TrainingError, "Shard .* use fewer shards"),
        ({"unlearn": SISA(0)}, ValueError, "'n_shards' parameter of SISA must be"),
        ({"unlearn": FineTuning(0)}, ValueError, "'n_epochs' parameter of FineTuning"),
        ({"unlearn": Relabeling(n_epochs=-1)}, ValueError, "'n_epochs' parameter of Relabeling"),
        ({"unlearn": WeightNoise(np.nan)}, ValueError, "'scale' parameter of WeightNoise"),
        ({"n_estimators": 2, "forget": 0.1}, ValueError, "shadow models are too few"),
    ],
)
def test_one_sentence_says_what_is_wrong(change, error, words):
    with pytest.raises(error, match=words) as caught:
        unlearning_game(**{**SETTINGS, **change})
    assert "\n" not in str(caught.value)


def test_labels_alone_are_refused():
    with pytest.raises(ValueError, match="got label"):
        unlearning_game(**{**SETTINGS, "train": LabelsAlone()})


class LabelsAlone(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=int)
