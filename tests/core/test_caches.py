"""Nothing that is trained many times writes to, or reads from, the caches of the model."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool, audit
from skmia._core.caches import clone_to_train
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import evaluate_defense
from skmia.defenses._cross_fit import ask_left_out
from skmia.defenses._meta import LabeledRows
from skmia.epsilon import EpsilonAudit, OneRunAudit
from skmia.epsilon.canaries import make_canaries
from skmia.games import membership_game, retraining_oracle

RECORDS, MEMBERSHIP = make_membership_problem(80, random_state=0)
X, Y = RECORDS.X, RECORDS.y


def tree(memory):
    return make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0), memory=memory)


def nested(memory):
    return Pipeline([("scale", StandardScaler()), ("all", tree(memory))])


def frozen(memory):
    scaler = make_pipeline(StandardScaler(), StandardScaler(), memory=memory)
    scaler.steps[0][1].fit(X)
    scaler.steps[1][1].fit(X)
    return make_pipeline(FrozenEstimator(scaler), DecisionTreeClassifier())


def searched(memory):
    grid = [{"memory": [memory, None], "decisiontreeclassifier__max_depth": [1, 2]}]
    return GridSearchCV(tree(None), grid, cv=2)


def fit_pool(model):
    ShadowPool(model, 4, random_state=0).fit(RECORDS)


def fit_joint_pool(model):
    linear = clone(model).set_params(decisiontreeclassifier=LogisticRegression())
    ShadowPool(linear, 4, random_state=0).fit(RECORDS)


def run_audit(model):
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": (0.5,), "random_state": 0}
    audit(model, RECORDS, MEMBERSHIP, **settings)


def play(model):
    membership_game(model, ThresholdAttack(), RECORDS, n_rounds=2, random_state=0)


def ask_oracle(model):
    for last in (DecisionTreeClassifier(random_state=0), RandomForestClassifier(3, random_state=0)):
        victim = clone(model).set_params(decisiontreeclassifier=last, memory=None)
        victim.fit(X[MEMBERSHIP == 1], Y[MEMBERSHIP == 1])
        victim.set_params(memory=model.memory)  # fitted elsewhere, with the cache
        result = retraining_oracle(victim, RECORDS, MEMBERSHIP, n_rounds=10, random_state=0)
        assert result.accuracy == 1
        assert victim.memory == model.memory


def audit_epsilon(model):
    EpsilonAudit(model, n_trials=4, random_state=0).fit(X, Y)


def audit_one_run(model):
    OneRunAudit(model, n_canaries=10, random_state=0).fit(X, Y)


def find_canaries(model):
    make_canaries(X, Y, 2, kind="exposed", estimator=model)


def defend(model):
    # Its sub-models; the model that it fits once, in the end, is the user's own.
    data = LabeledRows(X, Y, None)
    left_out = np.arange(80) % 4 == np.arange(4)[:, None]
    ask_left_out(model, data, left_out, np.random.SeedSequence(0).spawn(4))


def evaluate(model):
    evaluate_defense({"model": model}, RECORDS, n_estimators=4, n_targets=2, random_state=0)


DOORS = [
    fit_pool,
    fit_joint_pool,
    run_audit,
    play,
    ask_oracle,
    audit_epsilon,
    audit_one_run,
    find_canaries,
    defend,
    evaluate,
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def asked(*arguments, **settings):
        raise AssertionError("a cache was asked")

    monkeypatch.setattr(joblib.memory.MemorizedFunc, "_cached_call", asked)
    yield tmp_path / "cache"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("quick_audits")
def test_no_door_uses_the_cache_of_a_model(door, folder):
    door(tree(str(folder)))


@pytest.mark.parametrize("make", [nested, frozen, searched])
@pytest.mark.parametrize("refit", [True, False])
def test_no_cache_at_any_depth_is_used_by_shadow_models(make, refit, folder):
    pool = ShadowPool(make(str(folder)), 4, refit_frozen=refit, random_state=0)
    if make is frozen and not refit:
        pool.set_params(estimator=nested(str(folder)))
    pool.fit(RECORDS)


def test_the_given_model_keeps_its_caches(tmp_path):
    model = nested(str(tmp_path))
    candidates = GridSearchCV(model, {"all__memory": [str(tmp_path)], "all__verbose": [False]})
    fresh = clone_to_train(candidates)
    assert fresh.param_grid == {"all__memory": [None], "all__verbose": [False]}
    assert fresh.estimator.get_params()["all__memory"] is None
    assert candidates.param_grid["all__memory"] == [str(tmp_path)]
    assert model.get_params()["all__memory"] == str(tmp_path)


def test_only_caches_are_called_so():
    class Net(DecisionTreeClassifier):
        def __init__(self, memory=None):
            super().__init__()
            self.memory = memory

    assert clone_to_train(Net(memory=16)).memory == 16
    assert clone_to_train(Net(memory=joblib.Memory(None))).memory is None


def test_a_model_without_its_cache_gives_the_same_signals(tmp_path):
    pools = [ShadowPool(tree(one), 4, random_state=0) for one in (None, str(tmp_path / "cache"))]
    first, second = (pool.fit(RECORDS).signals_ for pool in pools)
    assert np.array_equal(first, second)
