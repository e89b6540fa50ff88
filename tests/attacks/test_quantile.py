"""Worlds in which the conditional distribution of the evidence is known."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom, norm
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from skmia import Outputs, Records
from skmia.attacks import QuantileAttack, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import LabelOnlyDefense

# By how many of its own standard deviations the evidence of a member is raised.
SHIFT = 1.5


@pytest.fixture(autouse=True)
def fewer_trees(monkeypatch):
    """Let boosted trees take a fifth of the steps, each five times as long, and fewer trees."""

    def boost(learning_rate, **settings):
        return HistGradientBoostingRegressor(
            learning_rate=5 * learning_rate, max_iter=20, **settings
        )

    few = partial(ExtraTreesRegressor, n_estimators=10)
    monkeypatch.setattr("skmia.attacks._quantile.HistGradientBoostingRegressor", boost)
    monkeypatch.setattr("skmia.attacks._quantile.ExtraTreesRegressor", few)


def draw_world(n, seed, share=0.5, spread=0.7):
    """Records with normal evidence, N(3 x_0, exp(spread x_1)) for a non-member; membership."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    std = np.exp(spread * X[:, 1])
    membership = (np.arange(n) < share * n).astype(int)
    evidence = 3 * X[:, 0] + std * (rng.normal(size=n) + SHIFT * membership)
    answers = Outputs(np.column_stack([np.zeros(n), evidence]), [0, 1], "logits")
    return Records(X, np.ones(n, dtype=int), outputs=answers), membership, evidence, std


def test_the_best_standardized_score_is_approached():
    population = draw_world(2000, 0, share=0)[0]
    records, membership, evidence, std = draw_world(8000, 1)
    best = norm.cdf(SHIFT / np.sqrt(2))
    ideal = (evidence - 3 * records.X[:, 0]) / std
    assert roc_auc_score(membership, ideal) == pytest.approx(best, abs=0.01)
    attack = QuantileAttack(population=population, cv=3, random_state=0).fit(records)
    auc = roc_auc_score(membership, attack.score_samples(records))
    assert best - 0.03 < auc < best + 0.01
    plain = ThresholdAttack(signal="scaled_logit").fit(records)
    assert auc > roc_auc_score(membership, plain.score_samples(records)) + 0.1


def test_with_the_true_model_the_score_is_the_standardized_residual():
    # One standard deviation for all: the mean absolute deviation is sqrt(2 / pi) of it.
    population = draw_world(3000, 0, share=0, spread=0)[0]
    records, _, evidence, _ = draw_world(300, 1, spread=0)
    attack = QuantileAttack(population=population, estimator=LinearRegression(), random_state=0)
    scores = attack.fit(records).score_samples(records)
    residual = (evidence - 3 * records.X[:, 0] - norm.ppf(0.95)) / np.sqrt(2 / np.pi)
    assert np.corrcoef(scores, residual)[0, 1] > 0.99
    # The standard error of a quantile of 600 records is 0.11 here, and five are averaged.
    assert np.mean(scores - residual) == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize(
    ("estimator", "target_fpr"),
    [(DummyRegressor(), 0.25), (DecisionTreeRegressor(random_state=0), 0.05)],
    ids=["dummy", "tree"],
)
def test_the_false_positive_rate_is_the_wanted_one_on_average(estimator, target_fpr):
    # A fold of 20 flags a further record with probability 1/21, or 5/21, however bad the model.
    expected = int(target_fpr * 21) / 21
    n_worlds, n_new, flagged = 10, 25, []
    for seed in range(n_worlds):
        records = draw_world(60 + n_new, seed, share=0)[0]
        attack = QuantileAttack(
            population=records[:60],
            estimator=estimator,
            target_fpr=target_fpr,
            cv=3,
            random_state=0,
        )
        flagged.append(attack.fit(records).predict(records[60:]).mean())
    error = np.std(flagged) / np.sqrt(n_worlds)
    assert abs(np.mean(flagged) - expected) < 3 * error
    assert expected <= target_fpr


