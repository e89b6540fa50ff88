"""The drift of labels: what is found, what must not be, and what an audit makes of it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from draws import few_and_many, most_by_chance
from joblib import parallel_config
from scipy import sparse
from scipy.stats import mannwhitneyu, norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia.attacks import ThresholdAttack
from skmia.report import blind_baseline, drift_test
from skmia.report.agreement._answered_rows import HalfModel
from skmia.report.checks import _drift as drift
from skmia.report.checks._drift import _number_draws, _number_sets, _rank_left_out
from skmia.victims import CallableVictim

LINE = LogisticRegression()
FOREST = RandomForestClassifier(10, random_state=0)
BOOSTING = HistGradientBoostingClassifier(max_iter=15, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
LOSS = {"loss": ThresholdAttack()}


@pytest.fixture(autouse=True)
def all_splits(quick_audits, monkeypatch):
    monkeypatch.setattr(drift, "_N_SPLITS", 5)


def make_turned(n, d, degrees, seed=0, share=0.5):
    """Records of two years; the labels of the members follow a rule that is turned."""
    rng = np.random.default_rng(seed)
    X, membership = rng.normal(size=(n, d)), (rng.permutation(n) < share * n).astype(int)
    angle = np.deg2rad(degrees) * membership
    margin = 2 * (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1])
    return Records(X, (margin + rng.logistic(size=n) > 0).astype(int)), membership


def make_alike(n, d=4, seed=0, share=0.5):
    return make_turned(n, d, 0, seed, share)


@pytest.mark.parametrize(
    "model",
    [LINE, FOREST, pytest.param(BOOSTING, marks=pytest.mark.slow)],
    ids=lambda model: type(model).__name__,
)
def test_a_rule_that_is_turned_by_40_degrees_is_found_where_the_baseline_is_blind(model):
    records, membership = make_turned(1200, 60, 40)
    found = drift_test(model, records, membership, random_state=0)
    assert found.is_warning and found.statistic > 2.576
    assert found.auc > 0.53 and found.n_splits == 5 and found.n_trained == 300
    assert blind_baseline(records, membership, random_state=0).low < 0.5


def test_a_rule_that_is_turned_by_20_degrees_is_found_by_both_models_not_by_the_loss_of_one():
    records, membership = make_turned(4000, 20, 20)
    found = drift_test(LINE, records, membership, random_state=0)
    assert found.is_warning
    assert found.loss_auc < 0.53 < found.auc


@pytest.mark.parametrize(
    "model, rise",
    [
        pytest.param(Ridge(), 1.2, marks=pytest.mark.slow),
        (Ridge(), 0.4),
        pytest.param(HistGradientBoostingRegressor(max_iter=30), 1.2, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_target_that_has_risen_on_one_side_is_found(model, rise):
    rng = np.random.default_rng(0)
    X, membership = rng.normal(size=(600, 20)), np.arange(600) % 2
    y = X[:, :5].sum(axis=1) + 2 * rng.normal(size=600)
    alike = drift_test(model, Records(X, y), membership, random_state=0)
    risen = Records(X, y + rise * y.std() * membership)
    assert not alike.is_warning
    assert drift_test(model, risen, membership, random_state=0).is_warning


def test_wrong_labels_of_one_side_are_found():
    records, membership = make_alike(4000)
    wrong = (membership == 0) & (np.random.default_rng(1).random(4000) < 0.15)
    noisy = Records(records.X, np.where(wrong, 1 - records.y, records.y))
    assert drift_test(LINE, noisy, membership, random_state=0).is_warning
    assert not drift_test(LINE, records, membership, random_state=0).is_warning


@few_and_many(40)
@pytest.mark.parametrize(
    "model, n, share",
    [
        (LINE, 80, 0.5),
        pytest.param(LINE, 400, 0.5, marks=pytest.mark.slow),
        (LINE, 880, 1 / 11),
        (TREE, 400, 0.5),
    ],
    ids=["sides of 40", "1:1", "1:10", "tree"],
)
def test_sides_that_follow_one_rule_are_not_warned_of(model, n, share, n_draws):
    found = [
        drift_test(model, *make_alike(n, seed=seed, share=share), random_state=seed).is_warning
        for seed in range(n_draws)
    ]
    assert sum(found) <= most_by_chance(n_draws, 0.005)


@pytest.mark.parametrize("n_splits, variance", [(1, 1.0), (2, 0.75), (5, 0.6)])
def test_a_warning_is_at_half_a_percent_of_splits_that_correlate_by_one_half(
    n_splits, variance, monkeypatch
):
    records, membership = make_alike(200)
    for shift, is_warning in ((1e-6, True), (-1e-6, False)):
        z = (norm.isf(0.005) + shift) * np.sqrt(variance)
        monkeypatch.setattr(drift, "_rank_left_out", lambda *given, z=z: (z, 0.5, 0.5))
        found = drift_test(LINE, records, membership, n_splits=n_splits, random_state=0)
        assert found.is_warning == is_warning


@few_and_many(600)
def test_splits_end_where_the_others_cannot_lead_to_a_warning(monkeypatch, n_draws):
    """The power that this costs is at most 2%, and no warning rests on fewer splits than five."""
    records, membership = make_alike(200)
    rng, n_made, warned, warned_of_all = np.random.default_rng(0), [], 0, 0
    monkeypatch.setattr(drift, "_compare_halves", lambda *given: [None] * len(given[3]))
    for shift in np.repeat([0.0, 2.0], n_draws):
        z = shift + 0.5 * rng.normal() + np.sqrt(0.75) * rng.normal(size=5)
        left = iter(z)
        monkeypatch.setattr(
            drift, "_rank_left_out", lambda *given, left=left: (next(left), 0.5, 0.5)
        )
        found = drift_test(LINE, records, membership, random_state=0)
        n_made.append(found.n_splits)
        assert found.n_splits == 5 or not found.is_warning
        warned += found.is_warning
        warned_of_all += norm.sf(z.mean() / np.sqrt(0.6)) <= 0.005
    assert np.mean(n_made[:n_draws]) < 1.7 < 4 < np.mean(n_made[n_draws:])
    assert warned_of_all - 0.02 * 2 * n_draws <= warned <= warned_of_all


def test_no_probability_is_below_one_percent():
    outputs = Outputs(np.array([[1 - 1e-9, 1e-9], [0.98, 0.02]]), [0, 1])
    np.testing.assert_allclose(np.exp(drift._score_labels(outputs, np.array([1, 1]))), [0.01, 0.02])


def test_a_side_needs_forty_independent_records():
    records, membership = make_alike(80)
    assert np.isfinite(drift_test(LINE, records, membership, random_state=0).statistic)
    with pytest.raises(ValueError, match="One side has 39 independent records .* needs 40 members"):
        drift_test(LINE, records[1:], membership[1:], random_state=0)
    copies = np.tile(np.arange(40), 10)
    with pytest.raises(ValueError, match="One side has .* independent records"):
        drift_test(LINE, records[copies], np.arange(400) % 2, random_state=0)
    people = Records(records.X, records.y, group_by=np.arange(80) // 2)
    with pytest.raises(ValueError, match="One side has 20 independent records"):
        drift_test(LINE, people, (np.arange(80) // 2) % 2, random_state=0)


COPIED = {
    "all": lambda membership, rng: np.full(len(membership), 5),
    "members": lambda membership, rng: np.where(membership, 5, 1),
    "a tenth": lambda membership, rng: np.where(rng.random(len(membership)) < 0.1, 4, 1),
}


@few_and_many(15)
@pytest.mark.parametrize("which", slow_but(COPIED, "members", "a tenth"))
@pytest.mark.parametrize(
    "model",
    [LINE, pytest.param(TREE, marks=pytest.mark.slow)],
    ids=lambda model: type(model).__name__,
)
def test_copies_on_one_side_are_no_drift_though_nobody_named_them(model, which, n_draws):
    found = []
    for seed in range(n_draws):
        records, membership = make_alike(200, seed=seed)
        times = COPIED[which](membership, np.random.default_rng(seed))
        rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(200), times))
        copied = Records(records.X[rows], records.y[rows])
        found.append(drift_test(model, copied, membership[rows], random_state=seed).is_warning)
    assert sum(found) <= most_by_chance(n_draws, 0.005)


@few_and_many(20)
def test_equal_records_on_both_sides_are_no_drift_either(n_draws):
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(500, 3)))
        y = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)
        membership = rng.permutation(500) % 2
        result = drift_test(TREE, Records(X, y), membership, random_state=seed)
        found.append(result.is_warning)
    assert sum(found) <= most_by_chance(n_draws, 0.005)


def make_people(seed, n_people=80, n_rows=8):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), n_rows)
    X = rng.normal(size=(len(people), 4)) + 2 * rng.normal(size=(n_people, 4))[people]
    margin = X[:, 0] + 3 * rng.normal(size=n_people)[people]
    y = (margin + rng.logistic(size=len(people)) > 0).astype(int)
    return X, y, people, (rng.permutation(n_people) % 2)[people]


@few_and_many(60)
def test_rows_of_people_are_no_drift_if_people_are_named(n_draws):
    named = nameless = 0
    for seed in range(n_draws):
        X, y, people, membership = make_people(seed)
        records = Records(X, y, group_by=people)
        named += drift_test(TREE, records, membership, random_state=seed).is_warning
        nameless += drift_test(TREE, Records(X, y), membership, random_state=seed).is_warning
    assert named <= most_by_chance(n_draws, 0.005)
    assert nameless >= 0.15 * n_draws  # each model knows people of the other half


def test_the_statistic_is_that_of_permuted_people():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    membership = (rng.permutation(30) % 2 == 1)[people]
    scores = rng.normal(size=(2, len(people))) + rng.normal(size=(2, 30))[:, people]
    z, auc, loss_auc = _rank_left_out(scores, membership, people)
    ranks = np.argsort(np.argsort(scores[0] - scores[1])) + 1.0
    sums = np.bincount(people, ranks - ranks.mean())
    sides = np.array([membership[people == one][0] for one in range(30)])
    null = np.array([sums[rng.permutation(sides)].sum() for _ in range(20_000)])
    expected = (sums[sides].sum() - null.mean()) / null.std()
    assert abs(z - expected) < 0.03
    wins = [
        (
            (x[membership][:, None] > x[~membership])
            + 0.5 * (x[membership][:, None] == x[~membership])
        )
        for x in (scores[0] - scores[1], scores[0])
    ]
    np.testing.assert_allclose([auc, loss_auc], [one.mean() for one in wins])


def test_the_statistic_of_single_records_is_the_rank_sum_test():
    rng = np.random.default_rng(0)
    scores, membership = np.round(rng.normal(size=(2, 300)), 1), rng.random(300) < 0.3
    z = _rank_left_out(scores, membership, np.arange(300))[0]
    values = scores[0] - scores[1]
    pvalue = mannwhitneyu(
        values[membership], values[~membership], False, "greater", method="asymptotic"
    ).pvalue
    assert abs(norm.sf(z) - pvalue) < 1e-3
    assert _rank_left_out(np.ones((2, 300)), membership, np.arange(300))[0] == 0


def number_draws(X, membership, **fields):
    records = Records(np.asarray(X, dtype=float)[:, None], np.zeros(len(X), dtype=int), **fields)
    return _number_draws(
        records, np.asarray(membership, bool), np.unique(X, return_inverse=True)[1]
    )


def test_copies_of_one_side_count_once_and_equal_records_of_both_sides_each():
    X = np.repeat(np.arange(60), 2)
    one_side, both = np.repeat(np.arange(60) % 2, 2), np.arange(120) % 2
    expected = np.where(np.arange(120) % 2 == 0, X, -1)
    np.testing.assert_array_equal(number_draws(X, one_side), expected)
    np.testing.assert_array_equal(number_draws(X, both), np.arange(120))
    # A little more often on one side than by chance, which 2000 pairs show, is no copying.
    pairs, often = np.repeat(np.arange(2000), 2), np.arange(4000) % 2
    often[:2160] = pairs[:2160] % 2
    np.testing.assert_array_equal(number_draws(pairs, often), np.arange(4000))
    # More often than that among ten pairs may be chance.
    np.testing.assert_array_equal(number_draws(X[:20], [*one_side[:12], *both[:8]]), np.arange(20))
    # Equal records of one person say nothing about how the others were assigned.
    np.testing.assert_array_equal(number_draws(X, one_side, group_by=X), X)


def test_units_are_in_one_half_with_their_copies_on_either_side():
    records, membership = make_alike(200)
    twice = Records(np.vstack([records.X] * 2), np.tile(records.y, 2))
    units = _number_sets(twice, np.concatenate([membership, 1 - membership]) == 1)
    np.testing.assert_array_equal(units[:200], units[200:])


def test_results_depend_on_the_seed_alone():
    records, membership = make_turned(300, 5, 40)
    X = records.X.copy()
    model = DecisionTreeClassifier(max_features=1, min_samples_leaf=10)  # it draws columns
    first = drift_test(model, records, membership, random_state=3)
    with parallel_config("threading"):
        assert first == drift_test(model, records, membership, random_state=3, n_jobs=2)
    assert first != drift_test(model, records, membership, random_state=4)
    np.testing.assert_array_equal(records.X, X)


class Counting(ClassifierMixin, BaseEstimator):
    """A logistic regression that counts what it is trained with."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        Counting.seen.append((len(y), sample_weight))
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.fixture
def seen():
    Counting.seen.clear()
    return Counting.seen


