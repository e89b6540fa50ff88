"""How training sets were laid out is read off them."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.shadow._design import infer_design

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


@pytest.mark.parametrize("paired", [True, False])
def test_pool_knows_how_it_drew(paired):
    rng = np.random.default_rng(0)
    # Few people, so that all rows of one vary together and tell little of the layout.
    records = Records(
        rng.normal(size=(60, 2)), rng.integers(0, 2, 60), group_by=np.repeat(range(6), 10)
    )
    pool = ShadowPool(DecisionTreeClassifier(), 6, paired=paired, random_state=0).fit(records)
    expected = [1, 0, 3, 2, 5, 4] if paired else [-1] * 6
    assert pool.design_.partners.tolist() == expected
    assert np.isinf(pool.design_.n_in)
    assert pool.first(4).design_.partners.tolist() == expected[:4]


def test_first_models_remain_part_of_the_fixed_number():
    records = Records(np.arange(N_RECORDS * 1.0)[:, None], np.ones(N_RECORDS, int))
    inside = draw_balanced(8, 4)
    first = ShadowPool.from_scores(np.zeros(inside.shape), inside, records).first(5)
    assert (first.design_.n_in, first.design_.n_out) == (4, 4)
