"""Groups that are assigned at random, and people who are permuted."""

from itertools import combinations

import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from refusals import check_refusal, parametrize_refusals
from scipy import stats
from sklearn.tree import DecisionTreeClassifier
from statsmodels.stats.oneway import anova_oneway

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityTest, GroupGuesses, _permutation
from skmia.disparity._game import number_people, read_exposures, read_guesses, tabulate_groups
from skmia.disparity._permutation import (
    compare_exposures,
    compare_means,
    compute_exposure,
    sum_parts,
)
from skmia.disparity._test import analyze, compute_half_width


def make_guesses(exposure, groups, n_rounds, rng, people=None):
    """Members are flagged always, non-members with a probability of one minus their exposure."""
    people = np.arange(len(exposure)) if people is None else people
    inside = (rng.random((n_rounds, people.max() + 1)) < 0.5)[:, people]
    guesses = inside | (rng.random(inside.shape) < 1 - exposure)
    return GroupGuesses(guesses, inside.astype(int), groups, people)


def count_rejected(n_draws, make):
    """Draws that reject at 5%: the groups, or any pair after Bonferroni's correction."""
    found = np.zeros(2)
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        result = compare_exposures(read_exposures(read_guesses(make(rng))), 99, rng)
        smallest = result.pair_pvalues.min() * len(result.pair_pvalues)
        found += [result.pvalue <= 0.05, smallest <= 0.05]
    return found


@pytest.fixture(scope="module")
def played():
    rng = np.random.default_rng(3)
    return make_guesses(rng.random(80), rng.choice(["x", "y", "z"], 80), 15, rng)


# The level


@few_and_many(300)  # benchmarks/calibration.py has more
def test_groups_at_random_are_not_found_unequal(n_draws):
    # Records differ in their exposure, and all rounds have the same ones.
    def make(rng):
        groups = rng.choice(["a", "b", "c"], 150, p=[0.7, 0.2, 0.1])
        return make_guesses(rng.beta(1, 2, size=150), groups, 60, rng)

    assert count_rejected(n_draws, make).max() <= most_by_chance(n_draws, 0.05)
    rounds = [tabulate_groups(read_guesses(make(np.random.default_rng(i)))) for i in range(20)]
    by_rounds = [analyze(table.dropna().to_numpy()).pvalue_corrected for table in rounds]
    assert np.mean(np.array(by_rounds) <= 0.05) > 0.5


@few_and_many(300)
def test_people_at_random_are_not_found_unequal(n_draws):
    # All records of a person are exposed alike, so that records are not exchangeable.
    person = np.repeat(np.arange(40), 5)

    def make(rng):
        groups = rng.integers(2, size=40)[person]
        return make_guesses(rng.beta(0.5, 1, size=40)[person], groups, 20, rng, person)

    assert count_rejected(n_draws, make)[0] <= most_by_chance(n_draws, 0.05)
    alone = count_rejected(n_draws, lambda rng: make(rng)._replace(people=None))
    assert alone[0] > 0.2 * n_draws


@few_and_many(300)
def test_equal_means_of_unequal_variance_are_not_found(n_draws):
    groups = (np.arange(400) < 100).astype(int)

    def make(rng):
        spread = np.where(rng.random(400) < 0.5, 0.05, 0.75)
        return make_guesses(np.where(groups == 1, spread, 0.4), groups, 40, rng)

    assert count_rejected(n_draws, make)[0] <= most_by_chance(n_draws, 0.05)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_group_that_is_exposed_more_is_found(share):
    def make(rng):
        groups = (np.arange(1000) < share * 1000).astype(int)
        return make_guesses(rng.beta(1, 5, size=1000) + 0.3 * groups, groups, 20, rng)

    assert count_rejected(10, make)[0] == 10


def test_people_are_what_is_permuted_in_a_game():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 3))[person] + 0.01 * rng.normal(size=(200, 3))
    y = rng.integers(2, size=40)[person]
    group = np.where(np.arange(40) < 20, "a", "b")[person]
    attack = ThresholdAttack(signal="correctness")
    test = DisparityTest(DecisionTreeClassifier(), attack, n_permutations=99, random_state=0)
    test.fit(Records(X, y, group=group, group_by=person))
    assert "guesses" not in test.game_ and test.n_kept_ == 0
    # A spread of 40 people, not of 200 records.
    error = test.group_vulnerability_["standard_error"].to_numpy()
    test.fit(Records(X, y, group=group))
    assert (error > 1.5 * test.group_vulnerability_["standard_error"]).all()


# The statistic


def test_statistic_is_that_of_brown_and_forsythe(monkeypatch):
    monkeypatch.setattr(_permutation, "_PRIOR_WEIGHT", 0)
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    values = rng.normal(size=90) * (1 + codes) + 0.3 * codes
    parts = sum_parts(values, codes, np.arange(90))
    sums = _permutation._sum_groups(parts.columns, codes, 3)
    known = anova_oneway(values, codes, use_var="bf")
    assert compare_means(sums, np.bincount(codes)) == pytest.approx(known.statistic)
    two = values[codes < 2], codes[codes < 2]
    sums = _permutation._sum_groups(sum_parts(*two, np.arange(60)).columns, two[1], 2)
    welch = stats.ttest_ind(values[codes == 0], values[codes == 1], equal_var=False)
    assert compare_means(sums, np.array([30, 30])) == pytest.approx(welch.statistic**2)


