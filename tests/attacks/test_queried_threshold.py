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
from skmia.victims import CallableVictim, SplitEvents

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
    steps.columns = [0]
    found = _queried_threshold.learn_explanation_weights(steps, sources, None, 0.5)
    assert found[:2] == (1.0, 2.0)


def test_thresholds_are_explained_by_values_and_pairs_of_their_column():
    # Four candidates, and a further record that passes nothing over.
    values = np.array([[1.0, 0.0], [3.0, 10.0], [3.0, 20.0], [5.0, np.nan], [4.0, 30.0]])
    places = np.array([3.0, 99.0, 15.0, 25.0, 10.0])
    steps = _queried_threshold.DistinctThresholds(
        np.array([0, 0, 1, 1, 1]), places, places, np.array([0, 4, 2, 4]), np.array([1, 0, 1, 2])
    )
    found = _queried_threshold.list_sources(steps, values, 4)
    events = found.events
    # The places 3 = (1 + 5) / 2 and the value 3; nothing; 15 = (0 + 30) / 2 = (10 + 20) / 2;
    # 25 = (20 + 30) / 2; and 10 = (0 + 20) / 2 and the value 10.
    assert events.candidates.tolist() == [0, 1, 2, 4, 3, 0, 1, 2, 4, 2, 4, 0, 1, 2]
    assert events.slots.tolist() == [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert events.of_slot.tolist() == [0] * 4 + [2] * 4 + [3] * 2 + [4] * 3
    assert events.lower.tolist() == [0, 1, 4, 5, 8, 10, 11]
    assert events.upper.tolist() == [3, 1, 7, 6, 9, 12, 11]
    assert events.of_pair.tolist() == [0, 0, 2, 2, 3, 4, 4]
    assert found.passed.tolist() == [2, 0, 2, 0, 0, 1, 0]
    assert np.flatnonzero(found.present).tolist() == [1, 6, 11, 13]
    assert (events.n_thresholds, events.n_explained) == (5, 4)
    assert not events.others.any() and len(events.others) == 13


# Explanations of three thresholds: the weight of each, which records have each of its values, and
# whose values are between them. Records 0 and 1 share a value.
def by_value(record):
    return (0.3, [(record,)], [])


def by_pair(lower, upper, between=()):
    return (0.8, [lower, upper], between)


THRESHOLDS = [
    [by_pair((0, 1), (2,)), by_pair((3,), (5,)), by_value(3)],
    [by_pair((0,), (5,), [4]), by_value(4), by_value(0)],
    [by_pair((2,), (4,)), by_value(2), by_value(4), by_value(5), by_value(6)],
]
EVENTS = SplitEvents(
    kept=1.0,
    candidates=np.array([0, 1, 2, 3, 5, 0, 4, 5, 2, 4, 5, 6]),
    slots=np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    of_slot=np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]),
    others=np.zeros(11),
    lower=np.array([0, 2, 2, 4, 5, 4, 7, 7, 8, 9, 10]),
    upper=np.array([1, 3, 2, 6, 5, 4, 8, 7, 8, 9, 10]),
    of_pair=np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]),
    n_thresholds=3,
    n_explained=3,
)
# Entries of which it is known that the record is at the node.
PRESENT = np.isin(np.arange(12), [0, 3, 5, 9])
LEARNED = _queried_threshold.ExplanationWeights(0.8, 0.3, share=0.4, trust=0.9)


def explain(threshold, there):
    """Return how likely a threshold is, where records are at its node with these probabilities."""
    likely = 0.0
    for weight, values, between in threshold:
        ends = [1 - np.prod([1 - there[one] for one in records]) for records in values]
        likely += weight * np.prod(ends) * np.prod([1 - there[one] for one in between])
    return likely


def infer_in_loops(prior, n_candidates, known=None):
    """Weigh each record by the thresholds, each of which knows what the others say of it."""
    records, of_entry = EVENTS.candidates, EVENTS.of_slot[EVENTS.slots]
    kept = np.where(PRESENT, 1 - np.exp(-1), 0.4)
    said = np.zeros(len(records))
    for turn in range(4):
        ratios = np.bincount(records, said)
        if known is not None:
            ratios[:n_candidates] = known
        odds = prior / (1 - prior) * np.exp(ratios[records] - said)
        there = np.where(records < n_candidates, kept * odds / (1 + odds), 0.0)
        new = []
        for one, event, share in zip(records, of_entry, kept, strict=True):
            at_node = dict(zip(records[of_entry == event], there[of_entry == event], strict=True))
            with_it, without = (explain(THRESHOLDS[event], at_node | {one: p}) for p in (1.0, 0.0))
            new.append(np.log1p(share * 0.9 * (with_it / without - 1)))
        damping = _queried_threshold.DAMPING if turn else 0.0
        said = (1 - damping) * np.array(new) + damping * said
    return np.bincount(records, said)


