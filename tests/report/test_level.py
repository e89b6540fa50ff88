"""The level of a leak: its limits, its evidence, and that more leakage never lowers it."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skmia._core.levels import LIMITS, Level, set_level
from skmia.report._evidence import ReleaseRoute, make_grounds, measure_audit_level
from skmia.report._measure import COLUMNS
from skmia.report._screen import write_sentence
from skmia.report.checks._base import Check

ORDER = ["slight", "clear", "severe"]


def name_level(evidence="leak", **numbers):
    """The name of the level of numbers without an error."""
    level = set_level(evidence, {name: {"low": x, "estimate": x} for name, x in numbers.items()})
    return level.word


@pytest.mark.parametrize("name, which", [(name, word) for name in LIMITS for word in LIMITS[name]])
def test_a_level_begins_at_its_limit(name, which):
    limit = LIMITS[name][which]
    lower = [word for word in LIMITS[name] if ORDER.index(word) < ORDER.index(which)]
    below = max(lower, default="slight", key=ORDER.index)
    assert name_level(**{name: limit}) == which.capitalize()
    assert name_level(**{name: limit - 1e-6}) == below.capitalize()


def test_the_limits_are_those_of_the_guide():
    assert LIMITS["ratio"] == {"clear": 5, "severe": 20}
    assert LIMITS["auc"] == {"clear": 0.6, "severe": 0.8}
    assert LIMITS["excess"] == {"clear": 0.09, "severe": 0.33}
    assert LIMITS["rows"] == {"severe": 1}


@pytest.mark.parametrize("tpr, fpr, ratio", [(0.35, 0.07, 5), (0.05, 0.01, 5), (0.6, 0.03, 20)])
def test_a_quotient_of_rates_at_the_limit_reaches_it(tpr, fpr, ratio):
    expected = {5: "Clear", 20: "Severe"}[ratio]
    assert name_level(ratio=tpr / fpr) == expected


def test_one_number_is_enough():
    assert name_level(auc=0.99, ratio=1.0) == name_level(auc=0.5, ratio=99.0) == "Severe"


@pytest.mark.parametrize(
    "evidence, word",
    [
        ("leak", "Severe"),
        ("none", "None shown"),
        ("shift", "No verdict"),
        ("reversed", "No verdict"),
        ("unknown", "No verdict"),
    ],
)
def test_only_a_leak_opens_the_gate(evidence, word):
    assert name_level(evidence, auc=0.99, ratio=99.0) == word


def test_a_leak_without_numbers_over_all_records_is_slight():
    assert set_level("leak", {}) == Level("slight")


def test_an_estimate_beyond_its_lower_end_says_at_least():
    few = set_level("leak", {"auc": {"low": 0.61, "estimate": 0.85}})
    assert few.word == "At least clear" and few.heading == "At least clear leakage"
    assert set_level("leak", {"auc": {"low": 0.61, "estimate": 0.79}}).word == "Clear"


RATES = st.floats(0, 1)


@given(st.lists(RATES, min_size=4, max_size=4), RATES)
def test_more_leakage_or_a_narrower_interval_never_lowers_it(shares, more):
    auc_low, auc, ratio_low, ratio = shares
    numbers = {
        "auc": {"low": min(auc_low, auc), "estimate": max(auc_low, auc)},
        "ratio": {"low": 99 * min(ratio_low, ratio), "estimate": 99 * max(ratio_low, ratio)},
    }
    before = set_level("leak", numbers)
    for name in numbers:
        number = numbers[name]
        width = number["estimate"] - number["low"]
        narrower = number | {"low": number["low"] + more * width}
        moved = {end: value + more for end, value in number.items()}
        for changed in (narrower, moved):
            assert set_level("leak", numbers | {name: changed}).rank >= before.rank


def make_rows(rows):
    """Results of attacks and parts, each number with its interval, and all of them significant."""
    results, null = [], []
    for attack, scope, group, metric, max_fpr, estimate, low in rows:
        row = dict.fromkeys(COLUMNS, np.nan)
        high = 2 * estimate - low
        row |= {"attack": attack, "scope": scope, "group": group, "metric": metric}
        row |= {"max_fpr": max_fpr, "estimate": estimate, "low": low, "high": high}
        results.append(row | {"n_members": 500, "n_nonmembers": 500, "status": "ok"})
        null.append({**row, "pvalue": 0.001, "pvalue_adjusted": 0.001, "pvalue_below": np.nan})
    grounds = make_grounds(pd.DataFrame(results), None, {}, 0.95, ["a", "b"])
    return grounds._replace(null=pd.DataFrame(null))


def test_the_lower_end_is_corrected_for_the_attacks():
    one = [("a", "overall", "all", "auc", np.nan, 0.82, 0.8001)]
    assert measure_audit_level(make_rows(one), "leak").name == "severe"
    two = [*one, ("b", "overall", "all", "auc", np.nan, 0.5, 0.49)]
    level = measure_audit_level(make_rows(two), "leak")
    # By hand: 0.82 - 2.2414 / 1.96 * 0.0199, with the 98.75% point of the normal law.
    assert level.numbers["auc"]["low"] == pytest.approx(
        0.82 - 2.241403 / 1.959964 * 0.0199, abs=1e-6
    )
    assert level.word == "At least clear" and level.numbers["auc"]["attack"] == "a"


def test_the_ratio_is_the_largest_of_all_rates():
    rows = [
        ("a", "overall", "all", "auc", np.nan, 0.55, 0.54),
        ("a", "overall", "all", "tpr", 0.1, 0.3, 0.28),
        ("a", "overall", "all", "tpr", 0.01, 0.07, 0.06),
    ]
    level = measure_audit_level(make_rows(rows), "leak")
    assert level.name == "clear"
    assert level.numbers["ratio"] == pytest.approx(
        {"low": 6.0, "estimate": 7.0, "attack": "a", "max_fpr": 0.01}
    )


def test_a_group_has_its_own_level_only_where_it_leaks():
    rows = [
        ("a", "overall", "all", "auc", np.nan, 0.62, 0.61),
        ("a", "sex", "f", "auc", np.nan, 0.9, 0.88),
        ("a", "sex", "m", "auc", np.nan, 0.9, 0.88),
    ]
    grounds = make_rows(rows)
    grounds.null.loc[2, "pvalue_adjusted"] = 0.5
    level = measure_audit_level(grounds, "leak")
    assert level.name == "clear"
    assert [(one["group"], one["name"]) for one in level.groups] == [("f", "severe"), ("m", "none")]


def test_it_is_the_same_in_report_json_and_page(result):
    document = json.loads(result.to_json())
    level = result.service.level
    assert document["level"]["name"] == level.name
    assert document["page_level"] == result.level
    assert document["level"]["numbers"]["auc"]["attack"] in result.scores
    assert document["level"]["limits"] == {name: LIMITS[name] for name in ("ratio", "auc")}
    assert document["file"]["level"]["name"] == result.file.level.name
    highest = max(level, result.file.level, key=lambda one: one.order)
    assert result.level == highest and result.level > "slight"
    for way, one in {"as a service": level, "as a file": result.file.level}.items():
        assert f"**{one.heading}** {way}" in result.to_markdown()
        heading = one.heading.upper() if one.order == highest.order else one.heading.lower()
        assert f"{heading}   {way}" in result.summary()
    assert f"<h1>{highest.heading}</h1>" in result.to_html()


@pytest.mark.parametrize("check", ["model and table", "blind baseline"])
def test_a_check_that_forbids_a_verdict_forbids_a_level(check):
    grounds = make_rows([("a", "overall", "all", "auc", np.nan, 0.9, 0.88)])
    grounds.checks[check] = Check(check, "warning", "", "stop")
    evidence = {"model and table": "unknown", "blind baseline": "shift"}[check]
    assert measure_audit_level(grounds, evidence).word == "No verdict"


def test_a_leak_of_a_group_alone_is_told_of_the_group():
    rows = [
        ("a", "overall", "all", "auc", np.nan, 0.51, 0.5),
        ("a", "sex", "f", "auc", np.nan, 0.64, 0.59),
        ("a", "sex", "m", "auc", np.nan, 0.9, 0.4),
    ]
    grounds = make_rows(rows)
    grounds.null.loc[[0, 2], "pvalue_adjusted"] = 0.5
    level = measure_audit_level(grounds, "leak")
    assert not level.overall and level.word == "At least slight"
    route = ReleaseRoute("service", level, grounds.results.to_dict("records"))
    assert write_sentence([route], "leak", {}, None, "") == (
        "Over all records, attacks recognize no more than chance explains. In **sex: f**, a random "
        "member ranks above a random non-member 64 of 100 times: the leakage is at least slight."
    )


def write(level, tpr, auc, fpr=0.01, way="service", others=()):
    """The sentence on a route with these numbers, without emphasis."""
    rows = [("a", "overall", "all", "auc", np.nan, auc, auc - 0.01)]
    rows += [] if tpr is None else [("a", "overall", "all", "tpr", fpr, tpr, tpr - 0.001)]
    route = ReleaseRoute(way, Level(level), make_rows(rows).results.to_dict("records"))
    routes = sorted([route, *others], key=lambda route: route.way)
    return write_sentence(routes, "leak", {}, None, "").replace("**", ""), route


@pytest.mark.parametrize(
    "level, tpr, auc, fpr, text",
    [
        ("severe", 0.374, 0.9, 0.01, "can recognize 37 of 100 training records, and mistakes 1 of"),
        ("clear", 0.1, 0.65, 0.02, "can recognize 10 of 100 training records, and mistakes 2 of"),
        (
            "severe",
            0.03,
            0.85,
            0.01,
            "85 of 100 times. Few can be recognized with certainty: 3 of 100 members",
        ),
        (
            "severe",
            0.004,
            0.85,
            0.01,
            "None can be recognized with certainty: fewer than 1 of 100 members",
        ),
        ("severe", 0.09, 0.85, 0.001, "90 of 1,000 training records, and mistakes 1 of 1,000"),
        ("clear", None, 0.75, 0.01, "75 of 100 times. There are too few others to say how many"),
        (
            "slight",
            0.02,
            0.53,
            0.01,
            "recognizes 2 of 100 training records, when 1 of 100 others is",
        ),
        (
            "slight",
            0.03,
            0.53,
            0.02,
            "when 2 of 100 others are mistaken for one. This is more than",
        ),
        ("slight", 0.011, 0.53, 0.01, "53 of 100 times. This is more than chance, but too"),
        (
            "none",
            0.011,
            0.51,
            0.01,
            "One attack recognizes no more than chance explains: 1 of 100 training records, and at",
        ),
    ],
)
def test_each_state_has_its_sentence(level, tpr, auc, fpr, text):
    assert text in write(level, tpr, auc, fpr)[0]


def test_both_routes_are_in_one_sentence():
    _, service = write("clear", 0.1, 0.65)
    assert write("severe", 0.37, 0.9, way="file", others=[service])[0] == (
        "An attacker with the model file can recognize 37 of 100 training records, and mistakes "
        "1 of 100 others for one. From the answers alone, it is 10 of 100."
    )


@pytest.mark.parametrize(
    "evidence, check, begins",
    [
        (
            "shift",
            "blind baseline",
            "Members and non-members differ even without the model. They can be",
        ),
        ("shift", "drift", "Members and non-members differ even without the model: labels depend"),
        ("reversed", None, "The scores are the wrong way round."),
        ("unknown", "model and table", "Model and table do not agree."),
        ("unknown", "positive control", "Nothing could have been found."),
    ],
)
def test_without_a_verdict_the_reason_comes_first(evidence, check, begins):
    checks = {
        check: Check(check, "warning", "", "stop"),
        "shadow models": Check("shadow models", "", ""),
    }
    route = ReleaseRoute("service", Level("unknown"), [])
    text = write_sentence([route], evidence, checks, {"auc": 0.99}, "The reason.")
    assert text.replace("**", "").startswith(begins)
