"""Permuted membership: valid p-values for one attack, for several, for groups of records."""

import math

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from draws import few_and_many, most_by_chance
from scipy import stats
from scipy.stats import nhypergeom
from sklearn.metrics import roc_auc_score

from skmia.metrics import tpr_at_fpr_score
from skmia.report import permutation_test

N_DRAWS = 40


def within(share, level, n_draws=N_DRAWS):
    """Whether a share is a chance of `level`, within four standard errors."""
    return abs(share - level) <= 4 * math.sqrt(level * (1 - level) / n_draws)


def exceeds(share, level, n_draws=N_DRAWS):
    return share > level + 4 * math.sqrt(level * (1 - level) / n_draws)


# One attack


def test_pvalues_of_blind_scores_are_uniform():
    rng = np.random.default_rng(0)
    pvalues = []
    for seed in range(N_DRAWS):
        membership = rng.permutation(40) < 15
        result = permutation_test(
            membership, rng.normal(size=40), n_permutations=39, random_state=seed
        )
        pvalues.append(result.pvalue)
    for level in (0.05, 0.2, 0.5, 0.8):
        assert within(np.mean(np.array(pvalues) <= level), level)


def test_pvalues_of_tied_scores_and_few_records_are_not_too_small():
    rng = np.random.default_rng(0)
    pvalues = []
    for seed in range(N_DRAWS):
        membership = rng.permutation(6) < 3  # 20 ways to deal it out
        scores = rng.integers(3, size=6)
        result = permutation_test(membership, scores, n_permutations=39, random_state=seed)
        pvalues.append(result.pvalue)
    for level in (0.05, 0.1, 0.2, 0.5):
        assert not exceeds(np.mean(np.array(pvalues) <= level), level)


def test_the_exact_distribution_of_a_small_case():
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(size=12), 1)
    scores[4] = scores[5]
    membership = np.arange(12) % 2

    def auc(members, nonmembers):
        return 0.5 + 0.5 * np.sign(members[:, None] - nonmembers).mean()

    sides = scores[membership == 1], scores[membership == 0]
    exact = stats.permutation_test(sides, auc, n_resamples=np.inf, alternative="greater")
    n = 20_000
    result = permutation_test(membership, scores, n_permutations=n, random_state=0)
    row = result.frame.iloc[0]
    assert row["estimate"] == pytest.approx(exact.statistic)
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / n)
    assert abs(row["pvalue"] - exact.pvalue) <= 4 * error + 1 / n
    null = exact.null_distribution
    assert abs(row["null_mean"] - null.mean()) <= 4 * null.std() / math.sqrt(n)
    assert row["null_sd"] == pytest.approx(null.std(), rel=4 / math.sqrt(2 * n))
    assert (row["null_low"], row["null_high"]) == pytest.approx(np.quantile(null, [0.025, 0.975]))


def test_the_spread_is_that_of_the_rank_sum():
    membership = np.repeat([1, 0], [30, 70])
    scores = np.random.default_rng(0).normal(size=100)
    n = 4000
    row = permutation_test(membership, scores, n_permutations=n, random_state=0).frame.iloc[0]
    assert row["estimate"] == pytest.approx(roc_auc_score(membership, scores))
    sd = math.sqrt((30 + 70 + 1) / (12 * 30 * 70))
    assert row["null_sd"] == pytest.approx(sd, rel=4 / math.sqrt(2 * n))
    assert abs(row["null_mean"] - 0.5) <= 4 * sd / math.sqrt(n)


def test_a_shift_is_found_with_the_smallest_pvalue():
    rng = np.random.default_rng(0)
    membership = rng.permutation(500) % 2
    result = permutation_test(membership, rng.normal(size=500) + membership, random_state=0)
    assert result.pvalue == 1 / 1000
    assert (result.n_permutations, result.n_units) == (999, 500)
    assert result.frame["pvalue_below"].item() == 1
    assert result.frame["pvalue_least"].item() == 1 / 1000  # which no number has less of


def test_scores_of_the_wrong_sign_are_flagged_and_not_turned():
    rng = np.random.default_rng(0)
    membership = rng.permutation(500) % 2
    result = permutation_test(membership, rng.normal(size=500) - membership, random_state=0)
    row = result.frame.iloc[0]
    assert row["pvalue_below"] == 0.001 and row["pvalue"] == 1 and row["estimate"] < 0.3


