"""Shadow models in the victim's place measure an attack as a real victim would."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.metrics import tpr_at_fpr_score
from skmia.model_selection import leave_one_model_out, power_curve

SHIFT = 1.5


@pytest.fixture(scope="module")
def world():
    """Evidence N(0, 1) outside and N(1.5, 1) inside, of 64 models in complementary pairs."""
    rng = np.random.default_rng(0)
    inside = np.zeros((64, 3000), dtype=bool)
    inside[::2] = rng.random((32, 3000)) < 0.5
    inside[1::2] = ~inside[::2]
    scores = rng.normal(size=inside.shape) + SHIFT * inside
    return Records(np.arange(3000.0)[:, None], np.ones(3000, dtype=int)), scores, inside


def pool_of(world, models=slice(None)):
    records, scores, inside = world
    return FrozenEstimator(ShadowPool.from_scores(scores[models], inside[models], records))


@pytest.fixture(scope="module")
def pool(world):
    """The pool of all models; nobody changes it."""
    return pool_of(world)


@pytest.mark.parametrize(
    "attack",
    [
        LiRA(),
        LiRA(variance="pooled"),
        LiRA(variance="example"),
        LiRA(online=False),
        RMIA(temperature=1.0),
        RMIA(temperature=1.0, online=False),
        CalibratedAttack(),
        CalibratedAttack(reference="midpoint"),
    ],
    ids=str,
)
def test_a_model_is_scored_as_a_victim_by_the_pool_without_its_pair(world, pool, attack):
    records, scores, inside = world
    attack.set_params(shadows=pool)
    power = leave_one_model_out(attack, records, models=[5])
    others = np.delete(np.arange(64), [4, 5])
    answers = Outputs(np.column_stack([np.zeros(3000), scores[5]]), [0, 1], "logits")
    alone = attack.set_params(shadows=pool_of(world, others))
    # The pooled variance is that of the whole pool, hence the tolerance.
    by_hand = alone.fit(records).score_samples(records.with_fields(outputs=answers))
    assert power["auc"].item() == pytest.approx(roc_auc_score(inside[5], by_hand), abs=2e-4)


@pytest.mark.parametrize("attack", [LiRA(), CalibratedAttack(reference="rank")], ids=str)
def test_power_is_what_the_metrics_say(world, pool, attack):
    # A rank takes few values, so that scores tie.
    records = world[0]
    attack.set_params(shadows=pool)
    rates = [0, 0.005, 0.01, 0.3, 1]
    power = leave_one_model_out(attack, records, models=[5, 12], max_fprs=rates)
    attack.fit(records)
    for _, scores, members, judged in attack.score_left_out(records, np.array([5, 12])):
        assert judged.all()
        for row, some, truth in zip(power.itertuples(index=False), scores, members, strict=True):
            assert (row.n_members, row.n_nonmembers) == (truth.sum(), (~truth).sum())
            assert row.auc == pytest.approx(roc_auc_score(truth, some), abs=1e-12)
            guesses = some >= attack.offset_
            by_hand = guesses[truth].mean() - guesses[~truth].mean()
            assert row.advantage == pytest.approx(by_hand, abs=1e-12)
            for rate, tpr in zip(rates, row[5:], strict=True):
                if rate * row.n_nonmembers < 10:
                    assert np.isnan(tpr)
                else:
                    assert tpr == pytest.approx(tpr_at_fpr_score(truth, some, max_fpr=rate))


def test_power_of_a_group_is_that_of_its_records(world, pool):
    records = world[0].with_fields(half=np.where(np.arange(3000) < 1000, "first", "rest"))
    attack = LiRA(shadows=pool)
    rates = {"models": [3, 8], "max_fprs": [0.1]}
    power = leave_one_model_out(attack, records, group="half", **rates)
    assert power.index.tolist() == [(3, "first"), (3, "rest"), (8, "first"), (8, "rest")]
    assert (power["n_members"] + power["n_nonmembers"]).tolist() == [1000, 2000] * 2
    attack.fit(records)
    _, scores, inside, _ = next(attack.score_left_out(records[:1000], [3, 8]))
    for model, some, truth in zip([3, 8], scores, inside, strict=True):
        assert power.loc[(model, "first"), "auc"] == pytest.approx(roc_auc_score(truth, some))


def test_groups_that_are_exposed_unequally_are_told_apart_without_another_training(world):
    records, scores, inside = world
    more = np.arange(3000) < 1000
    scores = scores + inside * more  # the first thousand are exposed more
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    for exposed, differ in ((more, True), (np.arange(3000) % 3 == 0, False)):
        grouped = records.with_fields(group=np.where(exposed, "a", "b"))
        power = leave_one_model_out(
            LiRA(variance="example", shadows=pool), grouped, models=range(0, 64, 2), group="group"
        )
        test = DisparityTest.from_table(power["advantage"].unstack("group"))
        assert (test.anova_pvalue_corrected_ < 0.01) == differ
        assert test.n_rounds_ == 32


def test_power_in_a_gaussian_world_is_the_known_one(world, pool):
    power = leave_one_model_out(LiRA(variance="pooled", shadows=pool), world[0])
    # 62 models leave the two means uncertain, which costs a little of the ideal AUC.
    ideal = norm.cdf(SHIFT / np.sqrt(2))
    error = power["auc"].std() / np.sqrt(64)
    assert ideal - 0.01 < power["auc"].mean() < ideal + 3 * error
    assert power["n_members"].between(1350, 1650).all()
    assert power["tpr_at_fpr_0.001"].isna().all()


def test_without_leakage_the_count_of_models_betrays_nothing(world):
    records, scores, inside = world
    pool = ShadowPool.from_scores(scores - SHIFT * inside, inside, records)
    power = leave_one_model_out(LiRA(shadows=FrozenEstimator(pool)), records)
    assert abs(power["auc"].mean() - 0.5) < 3 * power["auc"].std() / np.sqrt(64) + 1e-3


# Pools that are not in pairs


def draw_balanced(n_models, n_records, rng):
    """Each record in half of the models, as most published tables have it, without complements."""
    return np.argsort(rng.random((n_models, n_records)), axis=0) < n_models // 2


def draw_singly(n_models, n_records, rng):
    return rng.random((n_models, n_records)) < 0.5


def draw_part(n_models, n_records, rng):
    """The first models of twice as many that are balanced."""
    return draw_balanced(2 * n_models, n_records, rng)[:n_models]


@pytest.mark.parametrize("draw", [draw_balanced, draw_singly, draw_part])
@pytest.mark.parametrize(
    "attack", [LiRA(), RMIA(temperature=1.0), CalibratedAttack(reference="midpoint")], ids=str
)
def test_models_that_are_left_do_not_reveal_membership(draw, attack):
    rng = np.random.default_rng(3)
    records = Records(np.arange(2000.0)[:, None], np.ones(2000, dtype=int))
    inside = draw(8, 2000, rng)
    pool = ShadowPool.from_scores(rng.normal(size=inside.shape), inside, records)
    attack.set_params(shadows=FrozenEstimator(pool))
    auc = leave_one_model_out(attack, records, max_fprs=())["auc"]
    # Of n members and n others the AUC has the variance (2 n + 1) / (12 n^2) without a leak.
    assert abs(auc.mean() - 0.5) < 4 * np.sqrt(1 / 6000)


@pytest.mark.parametrize("attack", [LiRA(), RMIA(temperature=1.0)], ids=str)
def test_power_on_a_balanced_pool_is_that_against_a_new_victim(attack):
    rng = np.random.default_rng(4)
    n_records = 8000
    center = rng.normal(0, 2, n_records)
    inside = draw_balanced(8, n_records, rng)
    scores = center + SHIFT * inside + rng.normal(size=inside.shape)
    truth = rng.random(n_records) < 0.5
    target = center + SHIFT * truth + rng.normal(size=n_records)
    answers = Outputs(np.column_stack([np.zeros(n_records), target]), [0, 1], "logits")
    records = Records(np.arange(1.0 * n_records)[:, None], np.ones(n_records, int), outputs=answers)
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    power = leave_one_model_out(attack.set_params(shadows=pool), records, max_fprs=())
    # The victim is attacked with six models: three of each side, as the models of the pool are.
    inside = draw_balanced(6, n_records, rng)
    scores = center + SHIFT * inside + rng.normal(size=inside.shape)
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    new = attack.set_params(shadows=pool).fit(records).score_samples(records)
    # Away from one half an area varies by less than without a leak.
    assert abs(power["auc"].mean() - roc_auc_score(truth, new)) < 4 * np.sqrt(2 / 24_000)


def test_pool_of_independent_draws_may_have_an_odd_number(world):
    records, rng = world[0], np.random.default_rng(0)
    inside = draw_singly(9, 3000, rng)
    pool = ShadowPool.from_scores(rng.normal(size=inside.shape), inside, records)
    curve = power_curve(LiRA(shadows=FrozenEstimator(pool)), records, max_fprs=())
    assert curve.index.get_level_values("n_estimators").unique().tolist() == [4, 8, 9]


def test_records_that_too_few_models_can_judge_are_left_out_and_counted(world):
    records = world[0]
    rng = np.random.default_rng(0)
    inside = draw_singly(6, 3000, rng)
    pool = ShadowPool.from_scores(rng.normal(size=inside.shape), inside, records)
    power = leave_one_model_out(LiRA(shadows=FrozenEstimator(pool)), records, max_fprs=())
    for k, row in enumerate(power.itertuples()):
        n_in = np.delete(inside, k, axis=0).sum(axis=0)
        judged = (n_in > 0) & (n_in < 5)
        assert row.n_unjudged == (~judged).sum() > 0
        assert row.n_members == (inside[k] & judged).sum()


def test_models_may_be_given_by_a_mask(world, pool):
    attack = LiRA(shadows=pool)
    mask = np.zeros(64, dtype=bool)
    mask[[5, 12]] = True
    power = leave_one_model_out(attack, world[0], models=mask, max_fprs=())
    expected = leave_one_model_out(attack, world[0], models=[5, 12], max_fprs=())
    assert power.equals(expected)


@pytest.mark.parametrize("kind", [float, object])
def test_records_without_a_group_are_kept_under_a_name_of_their_own(world, pool, kind):
    half = np.where(np.arange(3000) < 1000, 1.0, 2.0).astype(kind)
    half[::3] = np.nan if kind is float else None
    records = world[0].with_fields(half=half)
    power = leave_one_model_out(LiRA(shadows=pool), records, models=[3], group="half")
    assert set(power.index.get_level_values("group")) == {1, 2, "(missing)"}
    total = power["n_members"] + power["n_nonmembers"]
    assert total.loc[(3, "(missing)")] == 1000 and total.sum() == 3000


def test_more_models_give_more_power(world, pool):
    curve = power_curve(LiRA(shadows=pool), world[0], n_targets=4)
    mean = curve["auc"].groupby("n_estimators").mean()
    assert mean.index.tolist() == [4, 8, 16, 32, 64]
    assert mean[64] > mean[16] > mean[4] > 0.6


def test_a_trained_pool_is_measured_like_a_victim(world):
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(300, 5)), rng.integers(0, 2, 300))
    tree = DecisionTreeClassifier(min_samples_leaf=2)
    pool = ShadowPool(tree, 16, random_state=0, store="models").fit(records)
    curve = power_curve(RMIA(shadows=FrozenEstimator(pool)), records, n_estimators=[16])
    assert len(curve) == 16
    assert curve["auc"].mean() > 0.7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": [64]}, "numbers from 0 to 63"),
        ({"models": []}, "numbers from 0 to 63"),
        ({"models": [0.5]}, "numbers from 0 to 63"),
        ({"models": [[0]]}, r"numbers from 0 to 63, .* got \[\[0\]\]"),
        ({"models": [0, -1]}, r"numbers from 0 to 63, .* got \[0, -1\]"),
        ({"models": np.array([], dtype=int)}, r"numbers from 0 to 63, .* got \[\]"),
        ({"models": [True, False]}, "a mask of 64 models"),
        ({"models": np.zeros(64, dtype=bool)}, "with one at least"),
    ],
)
def test_models_that_do_not_exist_are_refused(world, pool, arguments, message):
    with pytest.raises(ValueError, match=message):
        leave_one_model_out(LiRA(shadows=pool), world[0], **arguments)


@pytest.mark.parametrize("size", [3, 2, 5, 66])
def test_sizes_that_do_not_exist_are_refused(world, pool, size):
    with pytest.raises(ValueError, match="even numbers from 4 to 64"):
        power_curve(LiRA(shadows=pool), world[0], n_estimators=[size])


@pytest.mark.parametrize("sizes", [[], [[4, 8]]])
def test_sizes_are_a_list_of_one_or_more(world, pool, sizes):
    with pytest.raises(ValueError, match="n_estimators must be even numbers from 4 to 64; got"):
        power_curve(LiRA(shadows=pool), world[0], n_estimators=sizes)


def test_a_curve_needs_four_models(world, pool):
    attack = RMIA(shadows=pool.first(2))
    with pytest.raises(ValueError, match="a pool of at least 4 models; this one has 2"):
        power_curve(attack, world[0])


def test_an_attack_without_a_pool_is_refused(world):
    with pytest.raises(TypeError, match="got ThresholdAttack"):
        leave_one_model_out(ThresholdAttack(), world[0])
