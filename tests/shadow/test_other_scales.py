"""Pools of regressors whose predictions are not on the scale of the labels."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, StackedAttack
from skmia.signals import LogResidual, OrientedPrediction


class HazardRegressor(RegressorMixin, BaseEstimator):
    """Hazards that fall with the time that a ridge regression predicts."""

    def fit(self, X, y):
        self.ridge_ = Ridge().fit(X, y)
        return self

    def predict(self, X):
        return np.exp(-self.ridge_.predict(X))


RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 60))
Y = X[:, 0] + RNG.normal(size=N)
RECORDS, MEMBERS = Records(X, Y), RNG.permutation(N) < N // 2
HAZARDS = HazardRegressor().fit(X[MEMBERS], Y[MEMBERS])
POOL = ShadowPool(HazardRegressor(), 8, store="models", random_state=0).fit(RECORDS)
TIMES = ShadowPool(Ridge(), 8, random_state=0).fit(RECORDS)


def measure(attack, victim, pool):
    fitted = clone(attack).set_params(victim=victim, shadows=pool).fit(RECORDS)
    return roc_auc_score(MEMBERS, fitted.score_samples(RECORDS))


def test_what_is_compared_is_the_prediction_or_the_residual():
    assert POOL.signal_ == "oriented_prediction"
    assert TIMES.signal_ == "log_residual"
    assert [type(one) for one in POOL.stored_] == [OrientedPrediction, LogResidual]
    assert TIMES.stored_ == [LogResidual()]


@pytest.mark.parametrize("attack", [LiRA(), RMIA(), StackedAttack(random_state=0)], ids=repr)
def test_attacks_see_what_moves_the_prediction(attack):
    loss = measure(LiRA(signal="loss"), HAZARDS, POOL)
    assert measure(attack, HAZARDS, POOL) > loss + 0.05


def test_hazards_reveal_as_much_as_the_times_that_they_follow_from():
    found = measure(LiRA(), HAZARDS, POOL)
    assert found > measure(LiRA(), HAZARDS.ridge_, TIMES) - 0.05


def test_survival_times_that_are_negative_if_censored():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    times, ends = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=500)
    records = Records(X, np.where(times <= ends, times, -ends))
    model = xgboost.XGBRegressor(objective="survival:cox", n_estimators=15, n_jobs=1)
    inside = rng.permutation(500) < 250
    victim = clone(model).fit(X[inside], records.y[inside])
    pool = ShadowPool(model, 8, random_state=0).fit(records)
    assert pool.signal_ == "oriented_prediction"
    aucs = [
        roc_auc_score(inside, LiRA(victim, pool, signal=one).fit(records).score_samples(records))
        for one in ("auto", "loss")
    ]
    assert aucs[0] > aucs[1] + 0.02


def test_a_model_of_the_pool_has_its_own_values_as_a_victim():
    for signal in ("auto", LogResidual()):
        values = POOL.victim_values(POOL.estimators_[2], RECORDS, signal)[0]
        np.testing.assert_allclose(values, POOL.values(RECORDS, signal)[0, 2], rtol=2e-4, atol=2e-5)


def test_records_that_are_new_to_the_pool_are_compared_alike():
    rng = np.random.default_rng(1)
    new = Records(rng.normal(size=(5, 60)), rng.normal(size=5))
    values = POOL.values(new)[0]
    expected = [
        POOL.stored_[0](new.with_outputs(one)["outputs"], new.y) for one in POOL.estimators_
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)


def test_the_unit_of_predictions_does_not_matter():
    class Percent(HazardRegressor):
        def predict(self, X):
            return 100 * super().predict(X)

    other = ShadowPool(Percent(), 8, random_state=0).fit(RECORDS)
    victim = Percent().fit(X[MEMBERS], Y[MEMBERS])
    np.testing.assert_allclose(
        LiRA(victim, other).fit(RECORDS).score_samples(RECORDS),
        LiRA(HAZARDS, POOL).fit(RECORDS).score_samples(RECORDS),
        atol=2e-2,
    )


def test_a_pool_of_given_outputs_compares_alike():
    answers = np.array([one.predict(X) for one in POOL.estimators_])
    given = ShadowPool.from_outputs(answers, POOL.membership_, RECORDS, kind="value")
    assert given.signal_ == "oriented_prediction"
    np.testing.assert_allclose(given.signals_, POOL.signals_, atol=1e-3)


def test_a_pool_on_disk_compares_alike(tmp_path):
    settings = {"signals": ("auto", "loss"), "augment": shift, "random_state": 0}
    pool = ShadowPool(HazardRegressor(), 8, **settings).fit(RECORDS)
    stored = ShadowPool(HazardRegressor(), 8, **settings, checkpoint=tmp_path, on_disk=True)
    stored = pickle.loads(pickle.dumps(stored.fit(RECORDS)))
    assert stored.stored_ == pool.stored_
    assert len(pool.stored_) == 3
    np.testing.assert_array_equal(stored.signals_, pool.signals_)
    part = np.s_[:, :, 3:5, 90:120]
    np.testing.assert_array_equal(stored.signals_[part], pool.signals_[part])
    np.testing.assert_array_equal(stored.first(4).signals_, pool.first(4).signals_)


def shift(records):
    return [Records(records.X + 0.1, records.y)]


def test_a_pool_that_grows_decides_again():
    pool = ShadowPool(HazardRegressor(), 4, warm_start=True, random_state=0).fit(RECORDS)
    grown = pool.set_params(n_estimators=8).fit(RECORDS)
    np.testing.assert_array_equal(grown.signals_, POOL.signals_)


def test_a_pool_on_disk_compares_residuals(tmp_path):
    pool = ShadowPool(HazardRegressor(), 4, on_disk=True, checkpoint=tmp_path, random_state=0).fit(
        RECORDS
    )
    assert pool.signal_ == "log_residual"
    held = ShadowPool(HazardRegressor(), 4, random_state=0).fit(RECORDS)
    np.testing.assert_array_equal(
        np.asarray(pool.values(RECORDS)), held.values(RECORDS, LogResidual())
    )
