"""The moments of a pool are computed once, and do not outlive its signals."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from skmia import Outputs, Records, ShadowPool
from skmia._core.moments import compute_sides
from skmia.attacks import CalibratedAttack, LiRA

N_RECORDS, N_MODELS = 240, 8
SETTINGS = [
    (LiRA, {}),
    (LiRA, {"online": False}),
    (LiRA, {"variance": "example"}),
    (LiRA, {"variance": "pooled"}),
    (LiRA, {"variance": "conjugate"}),
    (CalibratedAttack, {"reference": "midpoint"}),
    (CalibratedAttack, {"reference": "out"}),
]


def make_pool(seed=0, paired=True):
    rng = np.random.default_rng(seed)
    inside = rng.random((N_MODELS, N_RECORDS)) < 0.5
    inside[0], inside[1] = True, False
    if paired:
        inside[1::2] = ~inside[::2]
    signals = rng.normal(size=inside.shape) + 1.5 * inside
    records = Records(rng.normal(size=(N_RECORDS, 3)), np.ones(N_RECORDS, dtype=int))
    logits = np.column_stack([np.zeros(N_RECORDS), rng.normal(size=N_RECORDS)])
    records = records.with_fields(outputs=Outputs(logits, [0, 1], "logits"))
    return records, ShadowPool.from_scores(signals, inside, records)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("attack, settings", SETTINGS)
def test_scores_are_those_of_a_pool_too_large_to_keep_them(monkeypatch, attack, settings, paired):
    records, pool = make_pool(paired=paired)
    attack = attack(shadows=FrozenEstimator(pool), **settings)
    scores = attack.fit(records).score_samples(records)
    assert pool.to_answers()._moments
    shuffled = np.random.default_rng(1).permutation(N_RECORDS)
    again = attack.score_samples(records[shuffled])
    np.testing.assert_array_equal(again, scores[shuffled])
    monkeypatch.setattr("skmia.shadow._answers._MOST_BYTES", 0)
    assert pool.moments() is None
    blocks = attack.fit(records).score_samples(records)
    np.testing.assert_allclose(scores, blocks, rtol=1e-4, atol=1e-4)


def test_moments_are_those_of_the_signals_at_hand():
    _, pool = make_pool()
    sides = pool.moments()
    assert pool.moments() is sides
    part = pool.first(4).moments()
    expected = compute_sides(
        pool.signals_[0, :, :4], pool.membership_[:4], ~pool.membership_[:4], np.arange(4) ^ 1
    )
    np.testing.assert_allclose(part.into.mean, expected.into.mean, rtol=1e-6)
    assert pool.moments() is sides
    higher = replace(pool.to_answers(), signals=pool.signals_ + np.float32(1))
    np.testing.assert_allclose(higher.moments().out.mean, sides.out.mean + 1, rtol=1e-5)


def test_a_copy_of_a_pool_does_not_hold_them():
    _, pool = make_pool()
    before = pickle.dumps(pool)
    pool.moments()
    assert len(pickle.dumps(pool)) == len(before)
    assert not copy.deepcopy(pool).to_answers()._moments
    assert pool.to_answers()._moments


def test_few_records_whose_models_are_not_in_pairs_spoil_no_others(monkeypatch):
    records, pool = make_pool()
    regular = pool.moments()
    inside = pool.membership_.copy()
    inside[:, 3] = [True, True, False, False, True, True, False, False]
    for block in (1 << 20, 1):
        monkeypatch.setattr("skmia.shadow._answers._BLOCK", block)
        monkeypatch.setattr("skmia.shadow._answers._FEWEST_RECORDS", 100)
        pool = pool.with_answers(replace(pool.to_answers(), membership=inside))
        sides = pool.moments()
        others = np.arange(N_RECORDS) != 3
        assert np.isnan(sides.product[0, 3])
        np.testing.assert_allclose(sides.product[:, others], regular.product[:, others], rtol=1e-5)
        np.testing.assert_allclose(
            sides.into.mean[0, 3],
            pool.signals_[0, 0, pool.membership_[:, 3], 3].mean(),
            rtol=1e-5,
        )
        attack = LiRA(shadows=FrozenEstimator(pool)).fit(records)
        assert np.isfinite(attack.score_samples(records)).all()
        assert np.isfinite(attack.score_samples(records[10:20])).all()
