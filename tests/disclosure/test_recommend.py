"""Each row of the table of recommendations, and what a number has to show."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.disclosure import (
    Condition,
    Measurement,
    StructuralCheck,
    load_policy,
    recommend,
    structural_checks,
)
from skmia.metrics import Interval, auc_interval, clopper_pearson

CAUTIOUS, RESEARCH = load_policy("cautious"), load_policy("research")
LOW, HIGH, OPEN = Interval(0.51, 0.48, 0.54), Interval(0.80, 0.76, 0.84), Interval(0.60, 0.5, 0.7)
TPR = Measurement("tpr_at_fpr_01", Interval(0.01, 0.005, 0.02))


# What both policies ask to have been able to find something.
ABLE = {"reference models": None, "stored numbers": None}


def make_check(name, status, value=None):
    return StructuralCheck(name, "both", status, value, None, None, "What was found.", "a source")


PASSED = [
    *(make_check(name, "passed", 20) for name in ("k", "small_cells", "smallest_leaf")),
    make_check("residual_dof", "passed", 50),
    *(
        make_check(name, "passed")
        for name in ("class_disclosure", "keeps_rows", "rules", "rounded_answers")
    ),
]


def change(name, status, value=None):
    return [make_check(name, status, value) if check.name == name else check for check in PASSED]


def decide(auc, checks=PASSED, policy=CAUTIOUS, release="file", further=(), **settings):
    measurements = [TPR, Measurement("auc", auc, n_records=400), *further]
    return recommend(policy, release, measurements, checks, **{"spoken": ABLE, **settings})


@pytest.mark.parametrize("policy", [CAUTIOUS, RESEARCH], ids=lambda policy: policy.name)
@pytest.mark.parametrize("release", ["file", "service"])
def test_all_pass(policy, release):
    found = decide(LOW, policy=policy, release=release)
    assert found.result == "release"
    assert found.reasons == ("All numbers are within their limits.",)
    assert found.to_review == found.conditions == found.remarks == ()


def test_limits_of_numbers_that_nobody_measures_or_gives_are_named():
    own = {"auc": 0.6, "gap": 0.05, "advantage": 0.01, "auc_high": 0.5, "tpr_at_fpr_01": 0.1}
    required = {"service": ("auc",)}
    policy = replace(CAUTIOUS, limits={"service": own}, required=required, structure={})
    given = Measurement("auc_high", (0.3, 0.2, 0.4))
    found = decide(LOW, (), policy, "service")
    assert found.result == "release"
    assert found.remarks == (
        "Nothing was compared with the policy's limits of advantage and auc_high.",
    )
    (remark,) = decide(LOW, (), policy, "service", [given]).remarks
    assert remark == "Nothing was compared with the policy's limit of advantage."
    given = [given, Measurement("advantage", (0.3, 0.2, 0.4))]
    assert decide(LOW, (), policy, "service", given).remarks == ()


def test_a_number_is_missing():
    found = recommend(CAUTIOUS, "file", [Measurement("auc", LOW)], PASSED, spoken=ABLE)
    assert found.result == "cannot be said"
    assert found.reasons == ("To be measured: tpr_at_fpr_01 (all).",)


def test_a_check_that_blocks_cannot_be_said():
    for status in ("cannot be said", None):
        checks = change("smallest_leaf", status) if status else PASSED[:2]
        found = decide(LOW, checks)
        assert found.result == "cannot be said"
        assert "smallest_leaf" in found.reasons[0]


@pytest.mark.parametrize("policy", [CAUTIOUS, RESEARCH], ids=lambda policy: policy.name)
@pytest.mark.parametrize("release", ["service", "file"])
def test_a_number_above_its_limit_decides_whatever_is_missing(policy, release):
    worse = Measurement("auc", (0.929, 0.9, 0.95))
    found = recommend(policy, release, [worse])
    assert found.result == "do not release"
    assert found.reasons[0].startswith("auc (all): 0.929")
    assert "To be measured: tpr_at_fpr_01 (all)." in found.reasons
    assert found.to_dict()["result"] == "do not release"
    # A number that does not fail decides nothing.
    assert recommend(policy, release, [Measurement("auc", LOW)]).result == "cannot be said"


@pytest.mark.parametrize("low", [inf, 3.5])
def test_a_number_without_end_is_above_its_limit(low):
    endless = Measurement("epsilon", (inf, low, inf))
    found = recommend(CAUTIOUS, "service", [Measurement("auc", LOW), TPR, endless], spoken=ABLE)
    (limit,) = [one for one in found.limits if one.name == "epsilon"]
    assert (limit.status, tuple(limit.interval)) == ("fail", (inf, low, inf))


def test_a_check_that_blocks_decides_whatever_is_missing():
    checks = change("keeps_rows", "flagged")
    found = recommend(CAUTIOUS, "file", [Measurement("auc", LOW)], checks, spoken=ABLE)
    assert found.result == "do not release"
    assert found.reasons[-1] == "To be measured: tpr_at_fpr_01 (all)."


def test_a_number_fails():
    found = decide(HIGH)
    assert found.result == "do not release"
    assert found.reasons == ("auc (all): 0.8 [0.76, 0.84], and the limit is 0.6.",)


def test_a_check_that_blocks_is_flagged():
    assert decide(LOW, change("keeps_rows", "flagged")).result == "do not release"
    assert decide(LOW, change("smallest_leaf", "passed", 9)).result == "do not release"
    # The number of the policy counts and not that of the report.
    assert decide(LOW, change("smallest_leaf", "flagged", 10)).result == "release"
    assert decide(LOW, change("smallest_leaf", "not applicable")).result == "release"


def test_flags_of_review_need_a_reason_each():
    found = decide(LOW, change("k", "passed", 3))
    assert found.result == "release"
    assert found.to_review == ("k",)
    assert found.to_dict()["reviews"] == [{"check": "k", "reason": ""}]
    assert decide(LOW, change("residual_dof", "cannot be said")).to_review == ("residual_dof",)
    assert decide(LOW, change("residual_dof", "flagged", -5), RESEARCH).to_review == ()


@pytest.mark.parametrize("said", [(), ("same_records",), ("adapted",), ("same_records", "adapted")])
def test_a_condition_counts_if_it_is_said_to_be_adapted_and_of_the_same_records(said):
    assert Condition("x", [TPR], **dict.fromkeys(said, True)).counts == (len(said) == 2)


def under(auc, cost, **settings):
    settings = {"same_records": True, "adapted": True, **settings}
    measurements = [TPR, Measurement("auc", auc)]
    return Condition(f"rounded at {cost}", measurements, cost=cost, **settings)


def test_a_measured_condition_helps():
    conditions = [under(LOW, 3), under(LOW, 2), under(HIGH, 1)]
    found = decide(HIGH, conditions=conditions)
    assert found.result == "release with conditions"
    assert found.conditions == ("rounded at 2",)
    assert [limit.status for limit in found.under_conditions] == ["pass", "pass"]
    assert "auc (all): 0.8" in found.reasons[0]


ACCESS = "access under agreement, reviewed when more records are known"


@pytest.mark.parametrize(("policy", "helps"), [(CAUTIOUS, False), (RESEARCH, True)])
def test_a_condition_that_stays_open_needs_an_agreement_where_the_policy_knows_one(policy, helps):
    near = Interval(0.62, 0.55, 0.69)  # around the limits of both
    conditions = [under(HIGH, 1, checks=PASSED), under(near, 2, checks=PASSED)]
    blocked = change("keeps_rows", "flagged")
    found = decide(LOW, blocked, policy=policy, conditions=conditions)
    assert found.result == ("release with conditions" if helps else "do not release")
    assert found.conditions == (("rounded at 2", ACCESS) if helps else ())
    first, second = found.list_tried()
    assert first.startswith("rounded at 1: does not suffice. auc (all): 0.8 [")
    if helps:  # with the number that is nearest to its limit
        assert second.startswith("rounded at 2: suffices. auc (all): 0.62 [")
        assert second == f"rounded at 2: {found.to_dict()['tried'][1]['text']}"
    else:
        assert second.startswith("rounded at 2: does not suffice. auc (all): 0.62 [")


@pytest.mark.parametrize("release", ["file", "service"])
def test_checks_of_another_way_of_release_do_not_count(release):
    other = {"file": "service", "service": "file"}[release]
    own = [replace(check, release=release) for check in PASSED]
    flagged = [replace(check, release=other, status="flagged", value=1) for check in PASSED]
    assert decide(LOW, [*flagged, *own, *flagged], release=release).result == "release"
    found = decide(LOW, flagged, release=release)
    assert {check.status for check in found.checks} == {"missing"}


@pytest.mark.parametrize(
    "condition",
    [
        under(LOW, 1, same_records=False),
        under(LOW, 1, adapted=False),
        under(HIGH, 1),
        under(OPEN, 1),
        under(LOW, 1, checks=change("keeps_rows", "flagged")),
        replace(under(LOW, 1), measurements=[Measurement("auc", LOW)]),
    ],
    ids=["other records", "not adapted", "fails", "open", "blocked", "half measured"],
)
def test_a_condition_that_does_not_count(condition):
    assert decide(HIGH, conditions=[condition]).result == "do not release"


def test_trying_many_conditions_makes_intervals_wider():
    near = Interval(0.56, 0.52, 0.60)  # of the level of the policy; passes alone
    limit = {"file": {"auc": 0.6, "tpr_at_fpr_01": 0.05}}
    policy = replace(CAUTIOUS, limits=limit)
    few = decide(HIGH, policy=policy, conditions=[under(near, 1)])
    many = decide(HIGH, policy=policy, conditions=[under(near, 1), under(HIGH, 2)])
    assert few.result == "release with conditions"
    assert many.result == "do not release"
    high = 0.56 + 0.04 * stats.norm.ppf(1 - CAUTIOUS.alpha / 4) / stats.norm.ppf(
        1 - CAUTIOUS.alpha / 2
    )
    auc = next(limit for limit in many.tried[0].limits if limit.name == "auc")
    assert auc.interval.high == pytest.approx(high)
    assert "auc (all): 0.56" in many.tried[0].reasons[0]


def test_a_condition_with_another_way_of_release_has_its_limits():
    limits = {"file": {"auc": 0.6, "tpr_at_fpr_01": 0.05}, "service": {"auc": 0.9}}
    policy = replace(CAUTIOUS, limits=limits, required={})
    blocked = change("keeps_rows", "flagged")
    service = replace(under(HIGH, 1), release="service")
    found = decide(HIGH, blocked, policy=policy, conditions=[service])
    assert found.result == "release with conditions"
    assert found.tried[0].release == "service"


def test_a_condition_can_lift_a_block():
    blocked, lifted = change("keeps_rows", "flagged"), under(LOW, 1, checks=PASSED)
    found = decide(LOW, blocked, conditions=[lifted])
    assert found.result == "release with conditions"
    assert decide(LOW, blocked, conditions=[under(LOW, 1)]).result == "do not release"


def test_an_undecided_number():
    found = decide(Interval(0.58, 0.54, 0.62))
    assert found.result == "cannot be said"
    assert found.reasons[0].endswith("About 1,600 records would decide.")  # half the width
    above = decide(Interval(0.62, 0.58, 0.66))
    assert above.reasons[0].endswith("About 1,600 records would decide.")
    found = decide(Interval(0.63, 0.6, 0.66), policy=RESEARCH)
    assert found.result == "release with conditions"
    assert "access under agreement" in found.conditions[0]


def test_a_pass_of_structure_alone_is_never_a_release():
    assert recommend(CAUTIOUS, "file", [], PASSED).result == "cannot be said"
    lax = replace(CAUTIOUS, required={})
    assert recommend(lax, "file", [], PASSED).result == "cannot be said"


def test_groups_count_where_they_are_large_enough():
    group = Measurement("auc", HIGH, "sex=f", n_records=99)
    tpr = replace(TPR, group="sex=f")
    found = decide(LOW, further=[group])
    assert found.result == "release"
    assert found.limits[-1].status == "not judged"
    group = replace(group, n_records=100)
    found = decide(LOW, further=[group])  # its other number is missing
    assert found.result == "do not release"
    assert found.limits[-1].status == "not judged"
    assert decide(LOW, further=[group, tpr]).result == "do not release"
    assert (
        decide(LOW, further=[group], policy=replace(CAUTIOUS, groups=("all",))).result == "release"
    )
    # Groups alone are judged, so that the numbers of all records are not missing.
    own = replace(CAUTIOUS, groups=("each",))
    low = [replace(one, group="sex=f", n_records=100) for one in (Measurement("auc", LOW), TPR)]
    found = decide(LOW, further=low, policy=own)
    assert found.result == "release" and {one.group for one in found.limits} == {"sex=f"}
    assert decide(LOW, policy=own).result == "cannot be said"


def test_lower_ends_are_corrected_for_all_that_were_looked_at():
    rng = np.random.default_rng(0)
    bits, scores = np.arange(400) < 200, rng.normal(size=400)

    def measure(group, shift):
        shifted = scores + shift * bits
        return Measurement(
            "auc", lambda level: auc_interval(bits, shifted, confidence_level=level), group
        )

    policy = replace(CAUTIOUS, required={})
    for shift in np.linspace(0.4, 0.9, 6):
        first = measure("all", shift)
        low = first.at(0.95, 0.95).low
        alone = recommend(policy, "file", [first], PASSED).limits[0].status
        assert (alone == "fail") == (low > 0.6)
        others = [measure(f"g={k}", 0) for k in range(9)]
        corrected = recommend(policy, "file", [first, *others], PASSED).limits[0].status
        assert (corrected == "fail") == (first.at(1 - 0.05 / 10, 0.95).low > 0.6)


def test_holm_is_that_of_statsmodels():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    rng = np.random.default_rng(0)
    policy = replace(CAUTIOUS, required={})
    for _ in range(20):
        z = rng.normal(1.5, 1.5, size=6)
        numbers = [
            Measurement("auc", Interval(0.6 + d / 100, 0.6 + (d - 1.96) / 100, 1.0), f"g={k}")
            for k, d in enumerate(z)
        ]
        found = recommend(policy, "file", numbers, PASSED).limits
        expected = multipletests(2 * stats.norm.sf(np.maximum(z, 0)), 0.05, "holm")[0]
        assert [limit.status == "fail" for limit in found] == list(expected)


def test_no_hits_of_72_rows_are_below_one_in_twenty():
    for n_rows, result in ((71, "cannot be said"), (72, "release")):
        tpr = Measurement(
            "tpr_at_fpr_01",
            lambda level, n=n_rows: (0.0, *clopper_pearson(0, n, confidence_level=level)),
        )
        measurements = [tpr, Measurement("auc", LOW)]
        assert recommend(CAUTIOUS, "file", measurements, PASSED, spoken=ABLE).result == result


def test_bounds_from_below_have_one_end():
    further = [Measurement("epsilon_lower", Interval(0.4, 0.4, 0.4))]
    assert decide(LOW, further=further).result == "release"
    further = [Measurement("epsilon_lower", Interval(1.2, 1.2, 1.2))]
    assert decide(LOW, further=further).result == "do not release"


@pytest.mark.parametrize(
    ("name", "interval", "limit", "statuses"),
    [
        ("epsilon_lower", Interval(1.2, 1.01, 1.35), 1.0, ["fail"] * 3),
        ("epsilon_lower", Interval(1.2, 0.99, 1.35), 1.0, ["pass"] * 3),
        ("auc", Interval(0.5, 0.46, 0.59), 0.6, ["pass", "undecided", "undecided"]),
    ],
    ids=["bound above", "bound below", "estimate"],
)
def test_trying_more_conditions_never_makes_a_number_pass(name, interval, limit, statuses):
    # Of two numbers neither fails by its lower end alone, which Holm's procedure widens.
    limits = {"file": {name: limit, "tpr_at_fpr_01": 0.5}}
    policy = replace(CAUTIOUS, limits=limits, required={}, groups=("all",))
    tried = Condition("x", [Measurement(name, interval), TPR], same_records=True, adapted=True)
    for n_tried, status in zip((1, 2, 20), statuses):
        conditions = [replace(tried, name=f"x{k}") for k in range(n_tried)]
        high = [Measurement(name, Interval(*np.add(interval, limit))), TPR]
        settings = {"conditions": conditions, "spoken": ABLE}
        found = recommend(policy, "file", high, PASSED, **settings)
        assert {one.limits[0].status for one in found.tried} == {status}
        assert (found.result == "release with conditions") == (status == "pass")


def test_a_synthetic_table_needs_a_holdout():
    names = "singling_out", "linkability", "inference"
    risks = [Measurement(name, Interval(0.01, -0.02, 0.04)) for name in names]
    assert recommend(CAUTIOUS, "table", risks).result == "cannot be said"
    compared = [
        Measurement("privacy_loss", Interval(0.0, -0.01, 0.01)),
        Measurement("exact_rare_copies", Interval(0.002, -0.001, 0.005)),
    ]
    found = recommend(CAUTIOUS, "table", [*risks, *compared])
    assert (found.result, found.remarks) == ("release", ())
    copied = [compared[0], Measurement("exact_rare_copies", Interval(0.02, 0.01, 0.03))]
    assert recommend(CAUTIOUS, "table", [*risks, *copied]).result == "do not release"


def test_a_form_can_be_signed_and_repeated():
    found = decide(LOW, provenance={"command": "skmia audit", "model": "ab" * 32})
    document = json.loads(json.dumps(found.to_dict()))
    assert document["policy"]["sha256"] == CAUTIOUS.sha256
    assert document["provenance"]["command"] == "skmia audit"
    assert document["not_asked"] == ["service", "table"]
    assert document["provenance"]["recipients"] == ""  # to be filled in
    assert {entry["name"] for entry in document["signatures"]} == {""}
    assert "by the policy cautious: release" in str(found)


def test_checks_of_a_model_are_read_as_they_are():
    records = Records(np.arange(400)[:, None] // 200, np.arange(400) % 2)
    model = DecisionTreeClassifier(min_samples_leaf=20).fit(records.X, records.y)
    settings = {"thresholds": CAUTIOUS.thresholds("file"), "rules": CAUTIOUS.rules("file")}
    report = structural_checks(model, records, **settings)
    assert decide(LOW, report.checks).result == "release"
    assert decide(LOW, report.checks, release="service").result == "release"


def try_condition(condition=None, *, measurements=(TPR,), **settings):
    if condition is None:
        condition = Condition("x", measurements, same_records=True, adapted=True, **settings)
    return recommend(CAUTIOUS, "file", [TPR], PASSED, conditions=[condition])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: recommend(CAUTIOUS, "film", []), "release must be one of 'file', 'service'"),
        (lambda: recommend(CAUTIOUS, "file", [0.5]), "measurements must hold Measurement; got 0.5"),
        (lambda: recommend(CAUTIOUS, "file", [TPR, TPR]), "must hold tpr_at_fpr_01 of 'all' once"),
        (
            lambda: decide(Interval(0.5, 0.6, 0.7)),
            "The interval of auc must be .estimate, low, high.",
        ),
        (lambda: decide(0.5), "The interval of auc must be"),
        (lambda: decide(LOW, change("k", "passed", "many")), "k must have a number; got 'many'"),
        (lambda: try_condition(5), "conditions must hold Condition; got 5"),
        (lambda: try_condition(cost=np.nan), "cost of the condition 'x' must be a finite number"),
        (lambda: try_condition(release="film"), "release of the condition 'x' must be one of"),
        (lambda: try_condition(measurements=[5]), "measurements must hold Measurement; got 5"),
    ],
    ids=[
        *("release", "kind", "twice", "order", "number", "value"),
        *("condition", "cost", "way of release", "measured"),
    ],
)
def test_mistakes_are_one_sentence(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_limits_changed_in_place_do_not_pass_for_those_that_were_read():
    policy = load_policy("cautious")
    policy.limits["service"]["auc"] = 0.99
    found = decide(LOW, policy=policy)
    assert "by the policy cautious (changed): release" in str(found)
    assert found.to_dict()["policy"]["sha256"] == ""


LACKS = {"reference models": "LiRA could not run.", "stored numbers": None}


@pytest.mark.parametrize("policy", [CAUTIOUS, RESEARCH], ids=lambda policy: policy.name)
def test_what_was_not_able_to_speak_is_no_release(policy):
    needs = "The policy asks for an attack that compares with reference models. LiRA could not run."
    found = decide(LOW, policy=policy, release="service", spoken=LACKS)
    assert (found.result, found.reasons) == ("cannot be said", (needs,))
    assert [(one.name, one.is_met, one.text) for one in found.requirements] == [
        ("reference models", False, needs),
        ("all training rows", True, ""),
    ]
    assert found.to_dict()["requirements"][0]["text"] == needs
    # One number above its limit is enough, whatever else could not run.
    assert decide(HIGH, policy=policy, release="service", spoken=LACKS).result == "do not release"
    undecided = decide(OPEN, policy=policy, release="service", spoken=LACKS)
    assert undecided.result == "cannot be said" and undecided.reasons[-1] == needs
    assert undecided.reasons[0].startswith("auc (all): 0.6 ")
    assert undecided.conditions == ()


@pytest.mark.parametrize("policy", [CAUTIOUS, RESEARCH], ids=lambda policy: policy.name)
@pytest.mark.parametrize("release", ["service", "file"])
def test_training_rows_that_are_not_listed_are_no_release(policy, release):
    why = "500 rows of the training set are not in this audit."
    unlisted = ABLE | {"all training rows": why}
    found = decide(LOW, policy=policy, release=release, spoken=unlisted)
    needs = f"The policy asks for all training rows among the members. {why}"
    assert (found.result, found.reasons) == ("cannot be said", (needs,))
    assert decide(LOW, policy=policy, release=release, spoken=ABLE).result == "release"
    assert decide(HIGH, policy=policy, release=release, spoken=unlisted).result == "do not release"


def test_a_file_needs_both_and_what_is_not_said_was_not_able():
    for spoken, n_unmet in ((ABLE, 0), (LACKS, 1), ({}, 2), (None, 2)):
        found = decide(LOW, spoken=spoken)
        assert sum(not one.is_met for one in found.requirements) == n_unmet
        assert (found.result == "release") == (n_unmet == 0)
    stored = decide(LOW, spoken=ABLE | {"stored numbers": "Not read: coef_ (5 numbers)."})
    assert stored.reasons == (
        "The policy asks for an attack on every stored number. Not read: coef_ (5 numbers).",
    )


def test_a_condition_needs_what_its_way_of_release_needs():
    unread = ABLE | {"stored numbers": "Not read: coef_ (5 numbers)."}
    for way, spoken, result in (
        (None, ABLE, "release with conditions"),
        (None, unread, "do not release"),
        ("service", unread, "release with conditions"),
        ("service", ABLE | LACKS, "do not release"),
    ):
        found = decide(HIGH, conditions=[under(LOW, 1, release=way)], spoken=spoken)
        assert found.result == result
        assert found.tried[0].helps == (result == "release with conditions")


def test_a_waived_rule_is_said():
    waived = replace(CAUTIOUS, requires_attacks={"service": ()})
    found = decide(LOW, policy=waived, release="service", spoken=None)
    assert found.result == "release" and found.requirements == ()
    assert found.remarks == ("The policy waives the rule on attacks (requires_attacks is empty).",)
    assert found.remarks[0] in str(found)
    assert decide(LOW, policy=waived, spoken=None).result == "cannot be said"  # as a file


@pytest.mark.parametrize(
    ("spoken", "error", "message"),
    [
        (["reference models"], TypeError, "spoken must be a mapping of texts or None"),
        ({"models": None}, ValueError, "each name in spoken must be one of"),
        ({"stored numbers": False}, TypeError, "must be None or a sentence; got False"),
        ({"stored numbers": ""}, TypeError, "must be None or a sentence"),
    ],
)
def test_what_spoken_must_be(spoken, error, message):
    with pytest.raises(error, match=message):
        decide(LOW, spoken=spoken)


@parametrize_refusals(
    (lambda: decide(LOW, provenance={"who": 1}), "mapping of texts; got 1 for 'who'", TypeError),
    (lambda: decide(LOW, provenance={1: "who"}), "mapping of texts; got 'who' for 1", TypeError),
    (lambda: decide(LOW, provenance=["who"]), r"mapping of texts; got \['who'\]", TypeError),
)
def test_what_provenance_must_be(call, words, error):
    check_refusal(call, words, error)
