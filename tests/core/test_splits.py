import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refusal, parametrize_refusals
from sklearn.dummy import DummyClassifier, DummyRegressor

from skmia import Records, ShadowPool
from skmia._core.splits import (
    check_room,
    compute_strata,
    draw_halves,
    draw_rows,
    number_units,
)
from skmia.exceptions import CheckpointError


def fit_pool(records, n_estimators=4, **settings):
    settings = {"random_state": 0, "estimator": DummyClassifier(), **settings}
    return ShadowPool(n_estimators=n_estimators, **settings).fit(records)


def distinct_records(n, y=None, **fields):
    y = np.arange(n) % 3 if y is None else y
    return Records(np.arange(2.0 * n).reshape(n, 2), y, **fields)


def test_records_of_a_unit_are_drawn_together_and_none_more_often_than_others():
    units = np.repeat(np.arange(300), np.arange(300) % 3 + 1)
    counts = np.zeros(300)
    for seed in range(200):
        inside = np.bincount(units[draw_rows(len(units), 150, seed, units=units)], minlength=300)
        assert np.isin(inside, [0, 1, 2, 3]).all()
        assert ((inside == 0) | (inside == np.bincount(units))).all()
        assert 150 <= inside.sum() <= 152
        counts += inside > 0
    share = [counts[np.arange(300) % 3 == k].mean() / 200 for k in range(3)]
    assert np.allclose(share, 0.25, atol=0.02)


