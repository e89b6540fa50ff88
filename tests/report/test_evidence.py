"""What an audit may be taken for: no more than the numbers and the checks bear."""

import numpy as np
import pandas as pd
import pytest

from skmia.report._evidence import Grounds, choose_evidence
from skmia.report._permutations import count_permutations
from skmia.report._verdict import (
    HEADLINES,
    choose_file_evidence,
    get_best_at_lowest_rate,
    keep_shared_checks,
    write_audit_verdict,
    write_file_verdict,
)
from skmia.report.checks._base import ERROR, NOT_RUN, PASSED, WARNING, Check

NAMES = (
    "model and table",
    "formats",
    "blind baseline",
    "difficulty",
    "drift",
    "negative control",
    "positive control",
    "duplicates",
    "shadow models",
    "permuted membership",
    "small groups",
    "person level",
    "people",
)


def make_checks(**statuses):
    return {
        name: Check(
            name,
            statuses.get(name.replace(" ", "_"), PASSED),
            "text",
            "stop" if name == "model and table" else "below",
        )
        for name in NAMES
    }


def make_frame(*rows):
    names = ["attack", "scope", "group", "estimate", "low", "high"]
    frame = pd.DataFrame(rows, columns=names)
    counts = {"n_members": 1000, "n_nonmembers": 1000}
    return frame.assign(metric="auc", status="ok", max_fpr=np.nan, fpr=np.nan, **counts)


def make_null(*rows, scope="overall", group="all"):
    names = ["attack", "metric", "max_fpr", "pvalue_adjusted", "pvalue_below"]
    return pd.DataFrame(rows, columns=names).assign(scope=scope, group=group)


NOTHING = make_frame(["a", "overall", "all", 0.51, 0.49, 0.53])
NULL = make_null(["a", "auc", np.nan, 0.2, 0.9])
MUCH = make_frame(["a", "overall", "all", 0.71, 0.69, 0.73])
FOUND = make_null(["a", "auc", np.nan, 0.001, 1.0])


def judge(frame, null, asked=("a",), level=0.95, **statuses):
    grounds = Grounds(frame, null, 999, make_checks(**statuses), level, list(asked))
    evidence = choose_evidence(grounds)
    verdict = write_audit_verdict(grounds, evidence)
    assert verdict.startswith(HEADLINES[evidence] + ". ")
    return evidence, verdict


def test_nothing_found_claims_no_absence():
    evidence, verdict = judge(NOTHING, NULL)
    assert evidence == "none"
    assert verdict.startswith("No leakage detected. No result is significant at the 5% level")
    assert "A stronger attack may still succeed." in verdict


def test_people_who_are_found_though_no_record_is_keep_the_verdict_open():
    assert judge(NOTHING, NULL, person_level=WARNING) == (
        "unknown",
        HEADLINES["unknown"] + ". text",
    )
    assert judge(NOTHING, NULL, person_level=ERROR)[0] == "unknown"
    assert judge(MUCH, FOUND, person_level=WARNING)[0] == "leak"


def test_leakage_is_named_with_its_interval_and_its_p_value():
    evidence, verdict = judge(MUCH, FOUND)
    assert evidence == "leak"
    assert "a ranks a random member above a random non-member with probability 0.710" in verdict
    assert "[0.690, 0.730]" in verdict and "this attack alone" in verdict


def test_a_p_value_at_its_floor_is_a_bound():
    assert "p ≤ 0.002)" in judge(MUCH, FOUND)[1]
    more = make_null(["a", "auc", np.nan, 0.0105, 1.0])
    assert "p = 0.021)" in judge(MUCH, more)[1]


def test_chance_is_judged_for_all_attacks_together():
    # One of many intervals lies above one half, which the corrected p-value takes into account.
    # Half of the 5% is for numbers below chance.
    frame = make_frame(*([str(k), "overall", "all", 0.53, 0.501, 0.56] for k in range(4)))
    null = make_null(*([str(k), "auc", np.nan, 0.03, 1.0] for k in range(4)))
    assert judge(frame, null)[0] == "none"


@pytest.mark.parametrize(
    "above, below, evidence",
    [(0.024, 1.0, "leak"), (0.026, 1.0, "none"), (1.0, 0.024, "reversed"), (1.0, 0.026, "none")],
)
def test_each_side_of_chance_has_half_of_the_level(above, below, evidence):
    assert judge(NOTHING, make_null(["a", "auc", np.nan, above, below]))[0] == evidence


