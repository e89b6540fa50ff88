"""Exact copies: by hand, under the null, at the smallest share that is promised, and bad input."""

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from scipy.stats import binom, poisson

from skmia.synthetic import CopyTest, SinglingOutRisk
from skmia.synthetic._copy_test import _ChanceCopies, count_smallest_number


def draw(rng, n):
    table = pd.DataFrame(rng.normal(size=(n, 2)).round(1), columns=["a", "b"])
    return table.assign(work=rng.choice(["x", "y", None], n))


def plant(made, train, k):
    return pd.concat([train[:k], made[k:]], ignore_index=True)


def test_matches_by_hand():
    train = pd.DataFrame({"a": [0.0, 1, np.nan, 9], "b": ["x", None, "y", "z"]})
    test = pd.DataFrame({"a": [-0.0, 5, 6], "b": ["x", "x", "q"]})
    known = pd.DataFrame({"a": [0.0, 5, 7], "b": ["x", "x", "q"]})
    found = CopyTest().fit(train, test, train[:3], known)
    # In a table of three rows, nothing is rarer than the median row.
    assert found.is_copied_.tolist() == [True] * 3 + [False, True, False, False]
    assert not found.is_rare_.any()
    counts = found.result_[["train", "test"]]
    assert counts.loc["all copies"].tolist() == [3, 1]
    assert counts.loc["rare copies"].tolist() == [0, 0]
    assert counts.loc["near copies"].tolist() == [2, 0]
    # Three of four matches or more, each one of training with probability 4 / 7.
    expected = binom.sf(2, 4, 4 / 7)
    assert found.result_.loc["all copies", "pvalue"] == pytest.approx(expected)
    none = CopyTest().fit(train[:1], test[1:], train[3:], known)
    assert none.pvalue_ == 1 and "0 of 1 training rows" in none.summary()
    assert "; not even copies of all training rows would have been found" in none.summary()
    persons = CopyTest().fit(train, test, train[:3], known, groups=([*"aabb"], [*"ccd"]))
    assert "2 of 2 training persons and 1 of 2 held-out persons" in persons.summary()


def test_long_numbers_are_compared_to_the_last_digit():
    least = 10**17  # floats are 16 apart
    made, train, test = (
        pd.DataFrame({"account": [least + k for k in numbers]})
        for numbers in ((0, 200), (0, 100), (1, 101))
    )
    assert CopyTest().fit(train, test, made).is_copied_.tolist() == [True, False, False, False]
    many = pd.DataFrame({"account": least + 7 * np.arange(300)})
    risk = SinglingOutRisk("univariate", n_attacks=20, random_state=0)
    risk.fit(many[:100], many[100:200], many[:100])
    shown = {one.split()[-1] for one in risk.predicates_}
    assert shown <= {*many["account"].astype(str)}


def test_expected_matches_by_hand():
    train = pd.DataFrame({"a": [1, 1, 1, 2], "b": list("xyxz")})
    real = [train["a"].to_numpy(), np.array([0, 1, 0, 2])]
    expected = _ChanceCopies(real, real, 10, True)
    # Of the three other rows two have 1 and one has x. By Turing 2 has 2 * 0.5 / (1 * 4), as no
    # number occurs twice, and y and z have 2 * 1 / (2 * 4).
    by_hand = 10 * np.array([2 / 3 / 3, 2 / 3 / 4, 2 / 3 / 3, 1 / 4 / 4])
    np.testing.assert_allclose(expected.whole, by_hand)
    np.testing.assert_allclose(expected.without(1), 10 * np.array([2 / 3] * 3 + [1 / 4]))
    assert expected.count_equal(np.array([7, 8, 7, 9]), np.array([7, 8, 7, 9])).tolist() == [
        10 / 3,
        0,
        10 / 3,
        0,
    ]


def test_ten_copies_are_found_where_a_match_by_chance_is_impossible():
    # The ten, the five of the largest numbers, and ten with another cell: none by chance.
    rng = np.random.default_rng(4)
    train, test, made = (
        pd.DataFrame(rng.normal(size=(1000, 3)).round(3), columns=list("abc")) for _ in range(3)
    )
    words = rng.choice(["u", "v"], (3, 1000))
    train, test, made = (t.assign(w=w) for t, w in zip((train, test, made), words))
    level = 0.63 * 0.05
    for copied in (train[:10], train.nlargest(5, "a")):
        found = CopyTest(random_state=0).fit(train, test, plant(made, copied, len(copied)))
        assert found.result_.loc["rare copies", ["train", "test"]].tolist() == [len(copied), 0]
        assert found.is_rare_.all() and found.pvalue_ <= level
    changed = train[:10].assign(a=train["a"][10:20].to_numpy())
    found = CopyTest(random_state=0).fit(train, test, plant(made, changed, 10)).result_
    assert found.loc["all copies", "train"] == 0
    one = found.loc["copies but one cell"]
    assert one["train"] == 10 and one["test"] == 0 and one["pvalue"] <= 0.001


def test_copies_of_persons():
    rng = np.random.default_rng(5)
    train, test, made = rng.normal(size=(3, 60, 3))
    made[:12] = train[:12]
    groups = np.arange(60) // 6, 100 + np.arange(60) // 3
    found = CopyTest(random_state=0).fit(train, test, made, groups=groups)
    assert (found.n_train_, found.n_test_) == (10, 20)
    assert found.result_.loc["rare copies", ["train", "test", "n_train", "n_test"]].tolist() == [
        2,
        0,
        10,
        20,
    ]
    assert found.pvalue_ == pytest.approx((1 / 3) ** 2)
    assert found.is_copied_.sum() == 12
    with pytest.raises(ValueError, match="1 persons are in train and in test, such as 9"):
        CopyTest().fit(train, test, made, groups=(groups[0], groups[1] - 91))
    with pytest.raises(ValueError, match="groups must be a pair"):
        CopyTest().fit(train, test, made, groups=groups[0])