def test_eight_models_are_trained_on_a_quarter_of_the_records_with_their_weights(seen):
    records, membership = make_alike(400)
    weights = np.random.default_rng(0).uniform(size=400)
    weighted = Records(records.X, records.y, sample_weight=weights)
    drift_test(Counting(), weighted, membership, n_splits=5, random_state=0)
    assert len(seen) == 8
    assert all(abs(n - 100) <= 1 and np.isin(used, weights).all() for n, used in seen)
    drift_test(Counting(), records, membership, n_splits=2, random_state=0)
    assert len(seen) == 11 and seen[-1][1] is None


def test_of_very_many_records_a_sample_is_used(seen, monkeypatch):
    monkeypatch.setattr(drift, "MOST_RECORDS", 300)
    records, membership = make_turned(2000, 3, 90)
    result = drift_test(Counting(), records, membership, random_state=0)
    assert result.is_warning
    assert abs(sum(n for n, _ in seen) - 8 * 75) <= 8
    assert result == drift_test(Counting(), records, membership, random_state=0)


KINDS = {
    "a pipeline over a frame": make_pipeline(
        ColumnTransformer([("text", OneHotEncoder(), ["c"])], remainder=StandardScaler()), LINE
    ),
    "labels alone": Counting(),
    "decisions": LinearSVC(),
    "sparse records": LINE,
}


