"""Users split tables and draw rows with the seed that they give to an estimator."""

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from skmia import Records, ShadowPool
from skmia._core.randomness import derive_random_state, derive_seed, spawn_seeds
from skmia.epsilon.canaries import make_canaries, mislabel
from skmia.synthetic import (
    CopyTest,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
)
from skmia.synthetic._table import _measure

# How rows are drawn with a seed.
DRAWS = {
    "DataFrame.sample": lambda n, k, seed: pd.Series(range(n)).sample(k, random_state=seed).array,
    "train_test_split": lambda n, k, seed: train_test_split(
        range(n), train_size=k, random_state=seed
    )[0],
    "the test rows of train_test_split": lambda n, k, seed: train_test_split(
        range(n), test_size=k, random_state=seed
    )[1],
    "RandomState.permutation": lambda n, k, seed: np.random.RandomState(seed).permutation(n)[:k],
    "Generator.permutation": lambda n, k, seed: np.random.default_rng(seed).permutation(n)[:k],
    "Generator.choice": lambda n, k, seed: np.random.default_rng(seed).choice(n, k, replace=False),
}
SEEDS = (0, 42)
# The quick tests below have all ways and both seeds.
FEW_WAYS = ("train_test_split", "Generator.choice")
some_ways = pytest.mark.parametrize(
    "way",
    slow_but(DRAWS, *FEW_WAYS),
)


def assert_chance(n_common, n, k, m):
    """So many common rows as k and m rows have that are drawn from n independently."""
    mean = k * m / n
    spread = np.sqrt(mean * (1 - k / n) * (n - m) / (n - 1))
    assert abs(n_common - mean) <= 4 * spread, (n_common, mean, spread)


def draw(name, n, k, seed):
    return np.asarray(DRAWS[name](n, k, seed), dtype=int)


@some_ways
@pytest.mark.parametrize("seed", [SEEDS[0], pytest.param(SEEDS[1], marks=pytest.mark.slow)])
def test_rows_that_are_attacked_are_not_those_that_the_generator_copied(way, seed):
    rng = np.random.default_rng(7)
    train, test, fresh = rng.normal(size=(3, 2500, 4))
    copied = draw(way, 2500, 500, seed)
    made = np.append(train[copied], fresh[:2000], axis=0)
    settings = {"n_attacks": 500, "n_permutations": 0, "random_state": seed}
    inferred = InferenceRisk(0, tolerance=0, **settings).fit(train, test, made).result_
    assert_chance(500 * inferred["attack"].item(), 2500, 500, 500)
    linked = LinkabilityRisk(**settings).fit(train, test, made).result_
    assert_chance(500 * linked["attack"].item(), 2500, 500, 500)
    # Only the larger table is cut, and a single value isolates its row.
    settings["n_attacks"] = 3000
    risk = SinglingOutRisk("univariate", **settings)
    isolated = risk.fit(train[:, :1], test[:500, :1], train[copied, :1]).result_
    row = isolated.iloc[0]
    assert_chance(row["attack"] * row["n_attacks"], 2500, 500, 500)


@some_ways
def test_near_copies_are_looked_for_in_other_rows_than_were_copied(way):
    rng = np.random.default_rng(8)
    train, test = rng.normal(size=(2, 6000, 3))
    made = train[draw(way, 6000, 2000, 0)] + 1e-7
    found = CopyTest(random_state=0).fit(train, test, made).result_.loc["near copies"]
    assert found["n_train"] == 2000
    assert_chance(found["train"], 6000, 2000, 2000)


def test_the_loss_does_not_depend_on_the_seed_of_the_generator():
    rng = np.random.default_rng(9)
    train, test = rng.normal(size=(2, 1000, 3))
    losses = {}
    for seed in range(12):
        made = train[draw("DataFrame.sample", 1000, 250, seed)]
        fitted = PrivacyLoss(n_permutations=0, random_state=0).fit(train, test[:250], made)
        losses[seed] = fitted.statistic_
    others = np.array([loss for seed, loss in losses.items() if seed])
    assert abs(losses[0] - others.mean()) <= 4 * others.std(ddof=1)


@pytest.mark.usefixtures("quick_tables")
def test_rows_of_an_audit_do_not_depend_on_the_seed_of_the_generator(monkeypatch):
    name = "membership by distances"
    monkeypatch.setattr(_measure, "ATTACKS", {name: _measure.ATTACKS[name]})
    rng = np.random.default_rng(10)
    train, test, fresh = (pd.DataFrame(part) for part in rng.normal(size=(3, 4000, 2)))
    settings, found = {"random_state": 0, "confidence_level": 0.95}, {}
    for seed in (0, 1):
        made = pd.concat([train.sample(2000, random_state=seed), fresh[:2000]], ignore_index=True)
        numbers = _measure.measure_row_membership([train, test, made], settings, 0, None)
        numbers |= {
            "privacy loss": _measure.measure_loss([train, test, made], settings, 0, None)[0]
        }
        found[seed] = pd.DataFrame(numbers).T["estimate"]
    # Of 2,000 rows that are looked at 1,000 are copies, give or take 64.
    for name in ("privacy loss", "membership by distances"):
        assert abs(found[0][name] - found[1][name]) < 0.1, name


@pytest.mark.parametrize("way", DRAWS)
@pytest.mark.parametrize("seed", SEEDS)
def test_shadow_models_do_not_have_the_rows_of_a_victim_with_the_same_seed(way, seed):
    n = 1000
    records = Records(np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % 2)
    victim = np.isin(np.arange(n), draw(way, n, n // 2, seed))
    pool = ShadowPool(DummyClassifier(), 8, random_state=seed).fit(records)
    for inside in pool.membership(records).T:
        assert_chance((inside & victim).sum(), n, n // 2, inside.sum())


@pytest.mark.parametrize("way", DRAWS)
@pytest.mark.parametrize("seed", SEEDS)
def test_canaries_are_not_the_rows_of_a_split_with_the_same_seed(way, seed):
    n, k = 2000, 400
    records = Records(np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % 2)
    held = draw(way, n, k, seed)
    canaries = np.flatnonzero(mislabel(records, k, random_state=seed)[1])
    assert_chance(len(np.intersect1d(canaries, held)), n, k, k)
    for kind in ("natural", "random_label"):
        drawn = make_canaries(records.X, records.y, kind=kind, n_canaries=k, random_state=seed)
        where = pd.Index(map(bytes, records.X)).get_indexer(list(map(bytes, drawn.X)))
        assert_chance(len(np.intersect1d(where, held)), n, k, k)


@pytest.mark.parametrize("seed", SEEDS)
def test_uses_of_a_seed_have_draws_of_their_own(seed):
    one, same = (derive_random_state(seed, "one").permutation(1000) for _ in range(2))
    other = derive_random_state(seed, "other").permutation(1000)
    assert np.array_equal(one, same)
    spawned = np.random.default_rng(spawn_seeds(seed, 1)[0]).permutation(1000)
    drawn = [one, other, spawned, *(draw(way, 1000, 500, seed) for way in DRAWS)]
    for first in drawn[:3]:
        for second in drawn:
            if first is not second:
                assert_chance(len(np.intersect1d(first[:500], second[:500])), 1000, 500, 500)
    assert derive_seed(seed, "one") != derive_seed(seed, "other")
    state = np.random.RandomState(seed)
    assert derive_seed(state, "one") != derive_seed(state, "one")  # it goes on