@pytest.mark.parametrize(
    "above, below, evidence",
    [(0.05, 1.0, "leak"), (0.051, 1.0, "none"), (1.0, 0.05, "reversed"), (1.0, 0.051, "none")],
)
def test_half_of_a_level_is_reached_also_if_it_is_rounded(above, below, evidence):
    assert (1 - 0.9) / 2 < 0.05
    null = make_null(["a", "auc", np.nan, above, below])
    assert judge(NOTHING, null, level=0.9)[0] == evidence


@pytest.mark.parametrize("name", ["blind_baseline", "difficulty", "negative_control"])
def test_records_that_differ_by_themselves_are_no_leakage(name):
    evidence, verdict = judge(MUCH, FOUND, **{name: WARNING})
    assert evidence == "shift"
    assert "different populations" in verdict and "neither shows leakage nor" in verdict
    assert judge(NOTHING, NULL, **{name: WARNING})[0] == "shift"


def test_a_drift_is_described_by_its_check_and_never_a_leak():
    for frame, null in ((MUCH, FOUND), (NOTHING, NULL)):
        evidence, verdict = judge(frame, null, drift=WARNING)
        assert evidence == "shift"
        assert verdict == (
            f"{HEADLINES['shift']}. text Leakage and drift cannot be distinguished. Use members "
            "and non-members of one time and one source."
        )


def test_a_difference_comes_before_a_leak_a_reversal_and_an_open_question():
    frame = make_frame(["a", "overall", "all", 0.3, 0.2, 0.4])
    turned = make_null(["a", "auc", np.nan, 1.0, 0.001])
    assert judge(frame, turned)[0] == "reversed"
    for name in ("blind_baseline", "difficulty", "drift", "negative_control"):
        assert judge(frame, turned, **{name: WARNING})[0] == "shift"
        assert judge(MUCH, FOUND, **{name: WARNING}, positive_control=WARNING)[0] == "shift"
        assert judge(NOTHING, NULL, **{name: WARNING}, duplicates=WARNING)[0] == "shift"


def test_an_audit_of_before_a_check_was_added_keeps_its_verdict():
    checks = make_checks()
    del checks["drift"]
    for frame, null, evidence in ((MUCH, FOUND, "leak"), (NOTHING, NULL, "none")):
        assert choose_evidence(Grounds(frame, null, 999, checks, 0.95, ["a"])) == evidence


@pytest.mark.parametrize("name", ["blind baseline", "difficulty", "drift", "negative control"])
def test_the_verdict_on_a_file_names_the_difference_as_that_on_the_answers_does(name):
    checks = make_checks(**{name.replace(" ", "_"): WARNING})
    grounds = Grounds(MUCH, FOUND, 999, checks, 0.95, ["a"])
    verdict = write_file_verdict(grounds, FILE_FACTS)
    answers = write_audit_verdict(grounds, "shift")
    assert verdict == answers.replace("the AUC of a,", "the AUC from what it stores,")
    assert ("text" in verdict) == (name == "drift")


def test_a_model_that_does_not_know_the_table_comes_before_all_else():
    headline = "Inconclusive: model and table do not agree. text"
    for case in ((MUCH, FOUND), (NOTHING, NULL)):
        for others in ({}, {"formats": WARNING}, {"drift": WARNING}, {"duplicates": ERROR}):
            grounds = Grounds(
                *case, 999, make_checks(model_and_table=WARNING, **others), 0.95, ["a"]
            )
            assert choose_evidence(grounds) == "unknown"
            assert write_audit_verdict(grounds, "unknown") == headline
            assert write_file_verdict(grounds, FILE_FACTS) == headline


def test_another_way_of_writing_is_a_shift():
    for case in ((MUCH, FOUND), (NOTHING, NULL)):
        evidence, verdict = judge(*case, formats=WARNING)
        assert evidence == "shift" and "text Attacks that compare exact values" in verdict
    grounds = Grounds(MUCH, FOUND, 999, make_checks(formats=WARNING), 0.95, ["a"])
    assert "text Attacks that compare exact values" in write_file_verdict(grounds, FILE_FACTS)