@pytest.mark.parametrize("kind", KINDS)
def test_models_and_records_of_every_kind(kind):
    records, membership = make_turned(1000, 3, 90)
    X = records.X
    if "frame" in kind:
        X = pd.DataFrame(X, columns=["a", "b", "x"]).assign(c=np.tile(["u", "v"], 500))
    if "sparse" in kind:
        X = sparse.csr_array(X)
    assert drift_test(KINDS[kind], Records(X, records.y), membership, random_state=0).is_warning


@pytest.mark.parametrize("name, y", [("XGBClassifier", 0), ("XGBRegressor", 1)])
def test_boosters(name, y):
    xgboost = pytest.importorskip("xgboost")
    records, membership = make_turned(600, 3, 90)
    model = getattr(xgboost, name)(n_estimators=10)
    targets = records.y + y * records.X[:, 2]
    assert drift_test(model, Records(records.X, targets), membership, random_state=0).is_warning


def test_nets_are_trained_twice():
    records, membership = make_turned(1000, 2, 90)
    net = MLPClassifier((8,), max_iter=300, random_state=0, learning_rate_init=0.01)
    found = drift_test(make_pipeline(StandardScaler(), net), records, membership, random_state=0)
    assert found.n_splits == 1 and found.is_warning


def test_skorch_nets_are_trained_twice():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear,
        module__in_features=2,
        module__out_features=2,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=20,
        lr=0.5,
        train_split=None,
        verbose=0,
    )
    records, membership = make_turned(1000, 2, 90)
    records = Records(records.X.astype(np.float32), records.y)
    found = drift_test(net, records, membership, random_state=0)
    assert found.n_splits == 1 and found.is_warning