def test_each_threshold_says_of_a_record_how_much_likelier_it_is_with_it():
    sources = _queried_threshold.ThresholdSources(EVENTS, PRESENT, None)
    found = _queried_threshold.infer(sources, LEARNED, 7, prior=0.3)
    np.testing.assert_allclose(found, infer_in_loops(0.3, 7), rtol=1e-5)
    # Records that explain nothing.
    np.testing.assert_allclose(_queried_threshold.infer(sources, LEARNED, 9, 0.3), [*found, 0, 0])


def test_further_records_are_judged_by_what_is_known_and_do_not_count_for_each_other():
    sources = _queried_threshold.ThresholdSources(EVENTS, PRESENT, None)
    known = np.array([0.5, -0.25, 1.0, 2.0, -1.0])
    found = _queried_threshold.infer(sources, LEARNED, 5, 0.3, known)
    np.testing.assert_allclose(found[5:], infer_in_loops(0.3, 5, known)[5:], rtol=1e-5)


def learn_share(lower, upper, of_pair, passed, kind, prior):
    events = SimpleNamespace(lower=np.array(lower), upper=np.array(upper))
    events.of_pair, events.n_thresholds = np.array(of_pair, dtype=int), 3
    return _queried_threshold._learn_share(events, np.array(passed), np.array(kind), prior)


def test_the_share_in_the_samples_is_learned_from_how_many_values_are_passed_over():
    in_sample = 1 - np.exp(-1)
    # Without a pair nothing is learned.
    assert learn_share([], [], [], [], [], 0.5) == pytest.approx(in_sample / 2)
    assert learn_share([1, 2], [1, 2], [0, 1], [0, 0], [1, 1], 0.5) == pytest.approx(in_sample / 2)
    # Of two members at a time, so many of all others are passed over.
    one = [0], [1], [1], [6], [0.7]
    assert learn_share(*one, 0.5) == pytest.approx(2 / (2 + 6) / 0.5)
    two = [0, 2, 5], [1, 3, 5], [0, 1, 2], [9, 1, 0], [0.7, 0.7, 0.1]
    assert learn_share(*two, 0.75) == pytest.approx(4 / (4 + 9 + 1) / 0.75)
    assert learn_share([0], [1], [1], [0], [0.7], 0.5) == pytest.approx(in_sample)
    # Of two explanations of a threshold, each counts as far as it is likely, with that share.
    kind, passed, prior = np.array([0.9, 0.2, 0.9]), np.array([4, 0, 12]), 0.8
    share = learn_share([0, 3, 5], [2, 3, 9], [0, 0, 1], passed, kind, prior)
    there = share * prior
    pair, value = 0.9 * there**2 * (1 - there) ** 4, 0.2 * there
    likely = pair / (pair + value)
    ends = 2 * (likely + 1)
    assert there == pytest.approx(ends / (ends + 4 * likely + 12), rel=1e-5)


def test_chance_is_counted_beside_the_thresholds_on_both_sides():
    values = np.array([[-9.0, 1000.0], [-7.0, 1001.0], [-2.0, 1004.0]])
    # Of a midpoint in each column, a value and nothing: of the three, two are above, one below.
    middle = np.array([-8.0, 1000.5, -2.0, -6.0])
    columns = np.array([0, 1, 0, 0])
    scale = np.abs(values).mean(axis=0)[columns]
    slack = _queried_threshold.get_slack(middle, scale)
    places = middle + _queried_threshold._ASIDE * slack * np.array([-1, -1, 1, 1])
    steps = _queried_threshold.DistinctThresholds(
        columns, places, places, np.array([]), np.array([])
    )
    assert _queried_threshold._count_by_chance(steps, values) == 1.5
    # What is there itself is no chance.
    steps = steps._replace(lower=middle, upper=middle)
    assert _queried_threshold._count_by_chance(steps, values) == 0