def test_a_deviation_is_of_a_record_that_its_model_has_not_seen_and_of_no_further_fold():
    n_rows = []

    class Counted(DummyRegressor):
        def fit(self, X, y):
            n_rows.append(len(X))
            return super().fit(X, y)

    records = draw_world(30, 0, share=0)[0]
    settings = {"estimator": Counted(), "target_fpr": 0.2, "cv": 3, "random_state": 0}
    QuantileAttack(population=records, **settings).fit(records)
    # Three pairs of folds of ten are left out; then location and scale learn from two folds.
    assert n_rows == 3 * [10] + 6 * [20]


def test_the_false_positive_rate_of_one_population_is_within_its_interval():
    n, target = 4000, 0.1
    population, new = draw_world(n, 0, share=0)[0], draw_world(n, 1, share=0)[0]
    attack = QuantileAttack(
        population=population, estimator=LinearRegression(), target_fpr=target, random_state=0
    ).fit(new)
    low, high = binom.ppf([0.001, 0.999], n, target) / n
    # Threshold and rate are from samples of n each.
    margin = np.sqrt(2) * (high - low) / 2
    assert abs(attack.predict(new).mean() - target) < margin
    # Of the population itself no fold flags more than its share.
    assert attack.predict(population).mean() <= target


def test_members_of_the_population_are_not_scored_by_what_has_seen_them():
    # A tree of full depth knows its training records by heart; all evidence here is noise.
    records = draw_world(600, 0, share=0)[0]
    tree = DecisionTreeRegressor(random_state=0)
    attack = QuantileAttack(population=records[:300], estimator=tree, random_state=0).fit(records)
    known, new = (attack.score_samples(half) for half in (records[:300], records[300:]))
    assert roc_auc_score(np.repeat([0, 1], 300), np.abs(np.concatenate([known, new]))) < 0.6


def test_the_order_of_the_population_changes_nothing():
    records = draw_world(120, 0)[0]
    order = np.random.default_rng(0).permutation(60)
    scores = [
        QuantileAttack(population=population, cv=3, random_state=0)
        .fit(records)
        .score_samples(records)
        for population in (records[:60], records[:60][order])
    ]
    np.testing.assert_array_equal(*scores)


def test_units_of_the_evidence_change_nothing():
    records, _, evidence, _ = draw_world(400, 0)
    scores = []
    for values in (evidence, 10 * evidence + 3):
        answers = Outputs(np.column_stack([np.zeros(400), values]), [0, 1], "decision")
        again = records.with_fields(outputs=answers)
        attack = QuantileAttack(
            population=again[200:], estimator=LinearRegression(), random_state=0
        )
        scores.append(attack.fit(again).score_samples(again))
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)  # the features are in float32


def test_people_that_are_not_in_the_population_are_flagged_as_rarely_as_those_that_are():
    # A tree of full depth knows a person by any other record; all evidence is noise.
    n, person = 400, np.repeat(np.arange(100), 4)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))[person] + 1e-6 * rng.normal(size=(n, 3))
    evidence = rng.normal(size=100)[person] + 0.1 * rng.normal(size=n)
    answers = Outputs(np.column_stack([np.zeros(n), evidence]), [0, 1], "logits")
    records = Records(X, np.ones(n, dtype=int), outputs=answers, group_by=person)
    known = person < 60
    tree = DecisionTreeRegressor(random_state=0)
    attack = QuantileAttack(population=records[known], estimator=tree, random_state=0)
    scores = attack.fit(records).score_samples(records)
    assert roc_auc_score(~known, np.abs(scores)) < 0.6
    # A further record of a person is not compared with what has learned the person.
    further = attack._assign_folds(Records(X + 1e-5, records.y, group_by=person))
    np.testing.assert_array_equal(further[known], attack._assign_folds(records)[known])
    np.testing.assert_array_equal(further[known][::4], further[known][3::4])
    assert len(set(further[~known][:4])) > 1


