import tracemalloc

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from refusals import check_refusal, parametrize_refusals
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from skmia.leakage import (
    WorstCaseVulnerability,
    total_variation,
)
from skmia.leakage._worst_case import mean_witness_bound
from skmia.metrics import clopper_pearson

QUICK = {"n_permutations": 0, "random_state": 0}


def make_groups():
    """Exact frequencies: group a leaks .5, group b leaks -.2 in the same feature, c nothing."""
    rows = []
    for group, size, of_members, of_others in (("a", 20, 15, 5), ("b", 10, 3, 5), ("c", 30, 9, 9)):
        for membership, ones in ((1, of_members), (0, of_others)):
            rows += [(float(i < ones), group, membership) for i in range(size)]
    frame = pd.DataFrame(rows, columns=["right", "race", "membership"])
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def test_group_aware_vulnerability_is_the_mean_over_groups():
    frame = make_groups()
    aware = WorstCaseVulnerability(group_column="race", n_permutations=50, random_state=0)
    aware.fit(frame[["right", "race"]], frame["membership"])
    table = aware.group_vulnerability_
    assert table.index.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(table["vulnerability"], [0.5, 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(table["weight"], [1 / 3, 1 / 6, 1 / 2])
    assert aware.vulnerability_ == pytest.approx(0.5 / 3 + 0.2 / 6)
    # The same as the distance of (feature, group) pairs, and more than without the group.
    pairs = [frame.loc[frame["membership"] == bit, ["right", "race"]] for bit in (1, 0)]
    joint = total_variation(*(side.to_numpy(dtype=object) for side in pairs))
    assert aware.vulnerability_ == pytest.approx(joint)
    blind = WorstCaseVulnerability(**QUICK).fit(frame[["right"]], frame["membership"])
    assert blind.vulnerability_ == pytest.approx((10 - 2) / 60)
    assert table.loc["a", "pvalue"] < 0.05
    assert table.loc["c", "pvalue"] == 1
    assert (table["lower_bound"] <= table["vulnerability"]).all()


def test_group_aware_guesses_turn_round_with_the_group():
    frame = make_groups()
    aware = WorstCaseVulnerability(group_column="race", **QUICK)
    aware.fit(frame[["right", "race"]], frame["membership"])
    asked = pd.DataFrame({"right": [1.0, 0, 1, 0, 1], "race": ["a", "a", "b", "b", "new"]})
    assert aware.predict(asked).tolist() == [1, 0, 0, 1, 0]
    assert aware.predict_proba(asked)[-1].tolist() == [0.5, 0.5]
    assert aware.n_features_in_ == 2
    assert aware.feature_names_in_.tolist() == ["right", "race"]


def test_groups_may_be_a_column_of_numbers():
    frame = make_groups()
    codes = frame["race"].map({"a": 0, "b": 1, "c": 2})
    X = np.column_stack([codes, frame["right"]])
    by_name = WorstCaseVulnerability(group_column="race", random_state=0)
    by_name.fit(frame[["right", "race"]], frame["membership"])
    by_place = WorstCaseVulnerability(group_column=0, random_state=0).fit(X, frame["membership"])
    from_end = WorstCaseVulnerability(group_column=-1, random_state=0)
    from_end.fit(X[:, ::-1], frame["membership"])
    for other in (by_place, from_end):
        assert other.vulnerability_ == by_name.vulnerability_
        assert other.lower_bound_ == by_name.lower_bound_
        np.testing.assert_array_equal(other.null_, by_name.null_)


def test_shares_of_groups_are_no_leakage_in_the_lower_bound():
    # 90% of members are in a, 10% of non-members, and the feature is the group's name again.
    X = np.repeat([[0, 0], [1, 1], [0, 0], [1, 1]], [360, 40, 40, 360], axis=0)
    membership = np.repeat([1, 0], 400)
    aware = WorstCaseVulnerability(group_column=1, **QUICK).fit(X, membership)
    assert aware.vulnerability_ == aware.lower_bound_ == 0
    assert aware.signed_gap_ is None and aware.threshold_advantage_ is None
    blind = WorstCaseVulnerability(**QUICK).fit(X[:, :1], membership)
    assert blind.signed_gap_ == pytest.approx(-0.8)
    assert 0.6 < blind.lower_bound_ < blind.threshold_advantage_.estimate


def test_lower_bound_of_groups_is_by_hand_of_the_other_half():
    # The feature tells membership in a, and nothing in b; c has no other side.
    sizes = np.array([[80, 40, 10], [60, 10, 0]])
    group = np.concatenate([np.repeat([0, 1, 2], row) for row in sizes])
    membership = np.repeat([1, 0], sizes.sum(axis=1))
    X = np.column_stack([membership * (group == 0), group])
    worst = WorstCaseVulnerability(group_column=1, confidence_level=0.9, **QUICK)
    worst.fit(X, membership)
    table = worst.group_vulnerability_
    weights = table["weight"].to_numpy()[:2]
    assert weights == pytest.approx(np.array([80 / 130 + 6 / 7, 40 / 130 + 1 / 7]) / 2 / (25 / 26))
    measured = np.array([[40, 20], [30, 5]])
    variance = (weights**2 / measured).sum()
    mean = weights[0] - np.sqrt(np.log(1 / 0.05) / 2 * variance)
    low, high = (
        clopper_pearson(hits, n, confidence_level=1 - 0.05 / 2)[side]
        for hits, n, side in ((40, 40, 0), (0, 30, 1))
    )
    assert worst.lower_bound_ == pytest.approx(max(mean, weights[0] * (low - high)))
    assert worst.vulnerability_ == pytest.approx(weights[0])


def test_many_groups_are_bounded_by_their_mean_difference():
    # Of 20 groups with 20 members and 30 others, 16 and 15 are guessed; one group has no others.
    weights = np.r_[np.full(20, 0.04), 0.2]
    groups = np.r_[np.repeat(np.arange(20), 50), np.full(40, 20)]
    members = np.r_[np.tile(np.arange(50) < 20, 20), np.ones(40, dtype=bool)]
    guesses = np.r_[np.tile((np.arange(50) < 16) | (np.arange(50) >= 35), 20), members[:40]]
    bound = mean_witness_bound(members, guesses, groups, weights, 0.9)
    width = np.sqrt(np.log(1 / 0.05) / 2 * 20 * 0.04**2 * (1 / 20 + 1 / 30))
    assert bound == pytest.approx(0.8 * (0.8 - 0.5) - width)


def test_rare_guesses_are_bounded_as_well_in_groups():
    members, groups = np.repeat([True, False], 10_000), np.tile([0, 1], 10_000)
    guesses = members & (np.arange(20_000) % 100 == 1)
    bound = mean_witness_bound(members, guesses, groups, np.array([0.5, 0.5]), 0.95)
    assert 0.005 < bound < 0.01


def test_bounds_of_many_groups_need_little_memory():
    groups = np.arange(40_000) % 200
    members = np.arange(40_000) % 400 < 200
    tracemalloc.start()
    mean_witness_bound(members, members, groups, np.full(200, 1 / 200), 0.95)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(groups)


@few_and_many(600)
def test_lower_bounds_of_groups_hold(n_draws):
    rng, missed, bounds = np.random.default_rng(3), 0, []
    members, groups = np.repeat([True, False], [130, 90]), np.arange(220) % 7 // 3
    weights = np.array([0.2, 0.5, 0.3])
    rates = np.array([[0.9, 0.3, 0.5], [0.4, 0.3, 0.45]])  # of members, of non-members
    truth = weights @ (rates[0] - rates[1])
    for _ in range(n_draws):
        guesses = rng.random(220) < rates[(~members).astype(int), groups]
        bounds.append(mean_witness_bound(members, guesses, groups, weights, 0.8))
        missed += bounds[-1] > truth
    assert missed <= most_by_chance(n_draws, 0.2)
    assert np.mean(bounds) > 0


def test_groups_without_a_side_are_left_out():
    frame = make_groups()
    lonely = pd.DataFrame({"right": [1.0, 0.0], "race": "d", "membership": 1})
    frame = pd.concat([frame, lonely], ignore_index=True)
    worst = WorstCaseVulnerability(group_column="race", random_state=0)
    worst.fit(frame[["right", "race"]], frame["membership"])
    row = worst.group_vulnerability_.loc["d"]
    assert (row["n_members"], row["n_nonmembers"], row["weight"]) == (2, 0, 0)
    assert np.isnan(row[["vulnerability", "lower_bound", "bias", "pvalue"]].to_numpy()).all()
    assert worst.group_vulnerability_["weight"].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="No group holds both members and non-members"):
        worst.fit(pd.DataFrame({"x": [0.0, 1.0], "race": ["a", "b"]}), [0, 1])


def test_null_is_shuffled_within_groups():
    # Which group a record is in says nearly everything of membership, its feature nothing.
    rng = np.random.default_rng(12)
    group = np.repeat([0, 1], 200)
    membership = np.where(group, np.arange(400) % 10 > 0, np.arange(400) % 10 == 0)
    X = np.column_stack([rng.normal(size=400) + 3 * group, group])
    aware = WorstCaseVulnerability("kde", group_column=1, random_state=0).fit(X, membership)
    assert aware.pvalue_ > 0.05
    blind = WorstCaseVulnerability("kde", random_state=0).fit(X[:, :1], membership)
    assert blind.pvalue_ < 0.05


def test_summary_holds_the_numbers():
    frame = make_groups()
    worst = WorstCaseVulnerability(group_column="race", random_state=0)
    text = worst.fit(frame[["right", "race"]], frame["membership"]).summary()
    assert "by observed frequencies: 60 members, 60 non-members" in text
    assert f"{worst.vulnerability_:.3f}" in text
    assert f"{worst.lower_bound_:.3f} at 95% confidence" in text
    assert f"{worst.bias_:.3f} on average over 100 shuffles, p = {worst.pvalue_:.3g}" in text
    assert "threshold" not in text and "signed" not in text
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["a", "b", "c"]
    with pytest.raises(NotFittedError):
        WorstCaseVulnerability().summary()


def test_summary_has_a_line_for_each_number():
    X, membership = np.arange(60)[:, None] % 2, np.arange(60) % 3 == 0
    worst = WorstCaseVulnerability(random_state=0).fit(X, membership)
    names = ["vulnerability", "without leakage", "lower bound", "best threshold", "signed gap"]
    lines = worst.summary().splitlines()[1:]
    assert [line[2:19].strip() for line in lines] == names
    estimate, low, high = worst.threshold_advantage_
    assert lines[3].endswith(f"  {estimate:.3f}, 95% interval [{low:.3f}, {high:.3f}]")
    quiet = WorstCaseVulnerability("kde", **QUICK).fit(X + 0.1 * np.arange(60)[:, None], membership)
    lines = quiet.summary().splitlines()[1:]
    assert [line[2:19].strip() for line in lines] == ["vulnerability", "lower bound", names[3]]


def test_missing_groups_are_named():
    frame = pd.DataFrame({"x": np.arange(20.0), "race": ["a", None] * 10})
    with pytest.raises(ValueError, match="lacks 10 of 20 values, first at position 1"):
        WorstCaseVulnerability(group_column="race").fit(frame, np.arange(20) % 2)


@pytest.mark.parametrize("column", ["group", 1])
def test_names_of_groups_may_hold_half_a_character(column):
    rng = np.random.default_rng(0)
    names = np.array(["a\ud800", "b"], dtype=object)[rng.integers(2, size=60)]
    frame = pd.DataFrame({"x": rng.random(60), "group": pd.Series(names, dtype=object)})
    X = frame if column == "group" else frame.to_numpy()
    attack = WorstCaseVulnerability(group_column=column, **QUICK).fit(X, rng.integers(2, size=60))
    assert attack.group_vulnerability_.index.tolist() == [r"a\ud800", "b"]
    assert (attack.predict_proba(X) != 0.5).any(axis=1).all()


@parametrize_refusals(
    (lambda fit: fit(csr_array(np.eye(6)), [0, 1] * 3), "X must be a table, or a dense matrix, if"),
    (lambda fit: fit([1.0, 2.0, 3.0, 4.0], [0, 1] * 2), "X must be a table, or a dense matrix, if"),
)
def test_what_has_no_group_column_is_refused(call, words, error):
    check_refusal(call, words, error, WorstCaseVulnerability(group_column=0).fit)


def test_summary_states_the_level_of_the_fit():
    worst = WorstCaseVulnerability(**QUICK).fit(np.arange(60)[:, None] % 7, np.arange(60) % 2)
    before = worst.summary()
    assert worst.set_params(confidence_level=0.5).summary() == before and "at 95%" in before
