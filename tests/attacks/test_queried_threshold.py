"""What thresholds that were found by queries say of the training rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Perceptron
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skmia import Records
from skmia.attacks import QueriedThresholdAttack, _queried_threshold
from skmia.victims import CallableVictim

N = 400
X, Y = make_classification(N, 4, n_informative=4, n_redundant=0, random_state=0)
RECORDS = Records(X, Y)
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) ** 2))
FOREST = RandomForestClassifier(6, min_samples_leaf=5, random_state=0)


def draw_half(seed):
    """A random half of the records as members."""
    member = np.zeros(N, dtype=bool)
    member[np.random.default_rng(seed).permutation(N)[: N // 2]] = True
    return member


def attack_half(model, member, records=RECORDS, max_queries=4000):
    victim = FrozenEstimator(model.fit(X[member], Y[member]))
    return QueriedThresholdAttack(victim, max_queries=max_queries, random_state=0).fit(records)


@pytest.fixture(scope="module")
def forest_half():
    member = draw_half(0)
    return member, attack_half(FOREST, member)


@pytest.mark.parametrize(
    "model",
    [
        None,  # the forest
        pytest.param(make_pipeline(StandardScaler(), FOREST), marks=pytest.mark.slow),
        pytest.param(
            HistGradientBoostingClassifier(max_iter=30, random_state=0), marks=pytest.mark.slow
        ),
    ],
    ids=["forest", "pipeline", "histogram boosting"],
)
def test_members_are_found_by_answers(forest_half, model):
    member, attack = forest_half
    if model is not None:
        attack = attack_half(model, member)
    scores = attack.score_samples(RECORDS)
    assert roc_auc_score(member, scores) > 0.5 + 6 * ERROR
    # Of as many thresholds that were drawn at random, less than a fifth is explained, see below.
    assert attack.n_thresholds_ > 50 and attack.explained_ > 0.95
    assert attack.n_queries_ <= 4000
    # A membership that was drawn independently of the model is not found.
    others = [roc_auc_score(draw_half(seed), scores) for seed in range(1, 41)]
    assert abs(np.mean(others) - 0.5) < 4 * ERROR / np.sqrt(40)


def test_a_high_score_names_a_member(forest_half):
    member, attack = forest_half
    scores = attack.score_samples(RECORDS)
    n, right = (scores > 4).sum(), member[scores > 4].sum()
    assert n > 50
    # Odds of e^4 are claimed at least; three standard errors of the binomial law are allowed.
    assert right / n > 1 / (1 + np.exp(-4)) - 3 * np.sqrt(0.02 * 0.98 / n)


def test_rounded_answers_of_a_service_and_records_that_come_later():
    member, later = draw_half(1), np.arange(N) % 4 == 0
    forest = RandomForestClassifier(12, min_samples_leaf=5, random_state=0)
    forest.fit(X[member], Y[member])
    victim = CallableVictim(lambda rows: forest.predict_proba(rows).round(2), [0, 1])
    attack = QueriedThresholdAttack(victim, max_queries=2500, random_state=0).fit(RECORDS[~later])
    assert attack.explained_ < 0.9  # a quarter of the records is missing
    scores = attack.score_samples(RECORDS[later])
    assert roc_auc_score(member[later], scores) > 0.5 + 3 * 2 * ERROR
    one = [attack.score_samples(RECORDS[[i]])[0] for i in np.flatnonzero(later)[:5]]
    np.testing.assert_allclose(one, scores[:5], atol=1e-6)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4"):
        attack.score_samples(Records(X[:9, :3] + 100, Y[:9]))


def test_thresholds_that_were_drawn_at_random_say_nothing():
    trees = ExtraTreesClassifier(20, min_samples_leaf=5, random_state=0)
    attack = attack_half(trees, draw_half(0), max_queries=2000)
    assert attack.n_thresholds_ > 50 and attack.explained_ < 0.2
    assert np.abs(attack.score_samples(RECORDS)).mean() < 0.2


def test_victims_that_tell_nothing():
    constant = CallableVictim(lambda rows: np.full((len(rows), 2), 0.5), [0, 1])
    attack = QueriedThresholdAttack(constant, max_queries=1000, random_state=0).fit(RECORDS)
    assert attack.n_thresholds_ == 0 and attack.explained_ == 0
    assert not attack.score_samples(RECORDS).any() and attack.expected_auc_ == 0.5
    model = Perceptron().fit(X, Y)
    with pytest.raises(ValueError, match="the victim returns labels"):
        QueriedThresholdAttack(_Labels().fit(X, Y)).fit(RECORDS)
    smooth = QueriedThresholdAttack(FrozenEstimator(model), max_queries=500).fit(RECORDS)
    assert smooth.n_thresholds_ == 0
    with pytest.raises(ValueError, match="needs a model to query"):
        QueriedThresholdAttack().fit(RECORDS)


class _Labels(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_order_does_not_matter_and_regressors_are_attacked():
    member = draw_half(2)
    victim = FrozenEstimator(DecisionTreeRegressor(random_state=0).fit(X[member, :3], X[member, 3]))
    records = Records(X[:, :3], X[:, 3])
    attack = QueriedThresholdAttack(victim, max_queries=600, random_state=0)
    scores = attack.fit(records).score_samples(records)
    assert roc_auc_score(member, scores) > 0.5 + 4 * ERROR
    again = attack.fit(records[::-1]).score_samples(records)
    np.testing.assert_allclose(again, scores, atol=1e-6)


@pytest.mark.parametrize(("n_explained", "trust"), [(4, 0.75), (1, 0.0), (0, 0.0)])
def test_explanations_are_trusted_as_far_as_they_are_more_than_by_chance(
    n_explained, trust, monkeypatch
):
    shares = []
    monkeypatch.setattr(_queried_threshold, "_count_by_chance", lambda steps, values: 1.0)
    learn = lambda events, passed, kind, prior: shares.append(kind.tolist()) or 0.4  # noqa: E731
    monkeypatch.setattr(_queried_threshold, "_learn_share", learn)
    # Of two thresholds one is explained by a pair, and either by a value alone.
    events = SimpleNamespace(lower=np.arange(3.0), upper=np.array([0.0, 1, 3]))
    events.of_pair, events.n_explained = np.array([0, 1, 1]), n_explained
    steps, sources = SimpleNamespace(columns=[0, 0]), SimpleNamespace(events=events, passed=None)
    found = _queried_threshold.learn_explanation_weights(steps, sources, None, 0.5)
    assert found == (0.5, 1.0, 0.4, trust)
    assert shares == [[1.0, 1.0, 0.5]]
