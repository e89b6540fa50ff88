"""Attacks on shadow models from the moments of the pool against a pass over the rest for each."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from skmia._core.pseudo_victims import choose_others
from skmia.attacks import RMIA, CalibratedAttack, LiRA
from skmia.base import Comparison

ATTACKS = [
    LiRA(variance="conjugate"),
    LiRA(variance="example"),
    LiRA(variance="pooled"),
    LiRA(online=False),
    LiRA(online=False, variance="example"),
    RMIA(temperature=1.0),
    RMIA(temperature=1.0, online=False),
    RMIA(temperature=1.0, online=False, a=1.0),
    CalibratedAttack(),
    CalibratedAttack(reference="midpoint", signal="loss"),
]


def paired(n_models, n_records, rng):
    inside = rng.random((n_models, n_records)) < 0.5
    inside[1::2] = ~inside[::2]
    return inside


def narrow(n_models, n_records, rng):
    """Complementary pairs of a quarter of the records each, so that half are OUT of both."""
    half = rng.random((n_models, n_records))
    return np.where(np.arange(n_models)[:, None] % 2, np.roll(half, 1, axis=0) > 0.75, half < 0.25)


def balanced(n_models, n_records, rng):
    """Each record in as many models as any other, and no complements."""
    return np.argsort(rng.random((n_models, n_records)), axis=0) < n_models // 2


def single(n_models, n_records, rng):
    inside = rng.random((n_models, n_records)) < 0.5
    inside[:6], inside[-6:] = True, False
    return inside


def score_both_ways(attack, world, models):
    """Scores as the attack finds them, and with a pass over the rest of the pool for each model."""
    attack.set_params(shadows=FrozenEstimator(world.pool)).fit(world.records)
    got, expected = np.empty((2, len(models), len(world.records)))
    judged = np.empty(got.shape, dtype=bool)
    for rows, scores, _, enough in attack.score_left_out(world.records, models):
        got[:, rows], judged[:, rows] = scores, enough
    for rows, shadows, inside, _ in attack._reader.blocks(world.records):
        columns = world.pool.locate(world.records)[rows]
        others = choose_others(world.pool.design_, inside, columns, models)
        expected[:, rows] = Comparison._score_left_out(
            attack._comparison, shadows, inside, models, others
        )
    assert judged.mean() > 0.9
    return got[judged], expected[judged]


DESIGNS = [(paired, 20), (narrow, 20), (balanced, 20), (single, 21)]
# Each attack meets each design, and each design all models and some of them.
PASSES = [
    pytest.param(*given, marks=[pytest.mark.slow] * ((i + j + k) % 2))
    for i, attack in enumerate(ATTACKS)
    for j, (design, n_models) in enumerate(DESIGNS)
    for k, given in enumerate((attack, design, n_models, chosen) for chosen in ("all", "some"))
]


@pytest.mark.parametrize(
    "attack, design, n_models, chosen", PASSES, ids=lambda one: getattr(one, "__name__", str(one))
)
def test_scores_of_shadow_models(make_world, monkeypatch, attack, design, n_models, chosen):
    monkeypatch.setattr("skmia._core.pseudo_victims.CACHED", 500)
    monkeypatch.setattr("skmia.base._pool_attack._BLOCK", 20 * n_models)
    rng = np.random.default_rng(0)
    inside = design(n_models, 50, rng)
    shadows = rng.normal(2, 3, size=50) + rng.normal(size=inside.shape) + 1.5 * inside
    world = make_world(rng.normal(size=50), shadows, inside)
    models = np.arange(n_models) if chosen == "all" else np.array([7, 0, n_models - 1, 12])
    got, expected = score_both_ways(attack, world, models)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attack", ATTACKS[:5], ids=str)
@pytest.mark.parametrize("design", [paired, balanced, single])
def test_model_that_is_all_of_the_spread_leaves_the_true_rest(make_world, attack, design):
    # The sum of squares less its own would be the rounding of a number a billion times as large.
    rng = np.random.default_rng(1)
    inside = design(20, 40, rng)
    shadows = np.where(inside, 4.0, 1.0) + 1e-3 * rng.normal(size=inside.shape)
    shadows[7] += np.where(np.arange(40) % 2, 50.0, 0.0)
    world = make_world(rng.normal(size=40), shadows, inside)
    got, expected = score_both_ways(attack, world, np.arange(20))
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("online", [True, False])
def test_model_that_is_all_of_the_likelihood_leaves_the_true_rest(make_world, online):
    rng = np.random.default_rng(2)
    inside = paired(20, 40, rng)
    shadows = -34 + rng.normal(size=inside.shape)
    shadows[7, ::2] = 30
    world = make_world(rng.normal(size=40), shadows, inside)
    attack = RMIA(temperature=1.0, online=online, a=1.0)
    got, expected = score_both_ways(attack, world, np.arange(20))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
