"""How training sets were laid out is read off them."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia._core.pseudo_victims import choose_others
from skmia._core.splits import draw_block
from skmia.shadow._job import infer_design

N_RECORDS = 2000
PRINTS = np.arange(N_RECORDS)


def draw_pairs(n_models, share=0.5, seed=0):
    order = np.random.default_rng(seed).random((n_models // 2, N_RECORDS))
    return np.stack([order < share, order > 1 - share], axis=1).reshape(n_models, N_RECORDS)


def draw_balanced(n_models, n_in, seed=0):
    order = np.random.default_rng(seed).random((n_models, N_RECORDS))
    return np.argsort(order, axis=0) < n_in


def draw_singly(n_models, share, seed=0):
    return np.random.default_rng(seed).random((n_models, N_RECORDS)) < share


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_neighbors_without_a_common_record_are_a_pair(share):
    design = infer_design(draw_pairs(6, share), PRINTS)
    assert design.partners.tolist() == [1, 0, 3, 2, 5, 4]
    assert np.isinf([design.n_in, design.n_out]).all()


def test_complements_are_found_wherever_they_are():
    # The models of the first half, then their complements, and one more.
    inside = np.concatenate([draw_pairs(6)[::2], draw_pairs(6)[1::2], draw_singly(1, 0.5, seed=1)])
    assert infer_design(inside, PRINTS).partners.tolist() == [3, 4, 5, 0, 1, 2, -1]


def test_records_in_all_models_and_equal_records_do_not_hide_the_pairs():
    inside = draw_pairs(6)
    inside[:, :10], inside[:, 10:20] = True, False
    copies = np.append(PRINTS[:-5], PRINTS[:5] + 100)
    inside[:, -5:] = inside[:, 100:105] = inside[:, -5:] | inside[:, 100:105]
    assert infer_design(inside, copies).partners.tolist() == [1, 0, 3, 2, 5, 4]


@pytest.mark.parametrize("n_models", [1, 2, 3])
def test_models_whose_sets_no_record_tells_apart_have_no_partners(n_models):
    inside = np.tile(draw_singly(1, 0.5), (n_models, 1))
    assert infer_design(inside, PRINTS).partners.tolist() == [-1] * n_models


@pytest.mark.parametrize("n_in", [4, 2])
def test_same_number_of_models_for_each_record_is_fixed(n_in):
    design = infer_design(draw_balanced(8, n_in), PRINTS)
    assert (design.n_in, design.n_out) == (n_in, 8 - n_in)
    assert (design.partners == -1).all()


def test_part_of_a_fixed_number_is_known_for_it():
    # What is left when the row of the victim is taken out of a published table.
    design = infer_design(draw_balanced(16, 8)[1:], PRINTS)
    assert (design.n_in, design.n_out) == (8, 8)
    half = infer_design(draw_balanced(16, 8)[:8], PRINTS)
    assert half.n_in + half.n_out == pytest.approx(16, rel=0.2)


@pytest.mark.parametrize("n_models", [8, 9, 64])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_independent_draws_are_known_for_such(n_models, share):
    for seed in range(10):
        design = infer_design(draw_singly(n_models, share, seed), PRINTS)
        assert (design.partners == -1).all()
        assert np.isinf([design.n_in, design.n_out]).all()


def test_models_of_unequal_sizes_are_independent_draws():
    inside = np.concatenate([draw_singly(6, 0.1), draw_singly(6, 0.9, seed=1)])
    assert np.isinf(infer_design(inside, PRINTS).n_in)


@pytest.mark.parametrize("layout", ["paired", "independent"])
def test_pool_knows_how_it_drew(layout):
    rng = np.random.default_rng(0)
    # Few people, so that all rows of one vary together and tell little of the layout.
    records = Records(
        rng.normal(size=(60, 2)), rng.integers(0, 2, 60), group_by=np.repeat(range(6), 10)
    )
    pool = ShadowPool(DecisionTreeClassifier(), 6, design=layout, random_state=0).fit(records)
    expected = [1, 0, 3, 2, 5, 4] if layout == "paired" else [-1] * 6
    assert pool.design_.partners.tolist() == expected
    assert np.isinf(pool.design_.n_in)
    assert pool.first(4).design_.partners.tolist() == expected[:4]


def test_first_models_remain_part_of_the_fixed_number():
    records = Records(np.arange(N_RECORDS * 1.0)[:, None], np.ones(N_RECORDS, int))
    inside = draw_balanced(8, 4)
    first = ShadowPool.from_scores(np.zeros(inside.shape), inside, records).first(5)
    assert (first.design_.n_in, first.design_.n_out) == (4, 4)


def fit_balanced(n_records, n_estimators=16, **settings):
    y = np.arange(n_records) % 3
    records = Records(np.arange(2.0 * n_records).reshape(-1, 2), y, **settings.pop("fields", {}))
    pool = ShadowPool(
        DummyClassifier(), n_estimators, design="balanced", random_state=0, **settings
    )
    return records, pool.fit(records)


@pytest.mark.parametrize("n_records", [6, 101, 2000])
def test_each_record_is_in_for_half_of_each_block(n_records):
    records, pool = fit_balanced(n_records)
    blocks = pool.membership_.reshape(2, 8, n_records)
    assert (blocks.sum(axis=1) == 4).all()
    for label in range(3):
        here = blocks[:, :, records.y == label].sum(axis=2)
        assert np.abs(here - (records.y == label).sum() / 2).max() <= 1
    assert np.abs(blocks.sum(axis=2) - n_records / 2).max() <= 1
    assert (pool.design_.n_in, pool.design_.n_out) == (4, 4)
    assert (pool.design_.partners == -1).all()


def test_models_of_a_block_are_not_complements():
    inside = fit_balanced(2000)[1].membership_
    agree = np.array([[(a == b).mean() for a in inside] for b in inside])
    block = np.repeat([0, 1], 8)
    same = (block[:, None] == block) & ~np.eye(16, dtype=bool)
    # With four of eight models IN, two models agree with probability 3/7; else with 1/2.
    assert np.abs(agree[same] - 3 / 7).max() < 5 * 0.0112
    assert np.abs(agree[block[:, None] != block] - 1 / 2).max() < 5 * 0.0112


def test_two_records_of_a_block_do_not_exclude_each_other():
    rng = np.random.default_rng(0)
    units, strata = np.arange(6), np.zeros(6, dtype=int)
    draws = np.array([draw_block(units, strata, 8, rng) for _ in range(400)]).reshape(-1, 6)
    together = draws.T.astype(int) @ draws.astype(int) / len(draws)
    # Three of six in each of 3,200 sets; the sets of a block are dependent.
    np.testing.assert_allclose(together[np.triu_indices(6, 1)], 0.2, atol=0.02 * np.sqrt(2.5))


def test_groups_stay_together_in_a_balanced_design():
    _, pool = fit_balanced(60, fields={"group_by": np.repeat(range(20), 3)})
    assert (pool.membership_[:, ::3] == pool.membership_[:, 1::3]).all()
    assert (pool.membership_.sum(axis=0) == 8).all()


def test_balanced_pool_grows_by_blocks():
    _, large = fit_balanced(60)
    records, grown = fit_balanced(60, n_estimators=8, warm_start=True)
    np.testing.assert_array_equal(grown.membership_, large.membership_[:8])
    grown.set_params(n_estimators=16).fit(records)
    np.testing.assert_array_equal(grown.signals_, large.signals_)


@pytest.mark.parametrize(
    "settings, message",
    [({"n_estimators": 12}, "multiple of 8"), ({"max_samples": 0.3}, "takes max_samples=0.5")],
)
def test_balanced_design_is_refused_where_half_is_impossible(settings, message):
    with pytest.raises(ValueError, match=message):
        fit_balanced(40, **settings)


@pytest.mark.parametrize("n_models", [16, 11])
def test_model_of_the_other_side_of_the_same_block_leaves(n_models):
    _, pool = fit_balanced(500)
    pool = pool.first(n_models)
    inside, models = pool.membership_, np.arange(n_models)
    others = choose_others(pool.design_, inside, np.arange(500), models)
    known = others >= 0
    assert known[:8].all()
    assert known.all() == (n_models == 16)
    at = np.arange(500)[None].repeat(n_models, axis=0)
    assert (inside[others[known], at[known]] != inside[models].astype(bool)[known]).all()
    assert ((others // 8 == models[:, None] // 8) | ~known).all()