def test_what_cannot_be_asked_is_one_sentence():
    records, membership = make_alike(200)
    with pytest.raises(TypeError, match="estimator must have a fit method"):
        drift_test(np.mean, records, membership)
    for wrong in (0, 2.5, "five", True):
        with pytest.raises(ValueError, match='n_splits must be "auto" or an integer from 1; got'):
            drift_test(LINE, records, membership, n_splits=wrong)
    with pytest.raises(ValueError, match="'n_jobs' parameter of drift_test must be"):
        drift_test(LINE, records, membership, n_jobs=0)
    y = records.y.copy()
    y[np.flatnonzero(membership)[0]] = 2
    with pytest.raises(ValueError, match="The class 2 has so few members or non-members that only"):
        drift_test(LINE, Records(records.X, y), membership, random_state=0)
    with pytest.raises(
        ValueError, match="trains models on half of one side.* could not be trained"
    ):
        drift_test(LINE, Records(records.X, membership), membership, random_state=0)
    categories = Records(pd.DataFrame({"a": np.arange(200).astype(str)}), records.y)
    with pytest.raises(ValueError, match="Pipeline was trained on half .* could not predict"):
        drift_test(make_pipeline(OneHotEncoder(), LINE), categories, membership, random_state=0)


@pytest.mark.parametrize("n_bad, is_refused", [(2, False), (3, True)])
def test_a_class_may_be_in_one_half_alone_in_few_splits(n_bad, is_refused):
    records, membership = Records(np.arange(8.0), np.arange(8) % 2), np.arange(8) < 4

    def split(*rows):
        half = np.isin(np.arange(8), rows)
        return drift.HalvesSplit(
            np.stack([half & membership, half & ~membership]), np.flatnonzero(~half), 0
        )

    splits = [split(0, 2, 4, 5)] * n_bad + [split(0, 1, 4, 5)] * (5 - n_bad)
    if not is_refused:
        return drift._check_classes(TREE, records, membership, splits)
    with pytest.raises(ValueError, match="The class 0 has so few"):
        drift._check_classes(TREE, records, membership, splits)


