"""LiRA with variances and gaps shrunk to trends, against the formulas written out with scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Outputs, Records, ShadowPool
from skmia._core.moments import compute_sides
from skmia._core.pseudo_victims import choose_others
from skmia.attacks import RMIA, LiRA
from skmia.attacks._lira import _draw_trend_records, count_voters

# Worlds in which the victim is wrong about every record.
pytestmark = pytest.mark.filterwarnings("ignore:.* of the labels are predicted if")

N_TREES = 20


def paired(n_models, n_records, rng):
    inside = rng.random((n_models, n_records)) < 0.5
    inside[1::2] = ~inside[::2]
    return inside


def shuffled_pairs(n_models, n_records, rng):
    return paired(n_models, n_records, rng)[rng.permutation(n_models)]


def balanced(n_models, n_records, rng):
    return np.argsort(rng.random((n_models, n_records)), axis=0) < n_models // 2


def independent(n_models, n_records, rng):
    inside = rng.random((n_models, n_records)) < 0.5
    inside[0], inside[-1] = True, False
    return inside


def draw(make_world, design, n_models, n_records=240, shift=1.0, seed=0):
    """A world where records of a high level vary less, and the models of a pair err apart."""
    rng = np.random.default_rng(seed)
    inside = design(n_models, n_records, rng)
    level = rng.normal(0, 2, n_records)
    error = rng.normal(size=inside.shape)
    error[1::2] -= 0.5 * error[: n_models // 2 * 2 : 2]
    shadows = level + shift * inside + np.exp(-level / 8) * error
    membership = rng.permutation(np.arange(n_records) % 2)
    target = level + shift * membership + np.exp(-level / 8) * rng.normal(size=n_records)
    return make_world(target, shadows.astype(np.float32), inside, membership)


def let_vote(pool, n_trees):
    """Return the pool with forests as its models."""
    return pool.with_answers(replace(pool.to_answers(), estimator=RandomForestClassifier(n_trees)))


def draw_votes(make_world, design, n_models, n_records=240, shift=0.2, seed=0):
    """A world of forests of 20 trees, which vote for the label or against it."""
    rng = np.random.default_rng(seed)
    inside = design(n_models, n_records, rng)
    membership = rng.permutation(np.arange(n_records) % 2)
    share = rng.uniform(0.0, 0.8, n_records)
    shares = rng.binomial(N_TREES, share + shift * inside) / N_TREES
    victim = rng.binomial(N_TREES, share + shift * membership) / N_TREES
    answers = Outputs(np.column_stack([1 - victim, victim]), [0, 1])
    X = np.arange(n_records)[:, None]
    records = Records(X, np.ones(n_records, int), outputs=answers)
    with np.errstate(divide="ignore"):
        pool = ShadowPool.from_scores(logit(shares), inside, records)
    world = make_world(victim - 0.5, shares - 0.5, inside, membership)
    return world._replace(
        records=records, pool=let_vote(pool, N_TREES), shadows=shares, target=victim
    )


def attack_on(world, **settings):
    return LiRA(shadows=FrozenEstimator(world.pool), **settings).fit(world.records)


def score(world, **settings):
    return attack_on(world, **settings).score_samples(world.records)


# The formulas, written out


def trend(level, values, weight=None):
    """Mean of the values, or ratio of two means, in bins of equal count of the level."""
    n_bins = max(1, min(24, len(level) // 60))
    edges = np.quantile(level, np.arange(1, n_bins) / n_bins) + 1e-5 * np.ptp(level)
    parts = [np.sum(level[:, None] > edges, axis=1) == k for k in range(n_bins)]
    weight = np.ones(len(level)) if weight is None else weight
    means = np.array([values[part].mean() / weight[part].mean() for part in parts])
    left, right = np.append(means[0], means[:-1]), np.append(means[1:], means[-1])
    centers = [level[part].mean() for part in parts]
    return np.interp(level, centers, left / 4 + means / 2 + right / 4)


def shrink_variance(level, squares, dof):
    v, some = trend(level, squares, dof), dof > 0
    ratio = squares[some] / dof[some] / v[some]
    fits = {nu: stats.f.logpdf(ratio, dof[some], nu).mean() for nu in 2.0 ** np.arange(8)}
    nu = max(fits, key=fits.get)
    return (nu * v + squares) / (nu + dof), nu


def split(world):
    into = np.where(world.inside, world.shadows, np.nan).astype(float)
    out = np.where(world.inside, np.nan, world.shadows).astype(float)
    return into, out


def shrink_gap(level, gap, noise, shrinks):
    center = trend(level, gap)
    between = np.maximum(trend(level, (gap - center) ** 2 - noise), 0) * shrinks
    weight = between / (between + noise)
    return center + weight * (gap - center), weight * noise


def scores_by_formula(world, pairs, shrinks=True):
    sides = split(world)
    counts = [np.sum(~np.isnan(side), axis=0) for side in sides]
    means = [np.nanmean(side, axis=0) for side in sides]
    level, gap = sum(means) / 2, means[0] - means[1]
    squares = [np.nansum((s - m) ** 2, axis=0) for s, m in zip(sides, means, strict=True)]
    shrunk = [shrink_variance(level, s, c - 1) for s, c in zip(squares, counts, strict=True)]
    if pairs:
        ends = [np.where(world.inside[::2], *world.shadows.reshape(-1, 2, 240).swapaxes(0, 1))]
        ends.append(world.shadows[::2] + world.shadows[1::2] - ends[0])
        n = len(ends[0])
        apart, middle = ends[0] - ends[1], (ends[0] + ends[1]) / 2
        noise, level_noise = (
            shrink_variance(level, n * part.var(axis=0), np.full(240, n - 1))[0] / n
            for part in (apart, middle)
        )
    else:
        noise = sum(s[0] / c for s, c in zip(shrunk, counts, strict=True))
        level_noise = noise / 4
    gap, gap_noise = shrink_gap(level, gap, noise, shrinks)
    logs = []
    for sign, (variance, nu), count in zip((1, -1), shrunk, counts, strict=True):
        scale = np.sqrt(variance + level_noise + gap_noise / 4)
        law = stats.t(nu + count - 1, level + sign * gap / 2, scale)
        logs.append(law.logpdf(world.target))
    return logs[0] - logs[1]


def votes_by_formula(world, shrinks=True):
    def cut(x):
        return np.clip(x, 0.5 / N_TREES, 1 - 0.5 / N_TREES)

    sides, least = split(world), 1 / N_TREES
    counts = [np.sum(~np.isnan(side), axis=0) for side in sides]
    means = [np.nanmean(side, axis=0) for side in sides]
    level, noise, relative = sum(means) / 2, 0, []
    for side, mean, count in zip(sides, means, counts, strict=True):
        u, squares = cut(mean) * (1 - cut(mean)), np.nansum((side - mean) ** 2, axis=0)
        centers = trend(level, squares, (count - 1) * u)
        relative.append(np.maximum(centers, least))
        noise = noise + relative[-1] * u / count
    gap, gap_noise = shrink_gap(level, means[0] - means[1], noise, shrinks)
    logs = []
    for sign, r in zip((1, -1), relative, strict=True):
        mean = cut(level + sign * gap / 2)
        spread = r + (gap_noise + noise) / 4 / (mean * (1 - mean))
        rho = np.clip((spread - least) / (1 - least), 1e-6, 0.95)
        a, b = mean * (1 / rho - 1), (1 - mean) * (1 / rho - 1)
        logs.append(stats.betabinom.logpmf(np.round(N_TREES * world.target), N_TREES, a, b))
    return logs[0] - logs[1]


@pytest.mark.parametrize("gap", ["shrunk", "trend"])
@pytest.mark.parametrize("n_models", [4, pytest.param(8, marks=pytest.mark.slow), 32])
@pytest.mark.parametrize("design", [paired, balanced, independent])
def test_scores_are_those_of_the_formula(make_world, design, n_models, gap):
    world = draw(make_world, design, n_models)
    judged = attack_on(world).can_judge(world.records)
    world = world._replace(
        records=world.records[judged],
        inside=world.inside[:, judged],
        shadows=world.shadows[:, judged],
        target=world.target[judged],
    )
    expected = scores_by_formula(world, design is paired, gap == "shrunk")
    np.testing.assert_allclose(score(world, variance=gap), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("gap", ["shrunk", "trend"])
@pytest.mark.parametrize("n_models", [4, pytest.param(8, marks=pytest.mark.slow), 32])
@pytest.mark.parametrize("design", [paired, balanced])
def test_scores_of_votes_are_those_of_the_formula(make_world, design, n_models, gap):
    world = draw_votes(make_world, design, n_models)
    attack = attack_on(world, variance=gap)
    assert attack.likelihood_ == "beta-binomial"
    expected = votes_by_formula(world, gap == "shrunk")
    got = attack.score_samples(world.records)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def test_order_of_the_models_of_a_pair_does_not_matter(make_world):
    world = draw(make_world, paired, 16)
    order = np.random.default_rng(1).permutation(16)
    mixed = make_world(world.target, world.shadows[order], world.inside[order])
    np.testing.assert_allclose(score(mixed), score(world), rtol=1e-4, atol=1e-4)


def test_order_of_the_records_does_not_matter(make_world):
    world = draw(make_world, paired, 8)
    order = np.random.default_rng(1).permutation(240)
    pool = ShadowPool.from_scores(
        world.shadows[:, order], world.inside[:, order], world.records[order]
    )
    again = world._replace(pool=pool)
    np.testing.assert_allclose(score(again), score(world), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_models", [2, 4])
def test_one_model_on_each_side_puts_the_gap_on_its_trend(make_world, n_models):
    world = draw(make_world, paired, n_models)
    if n_models == 4:
        attack = attack_on(world)
        got = next(attack.score_left_out(world.records, [2, 3]))[1][0]
        world = make_world(world.shadows[2], world.shadows[:2], world.inside[:2])
    else:
        got = score(world)
    into, out = (np.nanmean(side, axis=0) for side in split(world))
    level, center = (into + out) / 2, trend((into + out) / 2, into - out)
    scale = np.sqrt(trend(level, (into - out - center) ** 2) / 2)
    logs = [stats.t(4, level + s * center / 2, scale).logpdf(world.target) for s in (1, -1)]
    np.testing.assert_allclose(got, logs[0] - logs[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("design", [paired, balanced])
def test_each_augmentation_has_its_own_trends(make_world, design):
    world = draw(make_world, design, 8)
    law = attack_on(world)._comparison.law
    queries = np.stack([world.shadows, 2 * world.shadows + 1, -world.shadows]).astype(np.float32)
    target = np.stack([world.target, 2 * world.target + 1, -world.target])
    partners = world.pool.design_.partners
    both = [
        compute_sides(values, world.inside, ~world.inside, partners)
        for values in (queries, *queries[:, None])
    ]
    scores = law.log_ratio(target, law.describe(both[0], law.fit(both[0])))
    alone = [
        law.log_ratio(t[None], law.describe(s, law.fit(s)))[0]
        for t, s in zip(target, both[1:], strict=True)
    ]
    np.testing.assert_allclose(scores, alone, rtol=1e-6)


# Models in the victim's place


@pytest.mark.parametrize("make", [draw, draw_votes])
@pytest.mark.parametrize("design", [paired, shuffled_pairs, independent])
def test_left_out_models_are_not_seen(make_world, make, design):
    world = make(make_world, design, 12)
    attack, models = attack_on(world, variance="shrunk"), np.array([3, 2, 8])
    rows, scores, _, judged = next(attack.score_left_out(world.records, models))
    assert rows == slice(0, 240)
    for k, got, known in zip(models, scores, judged, strict=True):
        gone = {k, world.pool.design_.partners[k]}
        rest = [j for j in range(12) if j not in gone]
        pool = ShadowPool.from_scores(
            world.pool.signals_[0, 0][rest], world.inside[rest], world.records
        )
        # Smoothed values are finite, so the smaller pool does not smooth them again.
        reduced = LiRA(shadows=FrozenEstimator(pool)).fit(world.records)
        law, comparison = attack._comparison.law, reduced._comparison
        values, inside = reduced._reader.read_columns(_draw_trend_records(reduced._reader))
        sides = compute_sides(law.read(values), inside, ~inside, comparison.partners)
        comparison.law, comparison.priors = law, law.fit(sides)
        known &= reduced.can_judge(world.records)
        expected = comparison.score(
            world.pool.signals_[0, 0][k][None],
            pool.signals_[0],
            pool.membership_,
            ~pool.membership_,
        )
        np.testing.assert_allclose(got[known], expected[known], rtol=2e-3, atol=2e-3)


def test_left_out_models_of_a_balanced_design_leave_with_one_of_the_other_side(make_world):
    world = draw(make_world, balanced, 8)
    attack, models = attack_on(world), np.arange(8)
    others = choose_others(world.pool.design_, world.inside, np.arange(240), models)
    _, scores, *_ = next(attack.score_left_out(world.records, models))
    for k, other, got in zip(models, others, scores, strict=True):
        stays = ~np.isin(np.arange(8)[:, None], k) & (np.arange(8)[:, None] != other)
        sides = compute_sides(
            world.shadows[None], world.inside & stays, ~world.inside & stays, np.full(8, -1)
        )
        assert (sides.into.count == 3).all() and (sides.out.count == 3).all()
        law = attack._comparison.law
        laws = law.describe(sides, law.fit(sides))
        expected = law.log_ratio(world.shadows[k][None], laws)[0]
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def test_model_that_is_all_of_the_spread_leaves_the_true_rest(make_world):
    rng = np.random.default_rng(1)
    inside = paired(20, 240, rng)
    shadows = np.where(inside, 4.0, 1.0) + 1e-3 * rng.normal(size=inside.shape)
    shadows[7] += np.where(np.arange(240) % 2, 50.0, 0.0)
    world = make_world(rng.normal(size=240), shadows.astype(np.float32), inside)
    _, scores, *_ = next(attack_on(world).score_left_out(world.records, [6]))
    rest = np.delete(np.arange(20), [6, 7])
    alone = make_world(world.shadows[6], world.shadows[rest], inside[rest])
    np.testing.assert_allclose(scores[0], score(alone), rtol=1e-2, atol=1e-2)


# What is known of the answer


@pytest.mark.parametrize("gap", ["shrunk", "trend"])
@pytest.mark.parametrize("make", [draw, draw_votes])
@pytest.mark.parametrize("design", [paired, balanced, independent])
def test_null_pool_finds_nothing(make_world, make, design, gap):
    world = make(make_world, design, 8, n_records=2000, shift=0)
    attack = attack_on(world, variance=gap)
    judged = attack.can_judge(world.records)
    auc = roc_auc_score(world.membership[judged], attack.score_samples(world.records)[judged])
    assert abs(auc - 0.5) < 4 * np.sqrt(1 / 12 / 500)
    assert 0.45 < attack.predict_proba(world.records)[:, 1].mean() < 0.55


def test_gap_that_is_noise_is_not_followed(draw_world):
    # The gap is the same for all records, so what four models add to it is noise.
    world = draw_world(n_records=20_000, n_models=4, shift=1.0)
    auc = {
        gap: roc_auc_score(world.membership, score(world, variance=gap))
        for gap in ("shrunk", "conjugate")
    }
    assert auc["shrunk"] > auc["conjugate"] + 0.01


def test_gap_that_differs_between_records_is_followed(make_world):
    rng = np.random.default_rng(0)
    inside, membership = paired(64, 4000, rng), np.arange(4000) % 2
    shift = np.where(np.arange(4000) % 4 < 2, 3.0, 0.0)
    shadows = shift * (inside - 0.5) + rng.normal(size=inside.shape)
    target = shift * (membership - 0.5) + rng.normal(size=4000)
    world = make_world(target, shadows, inside, membership)
    scores = {gap: score(world, variance=gap) for gap in ("shrunk", "trend", "conjugate")}
    auc = {gap: roc_auc_score(membership, values) for gap, values in scores.items()}
    assert auc["shrunk"] > auc["trend"] + 0.01
    assert auc["shrunk"] > auc["conjugate"] - 0.005


# When votes are counted


@pytest.mark.parametrize(
    "model, expected",
    [
        (RandomForestClassifier(30), 30),
        (make_pipeline(StandardScaler(), RandomForestClassifier(30)), 30),
        (FrozenEstimator(KNeighborsClassifier(7)), 7),
        (KNeighborsClassifier(7, weights="distance"), None),
        (GradientBoostingClassifier(), None),
        (None, None),
    ],
    ids=["forest", "pipeline", "neighbors", "distance", "boosting", "none"],
)
def test_number_of_voters(model, expected):
    assert count_voters(model) == expected


def test_unanimous_forests_vote_as_well():
    y = np.arange(40) % 2
    records = Records(y[:, None] + np.linspace(0, 0.1, 40)[:, None], y)
    forest = RandomForestClassifier(3, random_state=0).fit(records.X[:20], y[:20])
    attack = LiRA(FrozenEstimator(forest), ShadowPool(forest, 4, random_state=0)).fit(records)
    assert attack.likelihood_ == "beta-binomial"
    assert np.array_equal(attack.score_samples(records), np.zeros(40))


def test_shares_of_large_leaves_are_parts_of_votes(make_world):
    world = draw_votes(make_world, paired, 8)
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.01, 0.99, world.inside.shape)
    pool = ShadowPool.from_scores(logit(shares), world.inside, world.records)
    pool = let_vote(pool, N_TREES)
    attack = attack_on(world._replace(pool=pool))
    assert attack.likelihood_ == "beta-binomial"
    assert np.isfinite(attack.score_samples(world.records)).all()
    assert attack_on(world, likelihood="normal").likelihood_ == "normal"


def test_neighbors_vote_for_themselves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    records = Records(X, (X[:, 0] + rng.normal(size=300) > 0).astype(int))
    inside = rng.permutation(300) < 150
    victim = KNeighborsClassifier(5).fit(X[inside], records.y[inside])
    pool = ShadowPool(victim, 8, store="outputs", random_state=0).fit(records)
    attack = LiRA(victim, pool).fit(records)
    assert attack.likelihood_ == "binomial"
    rows = np.arange(300)
    votes = 5 * pool.outputs_[:, rows, records.y]
    others = (votes - pool.membership_).sum(axis=0)
    n_others = (5 - pool.membership_).sum(axis=0)
    share = 0.93 * others / n_others + 0.07 * others.sum() / n_others.sum()
    own = 5 * victim.predict_proba(X)[rows, records.y]
    expected = np.log(np.maximum(own, 0.05)) - np.log(5 * share)
    np.testing.assert_allclose(attack.score_samples(records), expected, atol=1e-4)


def test_neighbors_are_as_strong_as_their_likelihood_ratio():
    away = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 4))
        records = Records(X, (X[:, 0] + rng.normal(size=600) > 0).astype(int))
        inside = rng.permutation(600) < 300
        victim = KNeighborsClassifier(5).fit(X[inside], records.y[inside])
        pool = ShadowPool(victim, 8, random_state=seed).fit(records)
        aucs = [
            roc_auc_score(inside, one.fit(records).score_samples(records))
            for one in (LiRA(victim, pool), RMIA(victim, pool, temperature=1.0))
        ]
        away.append(aucs[0] - aucs[1])
    assert np.mean(away) > -2 * np.std(away) / np.sqrt(4)