@pytest.mark.parametrize("n_estimators", [2, 6, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_records", [2, 3, 101])
def test_every_record_is_in_for_exactly_half_of_the_models(n_estimators, n_records):
    inside = fit_pool(distinct_records(n_records), n_estimators).membership_
    assert inside.shape == (n_estimators, n_records)
    assert (inside.sum(axis=0) == n_estimators // 2).all()


@pytest.mark.parametrize("n_records", [20, 21])
def test_models_of_a_pair_share_no_record(n_records):
    inside = fit_pool(distinct_records(n_records), 8).membership_
    np.testing.assert_array_equal(inside[::2], ~inside[1::2])


def test_either_model_of_a_pair_may_have_the_odd_record():
    sizes = fit_pool(distinct_records(5), 64).membership_.sum(axis=1)[::2]
    assert set(sizes) == {2, 3}


def test_pairs_are_drawn_independently():
    inside = fit_pool(distinct_records(2000), 8).membership_[::2]
    # Two independent halves agree on 1000 of 2000 records, sd 22.
    agreement = [(inside[i] == inside[j]).sum() for i in range(4) for j in range(i)]
    assert np.abs(np.array(agreement) - 1000).max() < 5 * 22.4


def test_two_records_are_in_together_as_often_as_apart():
    rng = np.random.default_rng(0)
    units, strata = np.arange(6), np.zeros(6, dtype=int)
    draws = np.array([draw_halves(units, strata, 3, rng)[0] for _ in range(2000)])
    together = (draws.T.astype(int) @ draws.astype(int)) / len(draws)
    # Three of six at random: a record with probability 1/2, a pair with 1/2 x 2/5.
    # Of 2,000 draws these shares have standard deviations of 0.0090 and 0.0112.
    np.testing.assert_allclose(together[np.triu_indices(6, 1)], 0.2, atol=5 * 0.0090)
    np.testing.assert_allclose(np.diag(together), 0.5, atol=5 * 0.0112)


@pytest.mark.parametrize("names", [[0, 1, 2], ["x", "y", "z"], [-5.0, 3.0, 100.0]])
def test_classes_are_split_evenly_between_the_halves(names):
    y = np.repeat(names, [11, 40, 1])
    pool = fit_pool(distinct_records(52, y), 20)
    for label in np.unique(y):
        of_class = pool.membership_[:, y == label].sum(axis=1)
        assert np.ptp(of_class) <= 1
    assert np.ptp(pool.membership_.sum(axis=1)) == 0


def test_tenths_of_a_real_target_are_split_evenly():
    y = np.random.default_rng(0).lognormal(0, 3, size=100)
    pool = fit_pool(distinct_records(100, y), 20, estimator=DummyRegressor())
    for tenth in np.split(np.argsort(y), 10):
        assert (pool.membership_[:, tenth].sum(axis=1) == 5).all()


def test_strata_of_a_real_target_have_equal_size():
    assert compute_strata(np.array([5.0, 1e9, -3.0, 0.0]), False).tolist() == [5, 7, 0, 2]
    assert np.bincount(compute_strata(np.zeros(50), False)).tolist() == [5] * 10


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=15),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_halves_differ_by_at_most_one_unit_in_every_stratum(shape, seed):
    of_unit, sizes = np.transpose(shape)
    units = np.repeat(np.arange(len(sizes)), sizes)
    strata = np.unique(of_unit, return_inverse=True)[1][units]
    a, b = draw_halves(units, strata, len(units), np.random.default_rng(seed))
    np.testing.assert_array_equal(a, ~b)
    first = np.unique(units, return_index=True)[1]
    assert abs(int(a[first].sum()) - int(b[first].sum())) <= 1
    for stratum in np.unique(strata):
        here = first[strata[first] == stratum]
        assert abs(int(a[here].sum()) - int(b[here].sum())) <= 1
    for unit in range(len(sizes)):
        assert len(set(a[units == unit])) == 1


def test_equal_records_are_in_together():
    X = np.repeat(np.arange(10.0), 3)[:, None]
    pool = fit_pool(Records(X, np.repeat([0, 1], 15)), 16)
    np.testing.assert_array_equal(pool.membership_[:, ::3], pool.membership_[:, 1::3])
    np.testing.assert_array_equal(pool.membership_[:, ::3], pool.membership_[:, 2::3])


def test_equal_features_with_another_label_are_another_record():
    X = np.zeros((40, 1))
    X[:, 0] = np.repeat(np.arange(20), 2)
    inside = fit_pool(Records(X, np.tile([0, 1], 20)), 16).membership_
    assert (inside[:, ::2] != inside[:, 1::2]).any()


def test_rows_of_one_person_are_in_together():
    person = np.array(["ann", "bob", "cid", "dan"])[np.arange(40) % 4]
    inside = fit_pool(distinct_records(40, group_by=person), 16).membership_
    for name in np.unique(person):
        rows = inside[:, person == name]
        assert (rows.all(axis=1) | ~rows.any(axis=1)).all()


def test_persons_who_share_an_equal_record_are_one_unit():
    # Records 1 and 2 are equal and belong to a and b, so that a and b are in or out together.
    X = np.array([[0.0], [1.0], [1.0], [2.0], [3.0], [4.0]])
    records = Records(X, [0, 1, 1, 0, 1, 0], group_by=["a", "a", "b", "b", "c", "d"])
    units = number_units(records.fingerprint, records["group_by"])
    assert len(set(units[:4])) == 1
    assert len(set(units)) == 3
    inside = fit_pool(records, 8).membership_
    assert (inside[:, :4] == inside[:, :1]).all()


def test_chains_of_shared_records_end_in_one_unit():
    fingerprint = np.array([1, 2, 2, 3, 3, 4], dtype=np.uint64)
    assert len(set(number_units(fingerprint, np.array([0, 0, 1, 1, 2, 2])))) == 1
    assert len(set(number_units(fingerprint, np.array([0, 0, 0, 1, 1, 2])))) == 3


@pytest.mark.parametrize(
    "max_samples, expected", [(0.5, 50), (0.25, 25), (0.1, 10), (7, 7), (50, 50)]
)
def test_max_samples_is_a_share_or_a_number(max_samples, expected):
    inside = fit_pool(distinct_records(100), 20, max_samples=max_samples).membership_
    sizes = inside.sum(axis=1)
    assert np.abs(sizes - expected).max() <= 1
    assert not (inside[::2] & inside[1::2]).any()
    np.testing.assert_allclose(sizes.mean(), expected, atol=0.5)


def test_thinned_halves_keep_the_shares_of_the_classes():
    y = np.repeat([0, 1], [80, 20])
    inside = fit_pool(distinct_records(100, y), 20, max_samples=0.25).membership_
    assert np.abs(inside[:, y == 1].sum(axis=1) - 5).max() <= 1
    assert np.abs(inside[:, y == 0].sum(axis=1) - 20).max() <= 1


def test_every_record_has_the_same_chance_in_thinned_halves():
    rng = np.random.default_rng(0)
    units, strata = np.arange(21), np.repeat([0, 1, 2], 7)
    draws = np.concatenate([draw_halves(units, strata, 4, rng) for _ in range(2000)])
    # 4,000 sets: sd of a share of 4/21 is 0.0062.
    np.testing.assert_allclose(draws.mean(axis=0), 4 / 21, atol=5 * 0.0062)


def test_no_model_is_left_without_records():
    for n_records in (5, 23):
        for max_samples in (1, 2, 0.01):
            records = distinct_records(n_records)
            inside = fit_pool(records, 12, max_samples=max_samples).membership_
            assert inside.any(axis=1).all()


def test_unpaired_models_have_halves_of_their_own():
    y = np.repeat([0, 1], [1500, 500])
    inside = fit_pool(distinct_records(2000, y), 7, design="independent").membership_
    assert inside.shape == (7, 2000)
    assert set(inside.sum(axis=1)) == {1000}
    assert np.abs(inside[:, y == 1].sum(axis=1) - 250).max() <= 1
    # Two independent halves agree on 1000 of 2000 records, sd 22.
    agreement = [(inside[i] == inside[j]).sum() for i in range(7) for j in range(i)]
    assert np.abs(np.array(agreement) - 1000).max() < 5 * 22.4


def test_unpaired_pool_grows_as_a_paired_one_does():
    records = distinct_records(60)
    small, large = (fit_pool(records, k, design="independent") for k in (3, 8))
    np.testing.assert_array_equal(small.membership_, large.membership_[:3])
    grown = ShadowPool(DummyClassifier(), 3, design="independent", warm_start=True, random_state=0)
    grown.fit(records).set_params(n_estimators=8).fit(records)
    np.testing.assert_array_equal(grown.signals_, large.signals_)


def test_an_unpaired_pool_is_another_pool_to_a_checkpoint(tmp_path):
    records = distinct_records(20)
    fit_pool(records, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="differs in design"):
        fit_pool(records, design="independent", checkpoint=tmp_path)


def test_smaller_pool_is_the_beginning_of_a_larger_one():
    records = distinct_records(60)
    small, large = fit_pool(records, 8), fit_pool(records, 16)
    np.testing.assert_array_equal(small.membership_, large.membership_[:8])


def test_halves_depend_on_random_state_alone():
    records = distinct_records(60)
    first = fit_pool(records, 8, random_state=3).membership_
    np.testing.assert_array_equal(first, fit_pool(records, 8, random_state=3).membership_)
    assert (first != fit_pool(records, 8, random_state=4).membership_).any()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"n_estimators": 7}, "n_estimators must be even .* got 7"),
        ({"n_estimators": 0}, "'n_estimators' parameter of ShadowPool must be an int"),
        ({"max_samples": 0.6}, "'max_samples' parameter of ShadowPool"),
        ({"max_samples": 0.0}, "'max_samples' parameter of ShadowPool"),
        ({"max_samples": 11}, "max_samples asks for 11 of 20 records; .* at most 10"),
        ({"temperatures": ()}, r"temperatures must be one or more positive numbers; got \(\)"),
        ({"temperatures": (1.0, 0.0)}, "temperatures must be one or more positive numbers"),
        ({"temperatures": ("hot",)}, "temperatures must be one or more positive numbers"),
        ({"store": "all"}, "'store' parameter of ShadowPool"),
        ({"resolution": -1.0}, "'resolution' parameter of ShadowPool"),
        ({"estimator": None}, "'estimator' parameter of ShadowPool"),
    ],
)
def test_wrong_parameters_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        fit_pool(distinct_records(20), **settings)