def test_equal_scores_show_nothing():
    result = permutation_test(np.arange(20) % 2, np.ones(20), random_state=0)
    row = result.frame.iloc[0]
    assert (row["estimate"], row["null_sd"], row["pvalue"], result.pvalue) == (0.5, 0, 1, 1)
    assert row["pvalue_below"] == 1


# Several attacks


def test_the_best_of_many_attacks_is_a_finding_as_often_as_it_may():
    rng = np.random.default_rng(0)
    uncorrected, corrected = [], []
    for seed in range(N_DRAWS):
        membership = rng.permutation(60) % 2
        common = rng.normal(size=60)
        scores = {f"a{k}": common + rng.normal(size=60) for k in range(10)}
        scores["coarse"] = np.sign(common)
        result = permutation_test(membership, scores, n_permutations=39, random_state=seed)
        uncorrected.append(result.frame["pvalue"].min())
        corrected.append(result.pvalue)
    assert exceeds(np.mean(np.array(uncorrected) <= 0.05), 0.05)
    assert not exceeds(np.mean(np.array(corrected) <= 0.05), 0.05)
    assert within(np.mean(np.array(corrected) <= 0.2), 0.2)


def test_flags_of_the_wrong_sign_are_as_rare_as_they_may_be():
    rng = np.random.default_rng(0)
    flagged = []
    for seed in range(N_DRAWS):
        scores = {f"a{k}": rng.normal(size=40) for k in range(5)}
        result = permutation_test(np.arange(40) % 2, scores, n_permutations=39, random_state=seed)
        flagged.append(result.frame["pvalue_below"].min() <= 0.05)
    assert within(np.mean(flagged), 0.05)


def test_a_real_attack_stands_out_among_blind_ones():
    rng = np.random.default_rng(0)
    membership = rng.permutation(400) % 2
    scores = {f"a{k}": rng.normal(size=400) for k in range(5)}
    scores["real"] = rng.normal(size=400) + membership
    result = permutation_test(membership, scores, random_state=0)
    adjusted = result.frame.set_index("attack")["pvalue_adjusted"]
    assert result.frame["attack"].tolist() == list(scores)
    assert result.pvalue == adjusted["real"] == 0.001
    assert (adjusted.drop("real") > 0.05).all()
    assert (result.frame["pvalue_adjusted"] >= result.frame["pvalue"]).all()


def test_attacks_that_say_the_same_need_no_correction():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(50) % 2, rng.normal(size=50)
    same = {"raw": scores, "cubed": scores**3, "shifted": scores + 7}
    frame = permutation_test(membership, same, random_state=0).frame
    np.testing.assert_array_equal(frame["pvalue_adjusted"], frame["pvalue"])
    assert frame.drop(columns="attack").drop_duplicates().shape[0] == 1


# Groups


def deal_groups(rng, n_groups=30):
    group = np.repeat(np.arange(n_groups), rng.integers(1, 12, size=n_groups))
    membership = (rng.permutation(n_groups) % 2)[group]
    scores = rng.normal(size=n_groups)[group] + 0.3 * rng.normal(size=len(group))
    return membership, scores, group


def test_records_of_a_group_are_not_independent():
    rng = np.random.default_rng(0)
    alone, together = [], []
    for seed in range(N_DRAWS):
        membership, scores, group = deal_groups(rng)
        settings = {"n_permutations": 99, "random_state": seed}
        alone.append(permutation_test(membership, scores, **settings).pvalue)
        together.append(permutation_test(membership, scores, group_by=group, **settings).pvalue)
    assert exceeds(np.mean(np.array(alone) <= 0.05), 0.05)
    for level in (0.05, 0.2, 0.5):
        assert within(np.mean(np.array(together) <= level), level)


def test_all_labelings_of_three_groups():
    # The group that is the member of three can be any of them; their AUCs are known.
    group, scores = np.array(["a", "a", "b", "c", "c", "c"]), np.array([5, 6, 4, 1, 2, 3])
    result = permutation_test(group == "a", scores, group_by=group, random_state=0)
    row = result.frame.iloc[0]
    assert (row["estimate"], result.n_units) == (1, 3)
    assert (row["null_low"], row["null_high"]) == (0, 1)
    third = math.sqrt(2 / 9 / 999)
    assert abs(row["pvalue"] - 1 / 3) <= 4 * third + 1 / 1000
    sd = np.std([1, 3 / 5, 0])
    assert abs(row["null_mean"] - np.mean([1, 3 / 5, 0])) <= 4 * sd / math.sqrt(999)