def test_exposure_by_hand():
    guesses = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1], [9, 0, 1, 9]])
    membership = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [-1, 0, 0, -1]])
    exposure = compute_exposure(guesses, membership)
    np.testing.assert_allclose(exposure, [1 - 1 / 2, 1 / 2 - 1 / 2, 1 / 2 - 1, np.nan])


def test_pvalue_is_that_of_all_assignments():
    rng = np.random.default_rng(1)
    codes = np.array([1] * 3 + [0] * 5)
    values = rng.normal(size=8) + codes

    def find(codes):
        columns = sum_parts(values, codes, np.arange(8)).columns
        return compare_means(_permutation._sum_groups(columns, codes, 2), np.bincount(codes))

    everything = [np.isin(np.arange(8), chosen) for chosen in combinations(range(8), 3)]
    null = np.array([find(one.astype(int)) for one in everything])
    truth = (null >= find(codes) * (1 - 1e-9)).mean()
    found = compare_exposures(
        sum_parts(values, codes, np.arange(8)), 4999, np.random.default_rng(0)
    )
    assert 0.02 < truth < 0.98
    assert found.pvalue == pytest.approx(truth, abs=4 * np.sqrt(truth * (1 - truth) / 5000))


@few_and_many(300)
def test_intervals_of_differences_cover_those_of_other_records(n_draws):
    def find(seed):
        rng = np.random.default_rng(seed)
        groups = (np.arange(300) < 60).astype(int)
        exposure = np.where(groups == 1, rng.beta(1, 1, size=300), rng.beta(1, 4, size=300))
        played = read_guesses(make_guesses(exposure, groups, 20, rng))
        found = compare_exposures(read_exposures(played), 1, rng)
        half_width = compute_half_width(found.pair_errors[0], found.pair_df[0], 0.95)
        return abs(found.means[0] - found.means[1] - (0.2 - 0.5)) <= half_width

    missed = n_draws - sum(find(seed) for seed in range(n_draws))
    assert missed <= most_by_chance(n_draws, 0.05)


def test_means_are_those_of_the_exposures(played):
    test = DisparityTest(random_state=0).fit(played)
    exposure = compute_exposure(played.guesses, played.membership)
    groups, pairs = test.group_vulnerability_, test.pairwise_.set_index(["group", "other"])
    for group in "xyz":
        known = exposure[played.groups == group]
        known = known[~np.isnan(known)]
        assert groups.loc[group, "mean"] == pytest.approx(known.mean())
    difference = groups.loc["x", "mean"] - groups.loc["z", "mean"]
    row = pairs.loc[("x", "z")]
    assert row["difference"] == pytest.approx(difference)
    assert row["difference"] - row["low"] == pytest.approx(row["high"] - row["difference"])
    # Both estimate the same; the rounds' mean has noise of its own.
    error = test.vulnerabilities_.std() / np.sqrt(15)
    assert (abs(groups["mean"] - test.vulnerabilities_.mean()) <= 4 * error).all()


# Invariances and limits


def test_names_and_order_of_groups_do_not_matter(played):
    test = DisparityTest(random_state=0).fit(played)
    order = np.random.default_rng(0).permutation(80)
    moved = GroupGuesses(
        played.guesses[:, order], played.membership[:, order], played.groups[order]
    )
    again = DisparityTest(random_state=0).fit(moved)
    assert again.statistic_ == pytest.approx(test.statistic_)
    renamed = np.select([played.groups == "x", played.groups == "y"], ["b", "c"], "a")
    turned = DisparityTest(random_state=0).fit(played._replace(groups=renamed))
    assert turned.statistic_ == pytest.approx(test.statistic_)
    assert turned.pvalue_ == pytest.approx(test.pvalue_, abs=4 * np.sqrt(0.25 / 999))


def test_names_of_people_do_not_matter(played):
    test = DisparityTest(random_state=0).fit(played)
    other = played._replace(people=np.random.default_rng(0).permutation(80))
    assert DisparityTest(random_state=0).fit(other).pvalue_ == test.pvalue_


def test_random_state_settles_the_permutations(played):
    first, again, other = (DisparityTest(random_state=seed).fit(played) for seed in (0, 0, 1))
    assert first.pvalue_ == again.pvalue_ != other.pvalue_
    assert first.pairwise_.equals(again.pairwise_)


def test_nothing_that_varies_is_no_evidence():
    rng = np.random.default_rng(0)
    inside = rng.integers(2, size=(6, 40))
    test = DisparityTest(random_state=0).fit(GroupGuesses(inside, inside, np.arange(40) % 2))
    assert test.statistic_ == 0 and test.pvalue_ == 1 and not test.reject_
    assert (test.pairwise_["pvalue"] == 1).all()