@parametrize_refusals(
    (lambda: fit_pool(distinct_records(1)), "halves need at least 2 units"),
    (lambda: fit_pool(Records(np.zeros((5, 1)), np.zeros(5))), "halves need at least 2 units"),
    (lambda: fit_pool(distinct_records(6, group_by=["a"] * 6)), "halves need at least 2 units"),
)
def test_one_unit_cannot_be_halved(call, words, error):
    check_refusal(call, words, error)


def test_signals_that_do_not_fit_the_memory_are_refused_before_anything_is_trained(monkeypatch):
    # Of 6 models and 50 records: 4 bytes for each of 2 temperatures, and one for the membership.
    for memory, fits in ((2700, True), (2699, False)):
        monkeypatch.setattr("skmia._core.splits._count_bytes_of_memory", lambda n=memory: n)
        if fits:
            check_room(6, 50, 2)
            continue
        with pytest.raises(ValueError, match=r"n_estimators=6 shadow models on 50 records take"):
            check_room(6, 50, 2)


def test_a_pool_on_disk_may_be_larger_than_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("skmia._core.splits._count_bytes_of_memory", lambda: 0)
    with pytest.raises(ValueError, match="more than the memory of this machine.* on_disk=True"):
        fit_pool(distinct_records(20))
    fit_pool(distinct_records(20), checkpoint=tmp_path / "pool", on_disk=True)