def test_groups_of_one_record_are_records():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(50) % 2, {"a": rng.normal(size=50), "b": rng.random(50)}
    names = [f"person {i}" for i in rng.permutation(50)]
    alone = permutation_test(membership, scores, random_state=0)
    together = permutation_test(membership, scores, group_by=names, random_state=0)
    pd.testing.assert_frame_equal(alone.frame, together.frame)


# Invariances and limits


@pytest.mark.parametrize("grouped", [False, True])
def test_another_order_of_the_records_gives_the_same_result(grouped):
    rng = np.random.default_rng(0)
    membership, scores, group = deal_groups(rng)
    scores = {"a": scores, "b": np.round(rng.normal(size=len(scores)))}
    group = group if grouped else None
    result = permutation_test(membership, scores, group_by=group, random_state=0)
    order = rng.permutation(len(membership))
    again = permutation_test(
        membership[order],
        {name: values[order] for name, values in scores.items()},
        group_by=group[order] if grouped else None,
        random_state=0,
    )
    pd.testing.assert_frame_equal(again.frame, result.frame, check_exact=True)


def test_only_the_order_of_the_scores_counts():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(50) % 2, rng.normal(size=50)
    raw = permutation_test(membership, scores, random_state=0)
    bent = permutation_test(membership.astype(bool), np.exp(5 * scores), random_state=0)
    pd.testing.assert_frame_equal(raw.frame, bent.frame)
    assert raw.frame["attack"].tolist() == ["score"]


def test_blocks_of_permutations_give_what_one_block_gives(monkeypatch):
    from skmia.report.checks import _units

    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(50) % 2, rng.normal(size=50)
    whole = permutation_test(membership, scores, random_state=0)
    monkeypatch.setattr(_units, "_BLOCK_ELEMENTS", 50 * 7)
    pd.testing.assert_frame_equal(
        permutation_test(membership, scores, random_state=0).frame, whole.frame
    )


def test_random_state_determines_the_permutations():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(50) % 2, pd.DataFrame({"a": rng.normal(size=50)})
    frames = [permutation_test(membership, scores, random_state=s).frame for s in (0, 0, 1)]
    pd.testing.assert_frame_equal(frames[0], frames[1])
    assert not frames[0].equals(frames[2])


def test_two_records_and_one_permutation():
    result = permutation_test([1, 0], [2, 1], n_permutations=1, random_state=0)
    assert result.pvalue in (0.5, 1)
    names = ["attack", "scope", "group", "metric", "max_fpr"]
    assert np.isfinite(result.frame.drop(columns=names).to_numpy(float)).all()


