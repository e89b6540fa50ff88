"""Shadow models in the victim's place: power against their number, and unequal groups."""

import json
from functools import partial

import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import skmia
from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA, StackedAttack, ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.metrics import auc_interval
from skmia.report._examine import compare_groups
from skmia.report._run import ControlRounds
from skmia.report.checks._baseline import measure_difficulty

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)


@pytest.fixture(scope="module")
def report(quick_audits):
    """Labels of the second group are noise, which a tree learns by heart.

    Groups are compared as in audits of users.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    noisy = rng.random(600) < 0.5
    y = np.where(noisy, rng.integers(0, 2, 600), X[:, 0] > 0)
    records = Records(
        X, y, kind=np.where(noisy, "noise", "rule"), region=rng.choice(list("ab"), 600)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skmia.report._examine.DisparityTest", DisparityTest)
        return audit(
            DecisionTreeClassifier(random_state=0),
            records,
            attacks={"LiRA": LiRA()},
            shadows=32,
            group=["kind", "region"],
            fprs=(0.1, 0.001),
            random_state=0,
        )


def test_group_that_is_exposed_more_is_found_and_an_equal_one_is_not(report):
    tests = {test["scope"]: test for test in report.disparity["scopes"]}
    assert list(tests) == ["kind", "region", "class"]
    kind = tests["kind"]
    means = {group["group"]: group["mean"] for group in kind["groups"]}
    assert kind["reject"] and means["noise"] > means["rule"] + 0.1
    assert kind["n_rounds"] == 16 and kind["anova_df"] == [1, 15]
    assert not tests["region"]["reject"]
    text = report.summary(verbose=True).replace("\n  ", " ")
    assert "differs between the groups of kind" in text
    assert "does not differ significantly between the groups of region" in text
    assert "(p ≤ 0.001 by permutation of the groups)" in text
    assert "groups of class" not in text  # nobody asked


def test_power_is_that_of_power_curve(problem):
    victim, records, membership = problem
    report = audit(victim, records, membership, shadows=16, random_state=0, attacks={"L": LiRA()})
    assert report.power["attack"] == "L"
    numbers = report.power["numbers"]
    assert [row["n_shadows"] for row in numbers] == [2, 6, 14]


def test_victim_unlike_its_shadow_models_is_a_warning(problem):
    _, records, membership = problem
    members = records[membership == 1]
    stump = DecisionTreeClassifier(max_depth=1).fit(members.X, members.y)
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0}
    report = audit(stump, records, membership, estimator=DecisionTreeClassifier(), **settings)
    assert report.checks["shadow models"].is_warning


def test_victim_like_its_shadow_models_passes(report):
    assert report.checks["shadow models"].status == "passed"


def test_without_shadow_models_nothing_is_repeated(problem):
    report = audit(*problem, attacks={"t": ThresholdAttack()})
    assert report.power is None and report.disparity is None
    assert report.checks["shadow models"].status == "not run"
    assert json.loads(report.to_json())["power"] is None


@few_and_many(200)
def test_groups_at_random_are_not_called_unequal(monkeypatch, n_draws):
    # Records differ in how well they are guessed, and all rounds have the same ones: in the end
    # any two sets of records differ for a test over rounds.
    rng = np.random.default_rng(0)
    few = partial(DisparityTest, n_permutations=99)  # the level is exact for any such number
    monkeypatch.setattr("skmia.report._examine.DisparityTest", few)
    by_rounds, by_permutation = 0, 0
    records = Records(np.arange(200.0)[:, None], np.ones(200))
    right = rng.beta(2, 1, size=200)
    for seed in range(n_draws):
        inside = rng.random((32, 200)) < 0.5
        guesses = np.where(rng.random((32, 200)) < right, inside, ~inside)
        first = rng.random(200) < 0.5
        subsets = [("scope", "a", first), ("scope", "b", ~first)]
        rounds = ControlRounds(guesses.astype(int), inside.astype(int))
        (test,) = compare_groups(rounds, records, subsets, 0.95, seed)
        by_rounds += test["anova_pvalue"] <= 0.05
        by_permutation += test["reject"]
    assert by_rounds / n_draws > 0.2
    assert by_permutation <= most_by_chance(n_draws, 0.05)


def test_people_with_several_rows_are_permuted_as_a_whole(monkeypatch):
    monkeypatch.setattr("skmia.report._examine.DisparityTest", DisparityTest)
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(20), 10)
    records = Records(np.arange(200.0)[:, None], np.ones(200), group_by=people)
    inside = rng.random((32, 20))[:, people] < 0.5
    # All rows of a person are guessed alike: right for 7 of the first 10 people, 3 of the others.
    right = np.isin(people, [0, 1, 2, 3, 4, 5, 6, 10, 11, 12])
    first = (np.arange(20) < 10)[people]
    subsets = [("scope", "a", first), ("scope", "b", ~first)]
    rounds = ControlRounds(np.where(right, inside, ~inside).astype(int), inside.astype(int))
    (test,) = compare_groups(rounds, records, subsets, 0.95, 0)
    alone = Records(records.X, records.y)
    (rows,) = compare_groups(rounds, alone, subsets, 0.95, 0)
    assert rows["pvalue"] == 0.001 < 0.05 < test["pvalue"]


def test_group_of_nobody_and_records_that_cannot_be_judged_take_no_part():
    rng = np.random.default_rng(0)
    records = Records(np.arange(200.0)[:, None], np.ones(200))
    inside = rng.integers(2, size=(8, 200))
    inside[:, :5] = -1
    third = np.arange(200) % 3
    subsets = [("scope", str(code), third == code) for code in range(2)]
    rounds = ControlRounds(rng.integers(2, size=(8, 200)), inside)
    (test,) = compare_groups(rounds, records, subsets, 0.95, 0)
    assert [group["group"] for group in test["groups"]] == ["0", "1"]
    assert 0 < test["pvalue"] <= 1


def test_a_stack_is_repeated_only_if_there_is_no_other_attack(problem):
    stack = {"stack": StackedAttack(boosted=False)}
    alone, beside = (
        audit(*problem, attacks=attacks, shadows=4, random_state=0)
        for attacks in (stack, {**stack, "LiRA": LiRA()})
    )
    assert alone.power["attack"] == alone.disparity["attack"] == "stack"
    assert beside.power["attack"] == beside.disparity["attack"] == "LiRA"


class BlindAttack(LiRA):
    """Says nothing of the victim."""

    def score_samples(self, X):
        return 0 * super().score_samples(X)


def test_the_strongest_attack_is_repeated(problem):
    attacks = {"LiRA": LiRA(), "blind": BlindAttack()}
    for names in (attacks, [*attacks][::-1]):
        given = {name: attacks[name] for name in names}
        report = audit(*problem, attacks=given, shadows=4, controls=False, random_state=0)
        assert report.power["attack"] == "LiRA"


def test_pool_that_an_attack_brings_is_the_one_that_repeats_it(problem):
    victim, records, membership = problem
    pool = ShadowPool(victim, 8, random_state=0).fit(records)
    brought = {"L": LiRA(shadows=FrozenEstimator(pool))}
    report = audit(victim, records, membership, attacks=brought, random_state=0)
    shared = audit(victim, records, membership, attacks={"L": LiRA()}, shadows=pool, random_state=0)
    assert report.settings["n_shadows"] == 0
    assert report.power == shared.power and report.power["numbers"][-1]["n_shadows"] == 6


def test_pool_too_small_to_repeat_says_so(problem):
    victim, records, membership = problem
    pool = ShadowPool(victim, 2, random_state=0).fit(records)
    attacks = {"c": CalibratedAttack()}
    report = audit(victim, records, membership, attacks=attacks, shadows=pool, random_state=0)
    assert report.power is None and report.disparity is None
    assert "pool of at least 4 models; this pool has 2" in report.checks["shadow models"].text


def test_group_too_small_takes_no_part_and_is_named(problem):
    victim, records, membership = problem
    who = np.array(["one"] + ["many"] * 200 + ["others"] * 199)
    report = audit(
        victim,
        records.with_fields(who=who),
        membership,
        attacks={"LiRA": LiRA()},
        shadows=8,
        group="who",
        random_state=0,
    )
    test = report.disparity["scopes"][0]
    assert test["left_out"] == ["one"]
    assert [group["group"] for group in test["groups"]] == ["many", "others"]
    assert "Too small to take part: one." in report.summary(verbose=True).replace("\n  ", " ")


def test_difficulty_is_that_for_models_that_know_neither_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    membership = rng.permutation(500) % 2
    careless = np.where((membership == 0) & (rng.random(500) < 0.5), 1, 0)
    y = ((X[:, 0] > 0) ^ careless).astype(int)  # labels of the others were taken with less care
    stranger = DecisionTreeClassifier(max_depth=2).fit(X[:50], (X[:50, 0] > 0).astype(int))
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0}
    report = audit(stranger, Records(X, y), membership, **settings)
    assert report.difficulty.low > 0.6
    assert report.checks["difficulty"].is_warning and report.evidence == "shift"
    fair = audit(stranger, Records(X, (X[:, 0] > 0)), membership, **settings)
    assert fair.checks["difficulty"].status == "passed"


def test_difficulty_leaves_out_models_that_were_trained_on_the_record(problem):
    victim, records, membership = problem
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 8, "random_state": 0}
    report = audit(victim, records, membership, **settings)
    pool = ShadowPool(victim, 8, store="outputs", random_state=report.seeds["shadows"])
    pool.fit(records)
    evidence = pool.transform(records).astype(float)
    evidence[pool.membership(records)] = np.nan
    expected = auc_interval(membership, np.nanmean(evidence, axis=1), confidence_level=0.99)
    np.testing.assert_allclose(report.difficulty, expected, atol=1e-6)


@pytest.mark.slow
def test_no_leak_is_found_more_often_than_it_may_be():
    """A victim that knows none of the records is called leaky in one of twenty audits."""
    n_audits, found = 120, 0
    for seed in range(n_audits):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(240, 4))
        y = (X[:, 0] + rng.normal(size=240) > 0).astype(int)
        victim = DecisionTreeClassifier(random_state=seed).fit(X[200:], y[200:])
        records, membership = Records(X[:200], y[:200]), rng.permutation(200) % 2
        settings = {"shadows": 4, "fprs": (0.1,), "random_state": seed}
        found += audit(victim, records, membership, **settings).evidence == "leak"
    assert found / n_audits <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / n_audits)


def test_difficulty_counts_people(problem):
    victim, records, membership = problem
    rows = np.repeat(np.arange(100), 10)
    many = Records(records.X[rows], records.y[rows], group_by=rows)
    alone = Records(records.X[:100], records.y[:100])
    pools = [ShadowPool(victim, 8, random_state=0).fit(one) for one in (many, alone)]
    by_person = measure_difficulty(pools[0], many, (membership == 1)[rows])
    once = measure_difficulty(pools[1], alone, membership[:100] == 1)
    assert 0.7 < (by_person.high - by_person.low) / (once.high - once.low) < 1.4