def test_a_file_that_cannot_be_judged_for_its_records_says_so():
    grounds = Grounds(NOTHING, NULL, 999, make_checks(duplicates=WARNING), 0.95, ["a"])
    assert write_file_verdict(grounds, FILE_FACTS) == (
        "Inconclusive: the file could not be judged. Many records have an exact or near copy on "
        "the other side, and an attack scores copies alike."
    )


def test_nothing_is_said_where_nothing_could_be_found():
    evidence, verdict = judge(NOTHING, NULL, positive_control=WARNING)
    assert evidence == "unknown"
    assert "also failed on a model that had memorized" in verdict
    assert judge(NOTHING, NULL, positive_control=NOT_RUN)[0] == "none"
    evidence, verdict = judge(NOTHING, NULL, duplicates=WARNING)
    assert evidence == "unknown" and "copy on the other side" in verdict
    assert judge(MUCH, FOUND, duplicates=WARNING)[0] == "leak"
    assert judge(MUCH, FOUND, positive_control=WARNING)[0] == "leak"


def test_a_victim_that_is_attacked_worse_than_its_shadow_models_is_not_measured():
    assert judge(NOTHING, NULL, shadow_models=WARNING)[0] == "unknown"
    assert judge(MUCH, FOUND, shadow_models=WARNING)[0] == "leak"
    # One that is attacked better than they are was measured.
    checks = make_checks() | {"shadow models": Check("shadow models", WARNING, "text", "above")}
    assert choose_evidence(Grounds(NOTHING, NULL, 999, checks, 0.95, ["a"])) == "none"


def test_intervals_above_chance_are_counted():
    frame = make_frame(
        ["a", "overall", "all", 0.51, 0.49, 0.53],
        ["a", "race", "x", 0.60, 0.55, 0.65],
        ["a", "race", "y", 0.50, 0.45, 0.55],
    )
    assert "Of 3 pointwise intervals of the AUC" in judge(frame, NULL)[1]
    assert "1 lies above 0.5, where about 0.1 would" in judge(frame, NULL)[1]


def test_members_that_rank_below_are_a_reversal_and_not_turned():
    frame = make_frame(["a", "overall", "all", 0.3, 0.2, 0.4])
    evidence, verdict = judge(frame, make_null(["a", "auc", np.nan, 1.0, 0.001]))
    assert evidence == "reversed"
    assert "its AUC is 0.300 [0.200, 0.400]" in verdict
    assert "Were members and non-members swapped?" in verdict


def test_one_attack_the_right_way_round_is_leakage():
    frame = make_frame(
        ["a", "overall", "all", 0.3, 0.2, 0.4], ["b", "overall", "all", 0.7, 0.6, 0.8]
    )
    null = make_null(["a", "auc", np.nan, 1.0, 0.001], ["b", "auc", np.nan, 0.001, 1.0])
    evidence, verdict = judge(frame, null)
    assert evidence == "leak" and "The strongest of 2 attacks, b," in verdict


def test_few_members_that_stand_out_are_leakage():
    rate = make_frame(["a", "overall", "all", 0.05, 0.045, 0.055])
    frame = pd.concat([NOTHING, rate.assign(metric="tpr", max_fpr=0.01, fpr=0.0099)])
    null = make_null(["a", "auc", np.nan, 0.2, 0.9], ["a", "tpr", 0.01, 0.001, np.nan])
    evidence, verdict = judge(frame, null)
    assert evidence == "leak"
    assert "identifies 5.00% [4.50, 5.50] of the members, with 0.99% of the non-members" in verdict


def test_leakage_in_a_group_alone_names_the_group():
    frame = make_frame(
        ["a", "overall", "all", 0.51, 0.49, 0.53],
        ["a", "race", "x", 0.95, 0.8, 0.99],
        ["a", "race", "y", 0.50, 0.45, 0.55],
    )
    null = pd.concat(
        [
            NULL,
            make_null(["a", "auc", np.nan, 0.001, 1.0], scope="race", group="x"),
            make_null(["a", "auc", np.nan, 0.6, 1.0], scope="race", group="y"),
        ]
    )
    evidence, verdict = judge(frame, null)
    assert evidence == "leak"
    assert verdict.startswith("Leakage found. In race=x (1,000 members, 1,000 non-members) a ranks")
    assert "p ≤ 0.002 after correction for 3 results" in verdict
    assert "Over all records no result is significant: the highest AUC is 0.510" in verdict