@pytest.mark.parametrize("n_given", [0, 1, 2])
def test_clones_of_half_of_the_members_are_not_trained_again(n_given, monkeypatch):
    records, membership = make_turned(400, 4, 60)
    inside = membership.astype(bool) & (np.arange(400) % 4 < 2)
    model = clone(LINE).fit(records.X[inside], records.y[inside])
    fits = drift.fit_labels(Outputs(model.predict_proba(records.X), model.classes_), records.y)
    trained, plan = [], drift.plan_training

    def watch(job, **how):
        trained.extend(job.subsets)
        return plan(job, **how)

    monkeypatch.setattr(drift, "plan_training", watch)
    settings = {"n_splits": 4, "fit_params": None, "n_jobs": None, "random_state": 0}
    half_models = [HalfModel(inside, fits)] * n_given
    found = drift._test_drift(
        LINE, records, membership.astype(bool), **settings, half_models=half_models
    )
    assert len(trained) == 6 - n_given
    assert found.n_trained == round((n_given * inside.sum() + (2 - n_given) * 100) / 2)
    assert found.is_warning
    plain = drift_test(LINE, records, membership, n_splits=4, random_state=0)
    assert (found == plain) == (n_given == 0)


def test_every_second_split_exchanges_the_halves_of_the_non_members(monkeypatch):
    records, membership = make_alike(400)
    membership, trained, plan = membership.astype(bool), [], drift.plan_training

    def watch(job, **how):
        trained.append(job.subsets)
        return plan(job, **how)

    monkeypatch.setattr(drift, "plan_training", watch)
    monkeypatch.setattr(drift, "_is_hopeless", lambda numbers, n_splits: len(numbers) == 2)
    two = drift_test(LINE, records, membership, random_state=0)
    assert two.n_splits == 2 and [len(one) for one in trained] == [2, 1]
    (members, others), (exchanged,) = trained
    assert np.array_equal(exchanged, ~membership & ~others)
    left_out = [members | others, members | exchanged]
    aucs = []
    for rows, seen in zip((others, exchanged), left_out, strict=True):
        losses = [
            -log_loss_of_each(clone(LINE).fit(records.X[side], records.y[side]), records)
            for side in (members, rows)
        ]
        aucs.append(roc_auc_score(membership[~seen], (losses[0] - losses[1])[~seen]))
    assert two.auc == pytest.approx(np.mean(aucs))
    # All at once, as several processes train them, gives the same numbers.
    assert drift_test(LINE, records, membership, n_splits=2, random_state=0) == two
    # A copy on the other side goes where its member goes, so other halves are drawn.
    pairs = Records(np.repeat(records.X[:200], 2, axis=0), np.repeat(records.y[:200], 2))
    trained.clear()
    drift_test(LINE, pairs, np.tile([True, False], 200), n_splits=2, random_state=0)
    assert [len(one) for one in trained] == [4]