BAD_INPUT = {
    "no member": ([0, 0], [1, 2], {}, "no members"),
    "other bits": ([0, 2], [1, 2], {}, "membership must be 1 for members"),
    "no vector": (1, [1, 2], {}, "membership needs one value"),
    "no attack": ([0, 1], {}, {}, "at least one attack"),
    "scores too short": (
        [0, 1],
        {"LiRA": [1]},
        {},
        "scores of 'LiRA' need one value for each of 2",
    ),
    "NaN": ([0, 1], {"LiRA": [1, np.nan]}, {}, "scores of 'LiRA' must be finite; got nan"),
    "two columns": ([0, 1], np.eye(2), {}, "scores of 'score' must be one-dimensional"),
    "no permutation": ([0, 1], [1, 2], {"n_permutations": 0}, "integer from 1 .*; got 0"),
    "a fraction": ([0, 1], [1, 2], {"n_permutations": 9.5}, "integer from 1 .*; got 9.5"),
    "groups too short": ([0, 1], [1, 2], {"group_by": [1]}, "group_by needs one value for each"),
    "no group": (
        [0, 1],
        [1, 2],
        {"group_by": ["a", None]},
        "no value for 1 of 2 records, first at position 1",
    ),
    "mask of another length": (
        [0, 1],
        [1, 2],
        {"subsets": [("race", "x", np.ones(3, dtype=bool))]},
        "boolean mask for each of 2 records; that of 'race', 'x' has dtype bool and shape",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named(case):
    membership, scores, settings, message = BAD_INPUT[case]
    with pytest.raises(ValueError, match=message):
        permutation_test(membership, scores, **settings)


# True positive rates


def test_rates_are_those_of_the_metric():
    rng = np.random.default_rng(0)
    membership = rng.permutation(3000) % 3 == 0
    smooth = rng.normal(size=3000) + 0.5 * membership
    scores = {"smooth": smooth, "coarse": np.round(2 * smooth), "constant": np.zeros(3000)}
    rates = [0.005, 0.05, 0.3, 1.0]
    frame = permutation_test(membership, scores, max_fprs=rates, n_permutations=9).frame
    assert list(frame["metric"]) == ["auc"] * 3 + ["tpr"] * 12
    for row in frame[frame["metric"] == "tpr"].itertuples():
        expected = tpr_at_fpr_score(membership, scores[row.attack], max_fpr=row.max_fpr)
        assert row.estimate == pytest.approx(expected, abs=1e-12)


def test_null_of_a_rate_is_negative_hypergeometric():
    # With k others allowed, the members above the (k+1)-th other.
    n, n_members, rate = 400, 150, 0.1
    membership = np.arange(n) < n_members
    scores = np.random.default_rng(1).permutation(n)
    n_permutations = 4000
    frame = permutation_test(
        membership, scores, max_fprs=[rate], n_permutations=n_permutations, random_state=0
    ).frame
    row = frame[frame["metric"] == "tpr"].iloc[0]
    null = nhypergeom(n, n_members, int(rate * (n - n_members)) + 1)
    error = 4 * null.std() / n_members / math.sqrt(n_permutations)
    assert abs(row["null_mean"] - null.mean() / n_members) <= error
    assert row["null_sd"] == pytest.approx(
        null.std() / n_members, rel=4 / math.sqrt(n_permutations)
    )
    tail = null.sf(round(row["estimate"] * n_members) - 1)
    assert abs(row["pvalue"] - tail) <= 4 * math.sqrt(tail * (1 - tail) / n_permutations) + 1e-3


def test_few_members_that_stand_out_are_found_by_a_rate_and_not_by_the_auc():
    membership = np.repeat([1, 0], 3000)
    scores = np.tile(stats.norm.ppf((np.arange(3000) + 0.5) / 3000), 2)  # both sides alike
    scores[1500:1530] = 10  # but for one member in a hundred
    frame = permutation_test(membership, scores, max_fprs=[0.01], random_state=0).frame
    auc, tpr = frame.itertuples()
    assert auc.pvalue_adjusted > 0.025  # the level of one side, in an audit at 95%
    assert tpr.pvalue_adjusted <= 0.025 and tpr.estimate == pytest.approx(0.02)


@few_and_many(400)
def test_rates_of_groups_that_move_together_are_valid(n_draws):
    # Rows of one person score alike, so that a shuffle of single rows would find them.
    n_people, repeats = 120, 5
    people = np.repeat(np.arange(n_people), repeats)
    rng = np.random.default_rng(3)
    n_found = 0
    for _ in range(n_draws):
        membership = rng.permutation(n_people)[people] % 2
        scores = rng.normal(size=n_people)[people]
        settings = {"max_fprs": [0.1], "n_permutations": 99, "random_state": 0}
        frame = permutation_test(membership, scores, group_by=people, **settings).frame
        n_found += frame["pvalue"].iloc[1] <= 0.1
    assert n_found <= most_by_chance(n_draws, 0.1)


# Parts of the records


@few_and_many(20)
def test_memorized_outliers_of_a_small_group_are_found(n_draws):
    # 20 of 2,000 records are told apart, which the AUC over all of them hardly notices.
    rng = np.random.default_rng(0)
    group, classes = np.arange(2000) < 20, rng.integers(0, 10, 2000)
    subsets = [("kind", "outlier", group), ("kind", "rest", ~group)]
    subsets += [("class", str(one), classes == one) for one in range(10)]
    for seed in range(n_draws):
        membership = rng.permutation(2000) % 2 == 1
        common = rng.normal(size=2000)
        scores = {f"a{k}": common + 0.5 * rng.normal(size=2000) for k in range(4)}
        scores["a0"] = np.where(group, np.where(membership, 9, -9) + common, scores["a0"])
        result = permutation_test(
            membership, scores, max_fprs=[0.1], subsets=subsets, random_state=seed
        )
        row = result.frame.query("attack == 'a0' and group == 'outlier'").iloc[0]
        assert row["estimate"] == 1 and row["pvalue_adjusted"] <= 0.025


def test_parts_are_corrected_for():
    rng = np.random.default_rng(1)
    found, below = [], []
    for seed in range(N_DRAWS):
        membership = rng.permutation(80) % 2
        groups = rng.integers(0, 6, 80)
        subsets = [("field", str(one), groups == one) for one in range(6)]
        settings = {"subsets": subsets, "n_permutations": 39, "random_state": seed}
        frame = permutation_test(membership, rng.normal(size=80), **settings).frame
        found.append(frame["pvalue_adjusted"].min())
        below.append(frame["pvalue_below"].min())
    for share in (np.array(found) <= 0.1, np.array(below) <= 0.1):
        assert within(share.mean(), 0.1)


def test_a_part_is_measured_on_its_own_records():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(400) % 2, np.round(rng.normal(size=400), 1)
    part, tiny = rng.random(400) < 0.5, np.arange(400) < 3
    subsets = [("f", "part", part), ("f", "tiny", tiny), ("overall", "all", part | True)]
    frame = permutation_test(
        membership, {"a": scores}, max_fprs=[0.2, 0.01], subsets=subsets, random_state=0
    ).frame
    assert frame["group"].tolist() == ["all"] * 3 + ["part"] * 2  # 0.01 is not resolved there
    estimate = frame.query("group == 'part'").set_index("metric")["estimate"]
    assert estimate["auc"] == pytest.approx(roc_auc_score(membership[part], scores[part]))
    assert estimate["tpr"] == pytest.approx(
        tpr_at_fpr_score(membership[part], scores[part], max_fpr=0.2)
    )


def test_records_that_an_attack_cannot_judge_take_no_part():
    rng = np.random.default_rng(0)
    membership, scores = rng.permutation(100) % 2, rng.normal(size=100)
    judged = rng.random(100) < 0.7
    spoiled = np.where(judged, scores, 99.0)
    frame = permutation_test(
        membership, {"a": scores, "b": spoiled}, judged={"a": judged, "b": judged}, random_state=0
    ).frame.set_index("attack")
    assert frame.loc["b", "estimate"] == roc_auc_score(membership[judged], scores[judged])
    assert frame.loc["a", "pvalue"] == frame.loc["b", "pvalue"]


# People on both sides


def deal_people(rng, n_people=30, n_rows=6, n_mixed=1):
    people = np.repeat(np.arange(n_people), n_rows)
    membership = (rng.permutation(n_people) % 2)[people]
    for one in range(n_mixed):
        rows = people == one
        membership[rows] = rng.permutation(np.arange(n_rows) < 1 + one % (n_rows - 1))
    scores = rng.normal(size=n_people)[people] + 0.3 * rng.normal(size=len(people))
    return membership, scores, people


@pytest.mark.parametrize("n_mixed", slow_but([1, 10, 30], 30))
def test_people_on_both_sides_leave_the_pvalues_valid(n_mixed):
    rng = np.random.default_rng(n_mixed)
    pvalues = []
    for seed in range(N_DRAWS):
        membership, scores, people = deal_people(rng, n_mixed=n_mixed)
        result = permutation_test(
            membership, scores, group_by=people, n_permutations=39, random_state=seed
        )
        assert result.n_mixed == n_mixed
        assert result.n_units == 30 + 5 * n_mixed
        pvalues.append(result.pvalue)
    for level in (0.05, 0.2, 0.5):
        assert within(np.mean(np.array(pvalues) <= level), level)


def test_one_record_on_the_wrong_side_costs_no_power():
    rng = np.random.default_rng(0)
    membership, scores, people = deal_people(rng, n_people=60)
    leaking = scores + 2 * membership
    result = permutation_test(membership, leaking, group_by=people, random_state=0)
    assert result.pvalue == 0.001


def test_members_are_permuted_within_people_who_have_both():
    # Only one person has both sides, and all others are members: 3 ways to choose the non-member.
    membership, people = [1, 1, 1, 1, 0], ["a", "b", "c", "c", "c"]
    row = permutation_test(membership, [9, 9, 3, 2, 1], group_by=people, random_state=0).frame.iloc[
        0
    ]
    assert row["estimate"] == 1
    third = math.sqrt(2 / 9 / 999)
    assert abs(row["pvalue"] - 1 / 3) <= 4 * third + 1 / 1000
    assert row["null_low"] == 0.5 and row["null_high"] == 1
