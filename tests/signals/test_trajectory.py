"""Signals at several times of the training of a model."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.base import needs_of
from skmia.datasets import make_membership_problem
from skmia.signals import Loss, ScaledLogit, Trajectories, Trajectory

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.array(["no", "yes"])[RNG.integers(2, size=60)]
NUMBERS = X[:, 0] + RNG.normal(size=60)
RECORDS = Records(X, Y)
BOOSTED = [
    GradientBoostingClassifier(n_estimators=7, random_state=0),
    HistGradientBoostingClassifier(max_iter=7, min_samples_leaf=2),
    AdaBoostClassifier(n_estimators=7, random_state=0),
]


def log_odds(p):
    p = np.clip(p[np.arange(len(Y)), (Y == "yes").astype(int)], 1e-12, 1 - 1e-12)
    return np.log(p / (1 - p))


@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: type(model).__name__)
def test_times_are_equal_shares_of_the_rounds(model):
    model = clone(model).fit(X[:30], Y[:30])
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 7
    expected = np.array(
        [log_odds(stages[k]) for k in (2, 4, 6)]
    )  # after 7/3 of 7 rounds, rounded up
    values = Trajectories(FrozenEstimator(model), 3).fit(RECORDS).transform(RECORDS)
    assert_allclose(values, expected.T)
    assert_allclose(values[:, -1], ScaledLogit().of(model, RECORDS))
    assert_allclose(Trajectory(3).of(model, RECORDS), expected[-1] - expected[0])
    assert_allclose(Trajectory(3, summary="mean").of(model, RECORDS), expected.mean(axis=0))


@pytest.mark.parametrize("model", [GradientBoostingRegressor, HistGradientBoostingRegressor])
def test_regressors_have_a_loss_at_each_time(model):
    model = model(random_state=0).fit(X[:30], NUMBERS[:30])
    records = Records(X, NUMBERS)
    values = Trajectories(model, 5, signal="loss").fit_transform(records)
    stages = list(model.staged_predict(X))
    expected = [-((NUMBERS - stages[k]) ** 2) for k in (19, 39, 59, 79, 99)]
    assert_allclose(values, np.array(expected).T)


@pytest.mark.parametrize("stops", [False, True])
def test_rounds_of_xgboost_up_to_the_one_that_predicts(stops):
    xgboost = pytest.importorskip("xgboost")
    y = (Y == "yes").astype(int)
    settings = {"early_stopping_rounds": 2} if stops else {}
    model = xgboost.XGBClassifier(n_estimators=30, n_jobs=1, **settings)
    model.fit(X[:30], y[:30], eval_set=[(X[30:], y[30:])], verbose=False)
    assert not stops or model.best_iteration < 20
    n_rounds = model.best_iteration + 1 if stops else 30
    records = Records(X, y)
    values = Trajectories(model, 2, signal=Loss()).fit_transform(records)
    for column, k in zip(values.T, (-(-n_rounds // 2), n_rounds), strict=True):
        p = model.predict_proba(X, iteration_range=(0, k))[np.arange(60), y]
        assert_allclose(column, np.log(p), rtol=1e-5)
    assert_allclose(values[:, -1], Loss().of(model, records))


def test_a_model_of_fewer_rounds_repeats_some():
    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    values = Trajectories(model, 4).fit_transform(RECORDS)
    assert_array_equal(values[:, 0], values[:, 1])
    assert_array_equal(values[:, 2], values[:, 3])
    assert (values[:, 1] != values[:, 2]).all()


def test_the_steps_before_the_trees_are_applied():
    model = GradientBoostingClassifier(n_estimators=5, random_state=0)
    inner = make_pipeline(StandardScaler(), FrozenEstimator(model.fit(X - X.mean(0), Y)))
    outer = make_pipeline(StandardScaler(with_std=False), inner).fit(X, Y)
    by_hand = model.fit((X - X.mean(0)) / X.std(0), Y)
    outer.steps[-1][1].steps[-1][1].estimator = by_hand
    expected = [log_odds(p) for p in by_hand.staged_predict_proba((X - X.mean(0)) / X.std(0))]
    assert_allclose(Trajectories(outer, 5).fit_transform(RECORDS), np.array(expected).T)


def make_states():
    model, states = SGDClassifier(loss="log_loss", alpha=1.0, random_state=0), []
    for _ in range(4):
        model.partial_fit(X[:30], Y[:30], classes=["no", "yes"])
        states.append(deepcopy(model))
    return states


def test_states_are_models_or_fields_of_the_records():
    *before, last = make_states()
    expected = np.array([log_odds(one.predict_proba(X)) for one in (*before, last)])
    values = Trajectories(last, tuple(before)).fit_transform(RECORDS)
    assert_allclose(values, expected.T)
    fields = {
        f"epoch{k}": Outputs(one.predict_proba(X), ["no", "yes"]) for k, one in enumerate(before)
    }
    stored = RECORDS.with_fields(**fields).with_outputs(last)
    again = Trajectories(checkpoints=tuple(fields)).fit_transform(stored)
    assert_allclose(again, values)
    signal = Trajectory(("epoch0", before[1]), "loss")
    assert_allclose(
        signal.of(None, stored), (Loss()(stored["outputs"], Y) - Loss().of(before[0], RECORDS))
    )


def test_states_survive_cross_validation():
    *before, last = make_states()
    membership = (np.arange(60) < 30).astype(int)
    frozen = tuple(map(FrozenEstimator, before))
    attack = make_pipeline(Trajectories(FrozenEstimator(last), frozen), LogisticRegression())
    assert np.isfinite(cross_val_score(attack, RECORDS, membership)).all()
    kept = make_pipeline(Trajectories(last, tuple(before)), LogisticRegression())
    np.testing.assert_array_equal(
        cross_val_score(kept, RECORDS, membership), cross_val_score(attack, RECORDS, membership)
    )
    with pytest.raises(NotFittedError, match="is not fitted: fit it first"):
        Trajectories(last, tuple(map(clone, before))).fit(RECORDS)


def test_a_class_that_a_state_has_not_seen():
    first = SGDClassifier(loss="log_loss").partial_fit(
        X[:9], np.tile(["no", "other", "yes"], 3), ["no", "other", "yes"]
    )
    last = LogisticRegression().fit(X, Y)
    assert np.isfinite(Trajectories(last, (first,)).fit_transform(RECORDS)).all()


def test_a_pool_stores_the_signal_of_each_model():
    model = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0)
    gain = Trajectory(3)
    pool = ShadowPool(model, 4, signals=("auto", gain), store="models", random_state=0).fit(RECORDS)
    for k, shadow in enumerate(pool.estimators_):
        assert_allclose(pool.values(RECORDS, gain)[0, k], gain.of(shadow, RECORDS), rtol=1e-5)
    attack = LiRA(model.fit(X[:30], Y[:30]), shadows=FrozenEstimator(pool), signal=gain)
    assert np.isfinite(attack.fit(RECORDS).score_samples(RECORDS)).all()


def test_records_without_labels_are_refused():
    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    columns = Trajectories(model, 2).fit(RECORDS)
    for ask in (columns.transform, columns.fit, lambda records: Trajectory(2).of(model, records)):
        with pytest.raises(ValueError, match="carry no task labels"):
            ask(Records(X))
        with pytest.raises(TypeError, match=r"Expected skmia\.Records, got ndarray"):
            ask(X)


def test_what_they_need():
    assert needs_of(Trajectories()).access == {"file"}
    assert needs_of(Trajectories(checkpoints=("epoch1",))).access == frozenset()
    assert needs_of(ThresholdAttack(signal=Trajectory(4, "entropy"))).access == {"file"}
    assert needs_of(Trajectories(signal="log_residual")).reads == {"value", "values"}
    assert Trajectory(4, "entropy", "mean").name == "entropy_mean"


@pytest.mark.slow  # what a trajectory holds is compared step by step
def test_the_training_says_more_than_its_end():
    records, membership = make_membership_problem(random_state=0)
    members = records[membership == 1]
    model = HistGradientBoostingClassifier(random_state=0).fit(members.X, members.y)
    victim = FrozenEstimator(model)

    def auc(n_times):
        attack = make_pipeline(Trajectories(victim, n_times), LogisticRegression(max_iter=1000))
        return cross_val_score(attack, records, membership, scoring="roc_auc").mean()

    at_the_end = ThresholdAttack(victim, signal="scaled_logit")
    end = cross_val_score(at_the_end, records, membership, scoring="roc_auc").mean()
    assert auc(10) > end + 0.02


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"checkpoints": 1}, "an integer from 2"),
        ({"checkpoints": "epoch1"}, "an integer from 2"),
        ({"checkpoints": ()}, "at least one earlier state"),
        ({"checkpoints": 2, "signal": "merlin"}, "a signal of outputs alone; got 'merlin'"),
        ({"checkpoints": 2, "signal": "auto"}, "not the name of a signal"),
        ({"checkpoints": 2, "summary": "last"}, "summary"),
    ],
)
def test_wrong_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Trajectory(**settings)
    if "summary" not in settings:
        with pytest.raises(ValueError, match=said):
            Trajectories(clone(BOOSTED[0]).fit(X, Y), **settings).fit(RECORDS)


@parametrize_refusals(
    (
        lambda forest: Trajectories(forest).fit(RECORDS),
        "RandomForestClassifier has no rounds to read",
        TypeError,
    ),
    (lambda forest: Trajectory(2).of(forest, RECORDS), "has no rounds", TypeError),
    (
        lambda forest: Trajectory(2).of(None, RECORDS.with_outputs(forest)),
        "stored outputs are not enough",
    ),
    (
        lambda forest: Trajectory(("epoch1",)).of(forest, RECORDS),
        "no field 'epoch1' with Outputs of a checkpoint",
    ),
    (
        lambda forest: Trajectory((3,)).of(forest, RECORDS),
        "fitted classifier or regressor",
        TypeError,
    ),
)
def test_wrong_victims_are_refused(call, words, error):
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    check_refusal(call, words, error, forest)
