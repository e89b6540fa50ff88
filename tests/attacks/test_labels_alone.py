"""Pools and attacks that compare labels alone, by whether they are correct."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ThresholdAttack
from skmia.base import query
from skmia.datasets import make_membership_problem
from skmia.defenses import TopKDefense
from skmia.model_selection import RememberTraining
from skmia.signals import Correctness
from skmia.victims import CallableVictim

N, CLASSES = 4000, ["no", "yes"]


def draw_problem(p_in, p_out, n_models, seed=0):
    """Records, a pool and a victim whose labels are correct with these probabilities."""
    rng = np.random.default_rng(seed)
    y = np.array(CLASSES)[rng.integers(2, size=N)]
    half = rng.random((n_models // 2, N)) < 0.5
    inside = np.concatenate([half, ~half])  # not in the order of pairs, so each is drawn by itself
    members = rng.random(N) < 0.5

    def answer(trained):
        right = rng.random(trained.shape) < np.where(trained, p_in, p_out)
        return np.where(right, y, np.where(y == "no", "yes", "no"))

    records = Records.from_ids(np.arange(N), y)
    pool = ShadowPool.from_outputs(
        np.array([answer(row) for row in inside]), inside, records, kind="label"
    )
    victim = Outputs(answer(members), CLASSES, "label")
    return records.with_fields(outputs=victim), FrozenEstimator(pool), members


def draw_shares(rng):
    p_out = rng.beta(2, 1, size=N)
    return p_out + (1 - p_out) * rng.beta(4, 1, size=N), p_out


@pytest.mark.parametrize("n_models", [4, 16, 64])
def test_scores_are_finite_and_near_those_of_the_known_shares(n_models):
    p_in, p_out = draw_shares(np.random.default_rng(1))
    records, pool, members = draw_problem(p_in, p_out, n_models)
    attack = LiRA(None, pool).fit(records)
    scores = attack.score_samples(records)
    right = records.fields["outputs"].is_correct(records.y)
    best = np.where(right, np.log(p_in / p_out), np.log((1 - p_in) / (1 - p_out)))
    assert np.isfinite(scores).all()
    assert attack.likelihood_ == "beta-binomial"
    aucs = [roc_auc_score(members, each) for each in (right, scores, best)]
    assert aucs[0] < aucs[1] < aucs[2]
    if n_models == 64:
        assert aucs[2] - aucs[1] < 0.25 * (aucs[2] - aucs[0])


@pytest.mark.parametrize("n_models", [4, 64])
def test_posteriors_are_as_often_right_as_they_say(n_models):
    records, pool, members = draw_problem(*draw_shares(np.random.default_rng(2)), n_models)
    attack = LiRA(None, pool).fit(records)
    posterior = attack.predict_proba(records)[:, 1]
    np.testing.assert_allclose(posterior, expit(attack.score_samples(records)))
    for part in np.array_split(np.argsort(posterior, kind="stable"), 5):
        said, spread = posterior[part].mean(), np.sqrt((posterior * (1 - posterior))[part].sum())
        assert abs(members[part].mean() - said) < 4 * spread / len(part) + 0.01


@pytest.mark.parametrize("n_models", [4, 64])
def test_nothing_is_found_where_training_makes_no_difference(n_models):
    p = np.random.default_rng(3).beta(2, 1, size=N)
    records, pool, members = draw_problem(p, p, n_models)
    scores = LiRA(None, pool).fit(records).score_samples(records)
    n_in = members.sum()
    error = np.sqrt((N + 1) / (12 * n_in * (N - n_in)))
    assert abs(roc_auc_score(members, scores) - 0.5) < 4 * error
    # The bits of both sides are pooled, so that hardly anything is said about a record.
    assert np.abs(scores).mean() < 0.1


def test_a_rate_is_kept():
    records, pool, members = draw_problem(*draw_shares(np.random.default_rng(4)), 16)
    attack = LiRA(None, pool, target_fpr=0.05).fit(records)
    n_out = (~members).sum()
    flagged = attack.predict(records)[~members].sum()
    assert 0 < flagged < 0.05 * n_out + 4 * np.sqrt(0.05 * 0.95 * n_out)


def test_all_answers_correct_leave_scores_of_zero():
    records, pool, _ = draw_problem(1.0, 1.0, 4)
    scores = LiRA(None, pool).fit(records).score_samples(records)
    np.testing.assert_allclose(scores, 0, atol=1e-12)


def test_a_trend_ignores_the_shares_of_the_record_itself():
    records, pool, _ = draw_problem(*draw_shares(np.random.default_rng(5)), 16)
    own, trend = (
        LiRA(None, pool, variance=variance).fit(records).score_samples(records)
        for variance in ("shrunk", "trend")
    )
    assert not np.allclose(own, trend)


VOTES = VotingClassifier(
    [
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("line", LogisticRegression()),
        ("near", KNeighborsClassifier(1)),
    ],
    voting="hard",
)


def test_hard_voting_is_attacked():
    records, membership = make_membership_problem(400, random_state=0)
    members = records[membership == 1]
    victim = FrozenEstimator(VOTES.fit(members.X, members.y))
    pool = FrozenEstimator(ShadowPool(VOTES, 8, random_state=0).fit(records))
    aucs = [
        roc_auc_score(membership, attack.fit(records).score_samples(records))
        for attack in (ThresholdAttack(victim, signal="correctness"), LiRA(victim, pool))
    ]
    assert aucs[1] > aucs[0]
    with pytest.raises(ValueError, match="says nothing of the probability of the label"):
        RMIA(victim, pool).fit(records)


def test_probabilities_are_reduced_to_labels():
    records, membership = make_membership_problem(300, random_state=0)
    members = records[membership == 1]
    model = KNeighborsClassifier(4).fit(members.X, members.y)
    pool = ShadowPool(KNeighborsClassifier(4), 4, output_kind="label", random_state=0)
    frozen = FrozenEstimator(pool.fit(records))
    service = CallableVictim(model.predict, model.classes_, kind="label")
    for attack in (LiRA(), CalibratedAttack()):
        scores = [
            attack.set_params(victim=victim, shadows=frozen).fit(records).score_samples(records)
            for victim in (FrozenEstimator(model), service)
        ]
        np.testing.assert_array_equal(*scores)
    by_hand = [
        KNeighborsClassifier(4).fit(records.X[row], records.y[row]).predict(records.X) == records.y
        for row in pool.membership_
    ]
    np.testing.assert_array_equal(pool.values(records)[0], by_hand)


TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
LOW = FixedThresholdClassifier(TREE, threshold=0.15, response_method="predict_proba")


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
@pytest.mark.parametrize(
    "model, n_classes",
    [
        (LOW, 2),
        (TunedThresholdClassifierCV(TREE, scoring="recall", cv=2, thresholds=10), 2),
        (make_pipeline(StandardScaler(), LOW), 2),
        (GridSearchCV(LOW, {"threshold": [0.1, 0.2]}, cv=2, scoring="recall"), 2),
        (StackingClassifier([("tree", TREE)], final_estimator=LOW, cv=2), 2),
        (RFE(SVC(kernel="linear", probability=True, random_state=0)), 2),
        (RememberTraining(LOW), 2),
        (TopKDefense(LOW), 2),
        (SVC(probability=True, random_state=0), 2),
        (OneVsRestClassifier(SVC(probability=True, random_state=0)), 2),
        (SVC(random_state=0), 3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_labels_are_those_that_the_model_predicts(model, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=300), [0.5, 1.5][: n_classes - 1])
    model = clone(model).fit(X[::2], y[::2])
    answers, expected = query(model, Records(X, y)), model.predict(X)
    np.testing.assert_array_equal(answers.as_labels().values, expected)
    np.testing.assert_array_equal(Correctness().of(model, Records(X, y)), expected == y)
    if n_classes == 2:  # three classes tie too rarely
        assert (answers.values.argmax(axis=1) != expected).any()


def test_a_pool_of_labels_has_those_that_its_models_predict():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    records = Records(X, (X[:, 0] + rng.normal(size=100) > 0.5).astype(int))
    pool = ShadowPool(LOW, 4, store="models", output_kind="label", random_state=0).fit(records)
    right = [model.predict(X) == records.y for model in pool.estimators_]
    np.testing.assert_array_equal(pool.signals_[0, 0], right)
    new = Records(X + 0.1, records.y)
    right = [model.predict(new.X) == new.y for model in pool.estimators_]
    np.testing.assert_array_equal(pool.values(new)[0], right)


def test_regressors_have_no_labels():
    records = Records(np.eye(8), np.arange(8.0))
    with pytest.raises(
        ValueError, match="is for classifiers; DecisionTreeRegressor is a regressor"
    ):
        ShadowPool(DecisionTreeRegressor(), 2, output_kind="label").fit(records)


def test_a_pool_of_probabilities_refuses_a_victim_of_labels():
    records, _ = make_membership_problem(200, random_state=0)
    model = KNeighborsClassifier().fit(records.X, records.y)
    pool = FrozenEstimator(ShadowPool(model, 4, random_state=0).fit(records))
    service = CallableVictim(model.predict, model.classes_, kind="label")
    with pytest.raises(ValueError, match='Or fit the pool with output_kind="label"'):
        LiRA(service, pool).fit(records).score_samples(records)
    signals = ("auto", "correctness")
    pool = FrozenEstimator(ShadowPool(model, 4, signals=signals, random_state=0).fit(records))
    attack = LiRA(service, pool, signal="correctness")
    assert np.isfinite(attack.fit(records).score_samples(records)).all()