def test_copies_share_a_fold():
    records = draw_world(150, 0, share=0)[0]
    twice = Records.concat([records, records])
    # This rate needs 100 records in each of the three folds, which is refused if one has fewer.
    attack = QuantileAttack(population=twice, target_fpr=1 / 101, cv=3, random_state=0)
    scores = attack.fit(twice).score_samples(twice)
    np.testing.assert_array_equal(scores[:150], scores[150:])


@pytest.fixture(scope="module")
def audit():
    records, membership = make_membership_problem(900, random_state=0)
    members = records[membership == 1]
    return RandomForestClassifier(20, random_state=0).fit(members.X, members.y), records, membership


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_sparse_records_with_strings_for_labels(audit, estimator):
    forest, records, _ = audit
    answers = Outputs(forest.predict_proba(records.X), ["no", "yes"])
    labels = np.where(records.y == 1, "yes", "no")
    named = Records(sparse.csr_array(np.round(records.X)), labels, outputs=answers)
    attack = QuantileAttack(population=named[::3], estimator=estimator, cv=3, random_state=0)
    attack.fit(named)
    assert np.isfinite(attack.score_samples(named)).all()


def test_it_finds_members_of_an_overfit_forest(audit):
    victim, records, membership = audit
    outside = records[membership == 0]
    attack = QuantileAttack(
        FrozenEstimator(victim), population=outside[:300], target_fpr=0.1, cv=3, random_state=0
    ).fit(records)
    assert attack.predict(outside[300:]).mean() < 0.2
    assert attack.predict(records[membership == 1]).mean() > 0.5


@pytest.mark.parametrize("signal", ["auto", "correctness"])
def test_victims_with_little_to_say(audit, signal):
    _, records, membership = audit
    members = records[membership == 1]
    victim = LinearSVC(random_state=0) if signal == "auto" else LabelOnlyDefense(audit[0])
    victim = FrozenEstimator(victim.fit(members.X, members.y))
    attack = QuantileAttack(
        victim,
        population=records[membership == 0],
        signal=signal,
        estimator=DecisionTreeRegressor(max_depth=3),
        cv=3,
        random_state=0,
    )
    assert np.isfinite(attack.fit(records).score_samples(records)).all()


@pytest.mark.filterwarnings("ignore:100% of the labels are predicted if the columns")
def test_constant_evidence_flags_nobody():
    records = draw_world(200, 0)[0]
    answers = Outputs(np.zeros((200, 2)), [0, 1], "logits")
    records = records.with_fields(outputs=answers)
    attack = QuantileAttack(population=records[100:], random_state=0).fit(records)
    np.testing.assert_array_equal(attack.score_samples(records), np.zeros(200))
    assert attack.predict(records).sum() == 0


def test_infinite_evidence_that_the_population_has_not():
    records, _, evidence, _ = draw_world(300, 0)
    p = 1 / (1 + np.exp(-evidence))
    p[:5] = 1
    records = records.with_fields(outputs=Outputs(np.column_stack([1 - p, p]), [0, 1]))
    attack = QuantileAttack(population=records[100:], cv=3, random_state=0).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"population": None}, "pass them as population=Records"),
        ({"target_fpr": 0.01}, "needs 99 records of the population in each of cv=5 folds; the sma"),
        ({"cv": 101}, "cv=101 folds need as many records .* that do not belong together; got 100"),
        ({"cv": 2}, "'cv' parameter of QuantileAttack"),
        ({"target_fpr": 0}, "'target_fpr' parameter of QuantileAttack"),
        ({"signal": "los"}, "Unknown signal 'los'"),
    ],
)
def test_wrong_parameters_are_named(settings, message):
    records = draw_world(200, 0)[0]
    attack = QuantileAttack(**{"population": records[100:], **settings})
    with pytest.raises(ValueError, match=message):
        attack.fit(records)


