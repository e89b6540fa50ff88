"""Shadow models in the victim's place: power against their number, and unequal groups."""

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import audit


@pytest.fixture(scope="module")
def report():
    """Labels of the second group are noise, which a tree learns by heart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    noisy = rng.random(600) < 0.5
    y = np.where(noisy, rng.integers(0, 2, 600), X[:, 0] > 0)
    records = Records(
        X, y, kind=np.where(noisy, "noise", "rule"), region=rng.choice(list("ab"), 600)
    )
    return audit(
        DecisionTreeClassifier(random_state=0),
        records,
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
    assert kind["n_rounds"] == 16 and kind["df"] == [1, 15]
    assert not tests["region"]["reject"]
    text = report.summary().replace("\n  ", " ")
    assert "differs between the groups of kind" in text
    assert "does not differ detectably between the groups of region" in text
    assert "groups of class" not in text  # nobody asked


def test_power_is_that_of_power_curve(problem):
    victim, records, membership = problem
    report = audit(victim, records, membership, shadows=16, random_state=0, attacks={"L": LiRA()})
    assert report.power["attack"] == "L"
    numbers = report.power["numbers"]
    assert [row["n_shadows"] for row in numbers] == [2, 6, 14]
    again = audit(victim, records, membership, shadows=16, random_state=0, attacks={"L": LiRA()})
    assert again.power == report.power


def test_victim_unlike_its_shadow_models_is_a_warning(problem):
    _, records, membership = problem
    members = records[membership == 1]
    stump = DecisionTreeClassifier(max_depth=1).fit(members.X, members.y)
    settings = {"shadows": 8, "random_state": 0}
    report = audit(stump, records, membership, estimator=DecisionTreeClassifier(), **settings)
    assert report.checks["shadow models"].is_warning
    same = audit(stump, records, membership, **settings)
    assert same.checks["shadow models"].status == "passed"


def test_without_shadow_models_nothing_is_repeated(problem):
    report = audit(*problem, attacks={"t": ThresholdAttack()})
    assert report.power is None and report.disparity is None
    assert report.checks["shadow models"].status == "not run"
    assert json.loads(report.to_json())["power"] is None


def test_group_too_small_takes_no_part_and_is_named(problem):
    victim, records, membership = problem
    who = np.array(["one"] + ["many"] * 200 + ["others"] * 199)
    report = audit(
        victim, records.with_fields(who=who), membership, shadows=8, group="who", random_state=0
    )
    test = report.disparity["scopes"][0]
    assert test["left_out"] == ["one"]
    assert [group["group"] for group in test["groups"]] == ["many", "others"]
    assert "Too small to take part: one." in report.summary().replace("\n  ", " ")