def test_attacks_that_were_left_out_are_counted():
    verdict = judge(NOTHING, NULL, asked=["a", "b", "c", "d"])[1]
    assert verdict.startswith("No leakage detected. Only 1 of 4 attacks could run: a.")


def test_too_few_records_to_measure_anything():
    frame = NOTHING.assign(status="too few records", estimate=np.nan)
    evidence, verdict = judge(frame, NULL)
    assert evidence == "unknown" and "too few" in verdict
    other = frame.assign(attack="b")
    assert judge(pd.concat([MUCH, other]), FOUND, asked=["a", "b"])[0] == "leak"


def test_as_many_permutations_as_a_level_needs():
    assert count_permutations(0.95) == 999
    assert count_permutations(0.999) == 9_999
    assert count_permutations(0.9999) == 99_999
    with pytest.raises(ValueError, match="at most 0.9999 in an audit; .* 1,000,000 permutations"):
        count_permutations(0.99999)


# What is found where a check failed: a leak rests on some checks, its absence on more of them.
WITHOUT = {
    "blind_baseline": ("unknown", "unknown"),
    "difficulty": ("unknown", "unknown"),
    "drift": ("unknown", "unknown"),
    "negative_control": ("unknown", "unknown"),
    "permuted_membership": ("unknown", "unknown"),
    "positive_control": ("leak", "unknown"),
    "duplicates": ("leak", "unknown"),
    "shadow_models": ("leak", "unknown"),
    "small_groups": ("leak", "unknown"),
    "people": ("leak", "none"),
    "model_and_table": ("unknown", "unknown"),
    "formats": ("unknown", "unknown"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_check_that_failed_never_makes_the_verdict_milder(name):
    found, nothing = (judge(*case, **{name: ERROR}) for case in ((MUCH, FOUND), (NOTHING, NULL)))
    assert (found[0], nothing[0]) == WITHOUT[name]
    if nothing[0] == "unknown":
        assert f'depends on the check "{name.replace("_", " ")}". text' in nothing[1]


def test_a_shift_is_named_though_another_check_failed():
    assert judge(MUCH, FOUND, difficulty=WARNING, blind_baseline=ERROR)[0] == "shift"


FILE_FACTS = {
    "n_records": 2000,
    "n_members": 1000,
    "n_rows": 1250,
    "outsiders": 0.2,
    "reason": None,
    "obstacle": "Not read: half of it.",
    "sources": [
        {"name": "node equations", "auc": 0.62, "n_equations": 154, "path": "", "hits": None},
        {"name": "split thresholds", "auc": 0.51, "n_equations": None, "path": "", "hits": None},
    ],
}


@pytest.mark.parametrize(
    "low, headline, words",
    [
        (0.7, "Do not release this file. ", "In class=0 (1,000 members, 1,000 non-members), the "),
        (0.59, "The file leaks weakly. ", "chance is 0.5). Its trees store 154 sums over the "),
    ],
)
def test_a_file_is_not_to_be_released_if_it_gives_away_one_group(low, headline, words):
    everybody = ["a", "overall", "all", 0.58, 0.56, 0.6]
    frame = make_frame(everybody, ["a", "class", "0", 0.8, low, 0.9])
    leaks = make_null(["a", "auc", np.nan, 0.001, 1.0], scope="class", group="0")
    grounds = Grounds(frame, pd.concat([FOUND, leaks]), 999, make_checks(), 0.95, ["a"])
    verdict = write_file_verdict(grounds, FILE_FACTS)
    assert verdict.startswith(headline)
    assert words in verdict
    assert ("0.800" in verdict) == (low == 0.7)
    for number in (
        "2,000 candidates",
        "1,000 were members",
        "1,250 training rows, 20% of which are not",
    ):
        assert number in verdict


@pytest.mark.parametrize(
    "metric, max_fpr, low, is_severe",
    [
        ("auc", np.nan, 0.6, True),
        ("auc", np.nan, 0.599, False),
        ("tpr", 0.01, 0.05, True),
        ("tpr", 0.01, 0.049, False),
        ("tpr", 0.3, 1.0, False),  # there is no rate of five times this one
    ],
)
def test_a_file_is_judged_by_the_lower_ends(metric, max_fpr, low, is_severe):
    weak = make_frame(["a", "overall", "all", 0.57, 0.56, 0.58])
    row = make_frame(["a", "overall", "all", 1.0, low, 1.0])
    row = row.assign(metric=metric, max_fpr=max_fpr, fpr=max_fpr)
    frame = pd.concat([weak, row]) if metric == "tpr" else row
    grounds = Grounds(frame, FOUND, 999, make_checks(), 0.95, ["a"])
    headline = "Do not release this file. " if is_severe else "The file leaks weakly. "
    assert write_file_verdict(grounds, FILE_FACTS).startswith(headline)


def test_a_file_is_judged_by_the_checks_of_its_records():
    """Controls and shadow models of the answers say nothing of it, and groups were not asked."""
    names = ("positive_control", "shadow_models", "small_groups", "person_level")
    checks = keep_shared_checks(make_checks(**dict.fromkeys(names, WARNING), drift=WARNING))
    assert {name for name, check in checks.items() if check.is_warning} == {"drift"}
    assert set(NAMES) - set(checks) == {"small groups", "person level"}


@pytest.mark.parametrize(
    ("facts", "evidence"),
    [
        ({"obstacle": None}, ("leak", "none")),
        ({}, ("leak", "unknown")),
        ({"obstacle": None, "reason": "No attack reads it."}, ("unknown", "unknown")),
    ],
)
def test_an_obstacle_stands_against_none_alone(facts, evidence):
    for case, expected in zip(((MUCH, FOUND), (NOTHING, NULL)), evidence, strict=True):
        grounds = Grounds(*case, 999, make_checks(), 0.95, ["a"])
        assert choose_file_evidence(grounds, FILE_FACTS | facts) == expected


@pytest.mark.parametrize(("members", "others", "is_told"), [(0.2, 0.1, True), (0.1, 0.1, False)])
def test_values_of_members_in_a_file_are_told_where_nothing_else_is(members, others, is_told):
    hits = {"name": "stored values", "path": "", "hits": {"members": members, "nonmembers": others}}
    grounds = Grounds(NOTHING, NULL, 999, make_checks(), 0.95, ["a"])
    verdict = write_file_verdict(grounds, FILE_FACTS | {"sources": [hits]})
    assert ("Values of 20.0% of the members and 10.0% of the non-members" in verdict) == is_told
    assert ("Nothing was found in the rest of the file." in verdict) == (not is_told)


def test_the_strongest_attack_is_named_for_the_rate_that_is_asked_for():
    aucs = make_frame(
        ["a", "overall", "all", 0.80, 0.79, 0.81], ["b", "overall", "all", 0.78, 0.77, 0.79]
    )
    rates = [
        make_frame(
            ["a", "overall", "all", low, low / 2, 2 * low],
            ["b", "overall", "all", high, high / 2, 2 * high],
        ).assign(metric="tpr", max_fpr=rate, fpr=rate)
        for low, high, rate in ((0.3, 0.2, 0.01), (0.118, 0.171, 0.001))
    ]
    null = make_null(["a", "auc", np.nan, 0.001, 1.0], ["b", "auc", np.nan, 0.001, 1.0])
    beyond = [["b", "tpr", rate, 0.001, np.nan] for rate in (0.01, 0.001)]
    beyond += [["a", "tpr", rate, 0.001, np.nan] for rate in (0.01, 0.001)]
    frame = pd.concat([aucs, *rates])
    # A rate that may be chance after correction for all results names no attack.
    chance = make_null(*[[*row[:3], 0.04, np.nan] for row in beyond])
    assert "at most 0.1%" not in judge(frame, pd.concat([null, chance]))[1]
    null = pd.concat([null, make_null(*beyond)])
    verdict = judge(frame, null)[1]
    assert "The strongest of 2 attacks, a, ranks" in verdict
    assert "At a false positive rate of at most 0.1% b identifies 17" in verdict
    # Nothing is added where one attack leads both, and where no member is found at the lowest rate
    # the next one counts.
    assert "at most" not in judge(pd.concat([aucs, rates[0]]), null)[1]
    none = rates[1].assign(estimate=0.0)
    assert get_best_at_lowest_rate(pd.concat([*rates[:1], none, aucs]))["max_fpr"] == 0.01
    assert get_best_at_lowest_rate(pd.concat([aucs, none])) is None