def log_loss_of_each(model, records):
    proba = model.predict_proba(records.X)[np.arange(len(records)), records.y]
    return -np.log(np.clip(proba, 0.01, 1))


def test_records_that_equal_a_member_go_with_it():
    records, membership = make_alike(400, 3)
    records = Records(np.vstack([records.X, records.X[:80]]), np.append(records.y, records.y[:80]))
    membership = np.append(membership, 1 - membership[:80]).astype(bool)
    units = drift._number_sets(records, membership)
    inside = membership & (units % 2 == 0)
    given = HalfModel(inside, np.zeros(480))
    split = drift._draw_split(LINE, records, membership, units, np.random.SeedSequence(0), 0, given)
    np.testing.assert_array_equal(split.trained[0], inside)
    trained = split.trained.any(axis=0)
    assert not set(units[trained]) & set(units[split.left_out])
    assert np.array_equal(np.flatnonzero(~trained), split.left_out)


def test_an_audit_compares_the_clones_that_it_has_with_others(seen):
    records, membership = make_alike(400)
    victim = Counting().fit(records.X[membership == 1], records.y[membership == 1])
    seen.clear()
    report = audit(victim, records, membership, attacks=LOSS, file=False, random_state=0)
    found = report.checks["drift"].finding
    # Two clones were trained on a half of the members before, and each serves two splits.
    n_halves = sum(n == 100 for n, _ in seen)
    assert n_halves == 2 + found.n_splits + (found.n_splits == 5)