def test_a_population_without_answers_or_labels_is_refused(audit):
    victim, records, _ = audit
    stored = records.with_outputs(victim)
    with pytest.raises(ValueError, match="hold no outputs"):
        QuantileAttack(population=records[::2]).fit(stored)
    with pytest.raises(ValueError, match="no task labels"):
        QuantileAttack(victim, population=Records(records.X)).fit(records)


@pytest.fixture(scope="module")
def perceptron():
    records, membership = make_membership_problem(900, n_features=30, random_state=0)
    members, outside = records[membership == 1], records[membership == 0]
    model = MLPClassifier((16, 5), solver="lbfgs", max_iter=2000, random_state=0)
    model.fit(members.X, members.y)
    return FrozenEstimator(model), members, outside


def test_the_layer_before_the_output_takes_the_place_of_the_features(perceptron):
    victim, members, outside = perceptron
    settings = {"target_fpr": 0.1, "cv": 3, "random_state": 0, "estimator": LinearRegression()}
    attack = QuantileAttack(victim, population=outside[:300], features="layer", **settings)
    assert attack.needs().access == {"layers"}
    scores = attack.fit(members).score_samples(members)
    model, hidden = victim.estimator, members.X[:3]
    for weights, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        hidden = np.maximum(hidden @ weights + bias, 0)
    np.testing.assert_allclose(attack._read(members[:3]).X, hidden, rtol=1e-5, atol=1e-6)
    other = QuantileAttack(victim, population=outside[:300], **settings).fit(members)
    assert not np.allclose(scores, other.score_samples(members))
    rest = outside[300:]
    error = np.sqrt(0.1 * 0.9 * (1 / len(rest) + 1 / 300))
    assert attack.predict(rest).mean() < 0.1 + 4 * error


def test_layers_are_needed_for_layers(perceptron):
    victim, members, outside = perceptron
    settings = {"features": "layer", "cv": 3}
    stored, known = members.with_outputs(victim), outside.with_outputs(victim)
    with pytest.raises(ValueError, match="stored outputs have no layers"):
        QuantileAttack(None, population=known, **settings).fit(stored)
    forest = FrozenEstimator(RandomForestClassifier(3).fit(members.X, members.y))
    with pytest.raises(TypeError, match="White-box access needs gradients"):
        QuantileAttack(forest, population=outside, **settings).fit(members)
    linear = FrozenEstimator(LogisticRegression().fit(members.X, members.y))
    with pytest.raises(ValueError, match="no layer before its output"):
        QuantileAttack(linear, population=outside, **settings).fit(members)


def test_a_net_with_a_pinball_loss_predicts_the_quantile():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")

    class Pinball(torch.nn.Module):
        def forward(self, predicted, values):
            above = values.float().reshape(-1) - predicted.reshape(-1)
            return torch.maximum(0.9 * above, -0.1 * above).mean()

    net = skorch.NeuralNetRegressor(
        torch.nn.Linear,
        module__in_features=4,
        module__out_features=1,  # returns a column
        criterion=Pinball,
        optimizer=torch.optim.Adam,
        lr=0.5,
        batch_size=-1,
        max_epochs=12,
        train_split=None,
        verbose=0,
    )
    population = draw_world(600, 0, share=0, spread=0)[0]
    records, membership, evidence, _ = draw_world(600, 1, spread=0)
    settings = {"target_fpr": 0.1, "cv": 3, "random_state": 0}
    attack = QuantileAttack(population=population, estimator=net, **settings).fit(records)
    location = attack._usual[0].location.predict(records)
    assert location.shape == (600,)
    # About a tenth of the signals of non-members are above the predicted quantile.
    above = (evidence > location)[membership == 0].mean()
    assert abs(above - 0.1) < 4 * np.sqrt(0.1 * 0.9 * (1 / 300 + 1 / 400))
    error = np.sqrt(0.1 * 0.9 * (1 / 300 + 1 / 600))
    assert attack.predict(records)[membership == 0].mean() < 0.1 + 4 * error
