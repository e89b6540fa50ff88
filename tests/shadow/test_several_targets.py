"""Pools of regressors with several targets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA
from skmia.signals import LogResidual

N, RNG = 120, np.random.default_rng(0)
X = RNG.normal(size=(N, 30))
Y = (X @ RNG.normal(size=(30, 3)) / 5 + RNG.normal(size=(N, 3))) * [1.0, 10.0, 0.1]
RECORDS, MEMBERS = Records(X, Y), np.arange(N) < N // 2
RIDGE = Ridge().fit(X[MEMBERS], Y[MEMBERS])
POOL = ShadowPool(RIDGE, 8, random_state=0).fit(RECORDS)


def shifted(records):
    return [Records(records.X + 0.01, records.y)]


def test_a_pool_stores_one_number_for_each_model_and_record():
    assert POOL.signals_.shape == (1, 1, 8, N)
    assert POOL.signal_ == "log_residual"
    residuals = np.array(
        [Y - Ridge().fit(X[rows], Y[rows]).predict(X) for rows in POOL.membership_]
    ).transpose(2, 0, 1)
    length = np.exp(-POOL.joint_residual_(residuals))
    step = POOL.resolution_[0]
    np.testing.assert_allclose(
        np.exp(-POOL.signals_[0, 0]), np.sqrt(length**2 + step**2), rtol=1e-4
    )
    own = POOL.victim_values(RIDGE, RECORDS)[0]
    expected = np.exp(-POOL.joint_residual_((Y - RIDGE.predict(X)).T))
    np.testing.assert_allclose(np.exp(-own), np.sqrt(expected**2 + step**2), rtol=1e-4)


def test_one_target_is_a_pool_as_ever():
    flat, column = (
        ShadowPool(Ridge(), 4, random_state=0).fit(Records(X, y)) for y in (Y[:, 0], Y[:, :1])
    )
    assert flat.joint_residual_ is None
    np.testing.assert_array_equal(flat.signals_, column.signals_)


def test_the_law_has_half_as_many_degrees_of_freedom_as_targets():
    inside, lengths = POOL.membership_, np.exp(-2.0 * POOL.signals_[0, 0])
    np.testing.assert_allclose(POOL.scale_**2, lengths[~inside].mean() / 1.5, rtol=1e-5)


def test_a_pool_of_given_outputs_is_the_one_of_fit():
    answers = [Ridge().fit(X[rows], Y[rows]).predict(X) for rows in POOL.membership_]
    given = ShadowPool.from_outputs(answers, POOL.membership_, RECORDS, kind="values")
    np.testing.assert_allclose(given.signals_, POOL.signals_, atol=1e-4)
    asked = RECORDS.with_outputs(RIDGE)
    scores = LiRA(None, given).fit(asked).score_samples(asked)
    np.testing.assert_allclose(
        scores, LiRA(RIDGE, POOL).fit(RECORDS).score_samples(RECORDS), atol=1e-2
    )


def test_a_pool_goes_on_from_a_checkpoint_and_from_memory(tmp_path):
    first = ShadowPool(RIDGE, 4, random_state=0, checkpoint=tmp_path).fit(RECORDS)
    grown = ShadowPool(RIDGE, 8, random_state=0, checkpoint=tmp_path).fit(RECORDS)
    np.testing.assert_array_equal(grown.signals_, POOL.signals_)
    assert first.signals_.shape[2] == 4
    warm = ShadowPool(RIDGE, 4, random_state=0, warm_start=True).fit(RECORDS)
    np.testing.assert_array_equal(
        warm.set_params(n_estimators=8).fit(RECORDS).signals_, POOL.signals_
    )


def test_further_signals_augmentations_and_blocks(monkeypatch):
    settings = {"signals": ("auto", "squared_error"), "augment": shifted, "random_state": 0}
    pool = ShadowPool(DecisionTreeRegressor(max_depth=3), 4, **settings)
    whole = clone(pool).fit(RECORDS)
    assert whole.signals_.shape == (2, 2, 4, N)
    assert whole.stored_[0] == LogResidual()
    for module in ("_core.query", "_training.job", "shadow._job", "shadow._answers"):
        monkeypatch.setattr(f"skmia.{module}.CHUNK", 30)
    np.testing.assert_allclose(pool.fit(RECORDS).signals_, whole.signals_, rtol=1e-5)


def test_kept_models_score_records_that_are_not_in_the_pool():
    new = Records(RNG.normal(size=(5, 30)), RNG.normal(size=(5, 3)))
    pool = ShadowPool(RIDGE, 8, store="models", random_state=0).fit(RECORDS)
    attack = LiRA(RIDGE, pool, online=False).fit(new)
    assert np.isfinite(attack.score_samples(new)).all()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda path: ShadowPool(RIDGE, 2, on_disk=True, checkpoint=path), "several targets are"),
        (lambda path: ShadowPool(RIDGE, 2, output_kind="label"), "Ridge is a regressor"),
    ],
    ids=["on disk", "labels"],
)
def test_settings_that_do_not_go_with_several_targets(use, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        use(tmp_path).fit(RECORDS)


def test_a_victim_of_other_targets_is_refused_before_any_model_is_trained():
    class Untrained(Ridge):
        def fit(self, X, y):
            raise AssertionError("no model is needed for this message")

    model = Untrained()
    for Z, y, message in (
        (Y, Y[:, 0], r"3 numbers for each record, .* y has 1. Give y with all targets"),
        (Y, Y[:, :2], "3 numbers for each record, .* and y has 2"),
        (Y[:, 0], Y, r"one number for each record, and y has 3. .* Records\(X, y\[:, k\]\)"),
    ):
        model.__dict__.update(vars(Ridge().fit(X, Z)))
        with pytest.raises(ValueError, match=message):
            LiRA(model, shadows=2).fit(Records(X, y))


def test_answers_of_another_number_of_targets_are_refused():
    pool = ShadowPool(RIDGE, 4, store="models", random_state=0).fit(RECORDS)
    two = Records(X, Y[:, :2], outputs=Outputs(Y[:, :2], kind="values"))
    with pytest.raises(ValueError, match="answers with 2 numbers .* shadow models with 3"):
        pool.victim_values(None, two)