def test_rows_that_differ_in_their_last_digit_are_no_copies():
    train, test, known = 1e-20 * np.arange(1, 10).reshape(3, 3, 1)
    found = CopyTest().fit(train, test, np.nextafter(train, 1), known).result_
    assert not found.loc[["all copies", "rare copies"], ["train", "test"]].to_numpy().any()


def test_smallest_number_by_hand():
    # Without matches by chance, five of five are significant, and 6.72 expected give 80%.
    assert poisson.sf(4, 6.72) == pytest.approx(0.8, abs=1e-3)
    assert count_smallest_number(0, 0, 1.0, 0.5, 0.05) == 7
    assert count_smallest_number(0, 0, 0.5, 0.5, 0.05) == 14
    assert count_smallest_number(9, 9, 0.0, 0.5, 0.05) == np.inf


@few_and_many(60)
def test_rates(n_draws):
    rng, level = np.random.default_rng(0), 0.05
    known = draw(rng, 300)
    promised = CopyTest().fit(*(draw(rng, 300) for _ in range(3)), known).smallest_share_
    k = int(np.ceil(300 * promised))
    assert k < 45
    alarms, found = 0, 0
    for _ in range(n_draws):
        train, test, made = (draw(rng, 300) for _ in range(3))
        alarms += CopyTest().fit(train, test, made, known).pvalue_ <= level
        # A share of a table without copies, from many rows.
        found += CopyTest().fit(train, test, plant(made, train, k), known).pvalue_ <= level
    assert alarms <= most_by_chance(n_draws, level)
    assert found >= binom.ppf(0.001, n_draws, 0.8)


def test_without_reference_the_other_real_rows_are():
    rng = np.random.default_rng(1)
    train, test, made = (draw(rng, n) for n in (80, 61, 90))
    found = [CopyTest(random_state=seed).fit(train, test, made) for seed in (0, 1)]
    assert (found[0].n_train_, found[0].n_test_) == (80, 61)
    pd.testing.assert_frame_equal(found[0].result_, found[1].result_, check_exact=True)
    # The labels of the rows are exchanged: so are the counts.
    turned = CopyTest().fit(test, train, made).result_
    assert turned["test"].tolist() == found[0].result_["train"].tolist()
    assert turned["pvalue_below"].tolist() != turned["pvalue"].tolist()


def test_rows_that_are_changed_a_little_are_near_copies():
    rng = np.random.default_rng(2)
    train, test, made = rng.normal(size=(3, 200, 4))
    changed = np.concatenate([train[:20] + 0.01, made[20:]])
    found = CopyTest(random_state=0).fit(train, test, changed).result_
    assert found.loc["all copies", "train"] == 0
    near = found.loc["near copies"]
    assert near["train"] >= 20 and near["test"] <= 5 and near["pvalue"] < 0.001


def test_large_tables_are_cut_where_all_pairs_are_compared():
    rng = np.random.default_rng(3)
    train, test, made = rng.normal(size=(3, 3000, 2)).round(2)
    made[:300] = train[:300]
    found = CopyTest(random_state=0).fit(train, test, made).result_
    assert found["n_train"].tolist() == [3000, 3000, 3000, 2000]
    assert (found["pvalue"].drop("copies but one cell") < 0.001).all()


def test_bad_input():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match="reference has 3 columns and train has 2"):
        CopyTest().fit(X, X, X, np.ones((4, 3)))


def test_rare_copies_are_predicted_for_rows_of_fit_and_for_others():
    rng = np.random.default_rng(7)
    train, test, made = (draw(rng, 200) for _ in range(3))
    for known in (None, draw(rng, 200)):
        found = CopyTest(random_state=0).fit(train, test, plant(made, train, 20), known)
        expected = (found.is_copied_ & found.is_rare_).astype(int)
        np.testing.assert_array_equal(found.predict(train), expected[:200])
        np.testing.assert_array_equal(found.predict(test), expected[200:])
        assert found.predict(train[:1]).tolist() == [expected[0]]
        rare = found.result_.loc["rare copies"]
        assert found.score() == pytest.approx((rare["train"] - rare["test"]) / 200)
        assert found.score() > 0.03
        # A synthetic row is in the synthetic table, and a row that is nowhere is not.
        assert found.predict(plant(made, train, 20)).sum() > 0
        assert found.predict(draw(rng, 1).assign(a=99.0)).tolist() == [0]


def test_the_score_of_rows_is_the_one_of_a_test_on_them():
    rng = np.random.default_rng(8)
    train, test, made = (draw(rng, 200) for _ in range(3))
    made = plant(made, train, 40)
    fitted = CopyTest(random_state=0).fit(train, test, made)
    half = CopyTest(random_state=0).fit(train[:100], test[100:], made)
    rows = pd.concat([train[:100], test[100:]])
    assert fitted.score(rows, np.repeat([1, 0], 100)) == half.score()


def test_neighboring_long_integers_are_no_copies():
    first = 10**17  # floats tell apart only every sixteenth number
    train, synthetic, holdout = (
        pd.DataFrame({"account": np.array(values, dtype=np.int64) + first})
        for values in ([0, 100], [1, 101], [0, 200])
    )
    test = CopyTest().fit(train, synthetic, holdout)
    assert test.is_copied_.tolist() == [True, False, False, False]