def test_exposures_that_are_equal_but_for_rounding_are_no_evidence():
    exposure = np.repeat([0.6 - 0.4, 0.4 - 0.2], 10)
    assert len(set(exposure)) == 2
    parts = sum_parts(exposure, np.repeat([0, 1], 10), np.arange(20))
    found = compare_exposures(parts, 99, np.random.default_rng(0))
    assert (found.statistic, found.pvalue) == (0.0, 1.0)
    np.testing.assert_allclose(found.means, 0.2)


def test_groups_without_variance_that_differ_are_certain():
    inside = np.random.default_rng(0).integers(2, size=(6, 40))
    groups = np.arange(40) % 2
    guesses = np.where(groups == 1, inside, 1)
    test = DisparityTest(random_state=0).fit(GroupGuesses(guesses, inside, groups))
    assert test.statistic_ == np.inf and test.pvalue_ == 1 / 1000 and test.reject_


def test_as_many_permutations_as_the_level_needs(played):
    strict = DisparityTest(n_permutations=10, confidence_level=0.999, random_state=0).fit(played)
    assert strict.n_permutations_ >= 3 / 0.001
    assert DisparityTest(n_permutations=200).fit(played).n_permutations_ == 200


def test_people_of_several_groups_keep_them():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 4)
    groups = np.repeat(np.arange(30) % 2, 4)
    groups[:8] = [0, 0, 1, 1] * 2
    played = make_guesses(rng.random(120), groups, 20, rng, person)
    test = DisparityTest(random_state=0).fit(played)
    assert test.n_kept_ == 2
    assert "people in several groups, who keep them: 2" in test.summary()
    mixed = played._replace(groups=np.tile([0, 1], 60))
    assert DisparityTest(random_state=0).fit(mixed).pvalue_ == 1


def test_equal_records_are_one_person_unless_their_groups_differ():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [2.0]])
    records = Records(X, np.zeros(5, dtype=int))
    people = records.with_fields(group_by=np.array([7, 8, 8, 9, 9]))
    for given, groups, expected in [
        (records, "aabcc", "00122"),
        (records, "abbcc", "01234"),
        (people, "aaacc", "00011"),
        (people, "abbcc", "01122"),
    ]:
        found = number_people(given, np.array(list(groups)))
        together = np.equal.outer(list(expected), list(expected))
        np.testing.assert_array_equal(np.equal.outer(found, found), together)


def test_summary_names_the_permutations(played):
    test = DisparityTest(random_state=0).fit(played)
    text = test.summary()
    assert f"p = {test.pvalue_:.2g} (999 permutations of the groups)" in text
    assert f"F(2, 28) = {test.anova_statistic_:.6g}" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guesses": np.zeros(80)}, "arrays of one shape .* got \\(80,\\) and \\(15, 80\\)"),
        ({"membership": np.full((15, 80), 2)}, "membership must be 1, 0, or -1"),
        ({"guesses": np.full((15, 80), 0.5)}, "guesses must be 1 or 0"),
        ({"groups": np.zeros(80)}, "at least 2 groups to compare; got 1"),
        ({"groups": np.zeros(79)}, "groups needs one value for each of 80 records"),
        ({"groups": np.array([None, "a"] * 40)}, "groups has no value for 40 of 80 records"),
        ({"people": np.zeros(3)}, "people needs one value for each of 80 records"),
        ({"membership": np.tile([1, 0], (15, 40))}, "No record of group 'x' was a member in one"),
    ],
)
def test_bad_guesses_are_named(played, changes, message):
    with pytest.raises(ValueError, match=message):
        DisparityTest().fit(played._replace(**changes))


@pytest.mark.parametrize(("n_groups", "n_tests"), [(2, 1), (3, 4), (4, 7)])
def test_two_groups_are_permuted_once(n_groups, n_tests, monkeypatch):
    rng, calls, permute = np.random.default_rng(5), [], _permutation._permute_exposures
    groups = np.resize(np.arange(n_groups), 80)
    guesses = make_guesses(rng.random(80), groups, 15, rng)
    monkeypatch.setattr(
        _permutation, "_permute_exposures", lambda *given: calls.append(given) or permute(*given)
    )
    found = compare_exposures(read_exposures(read_guesses(guesses)), 99, rng)
    assert len(calls) == n_tests and len(found.pair_pvalues) == max(1, n_tests - 1)
    if n_groups == 2:
        assert found.pair_pvalues.tolist() == [found.pvalue]


ONE_SHAPE = "guesses and membership must be arrays of one shape .n_rounds, n., with a round or more"


@parametrize_refusals(
    (lambda: read([0, 1], [0, 1]), ONE_SHAPE),
    (lambda: read([[0, 1]], [[0, 1], [0, 1]]), ONE_SHAPE),
    (lambda: read(np.empty((0, 2)), np.empty((0, 2))), ONE_SHAPE),
    (
        lambda: DisparityTest().fit(GroupGuesses([[0, 1]], [[0, 1]], [0, 1]), [0, 1]),
        "GroupGuesses hold the membership of each record; leave y out",
    ),
)
def test_guesses_of_no_game_are_refused(call, words, error):
    check_refusal(call, words, error)


def read(guesses, membership):
    return read_guesses(GroupGuesses(guesses, membership, groups=[0, 1]))