def test_what_the_loss_finds_is_told_with_the_number_of_members():
    records, membership = make_alike(880, share=1 / 11)
    found = drift_test(LINE, records, membership, n_splits=1, random_state=0)
    assert found.n_trained == 40
    for loss_auc, is_told in ((0.51, True), (0.5, False)):
        text = drift._describe_drift(replace(found, loss_auc=loss_auc))
        assert ("would rank them above" in text and "trained on 40 records" in text) == is_told


def make_audit(degrees, **settings):
    """An audit of a model that was trained on other records of the members' year."""
    X, y = (getattr(make_alike(1000, 20, seed=1)[0], name) for name in "Xy")
    records, later = make_turned(1200, 20, degrees)
    victim = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    settings = {"attacks": LOSS, "fprs": (0.1,), "random_state": 0} | settings
    return audit(settings.pop("victim", victim), records, 1 - later, **settings)


def test_an_audit_of_a_model_that_knows_none_of_the_records_is_a_shift_not_a_leak():
    report = make_audit(40)
    assert report.scores["loss"].size == 1200
    assert report.evidence == "shift" and report.checks["drift"].is_warning
    assert report.verdict.startswith(
        "Inconclusive: members and non-members differ. Models of the victim's kind, one trained on "
        "half of the members and one on half of the non-members, distinguish the other halves (AUC "
    )
    assert (
        f"(AUC {report.drift.loss_auc:.3f} by the loss, trained on 300 records)" in report.verdict
    )
    assert report.verdict.endswith("non-members of one time and one source.")
    assert report.file.evidence == "shift"
    assert "distinguish the other halves" in report.file.verdict
    document = json.loads(report.to_json())
    assert document["drift"]["auc"] == report.drift.auc
    assert document["drift"]["n_splits"] == 5 and document["seconds"]["drift"] > 0
    assert document["verdict"] == report.verdict


def test_a_victim_that_has_memorized_is_no_drift():
    records, membership = make_alike(1000)
    members = records[membership == 1]
    victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    report = audit(
        victim, records, membership, attacks=LOSS, fprs=(0.1,), file=False, random_state=0
    )
    assert report.evidence == "leak"
    assert report.checks["drift"].status == "passed" and not report.drift.is_warning
    assert "do not distinguish the other halves (AUC 0." in report.checks["drift"].text


def test_a_function_needs_a_model_that_behaves_like_it():
    model = LogisticRegression().fit(
        *(getattr(make_alike(500, 20, seed=2)[0], name) for name in "Xy")
    )
    service = CallableVictim(model.predict_proba, kind="proba", classes=[0, 1])
    report = make_audit(40, victim=service)
    check = report.checks["drift"]
    assert check.status == "not run" and report.drift is None
    assert check.text == "The model cannot be trained; pass estimator=, one that behaves like it."
    assert json.loads(report.to_json())["drift"] is None
    report = make_audit(40, victim=service, estimator=LogisticRegression())
    assert report.checks["drift"].is_warning and report.evidence == "shift"


def test_the_recipe_that_is_given_is_the_one_that_is_trained(seen):
    make_audit(0, estimator=Counting(), file=False)
    assert len(seen) in (2, 4, 6, 8, 10)


def test_a_model_that_cannot_be_trained_on_few_records_leaves_the_verdict_to_other_checks():
    records, membership = make_alike(200)
    frame = pd.DataFrame(records.X).assign(c=np.arange(200).astype(str))
    frame.columns = frame.columns.astype(str)
    victim = make_pipeline(OneHotEncoder(), TREE).fit(frame, records.y)
    settings = {"attacks": LOSS, "fprs": (0.1,), "file": False, "random_state": 0}
    report = audit(victim, Records(frame, records.y), membership, **settings)
    check = report.checks["drift"]
    assert check.status == "not run" and "could not predict the other half" in check.text
    assert report.evidence != "shift"
