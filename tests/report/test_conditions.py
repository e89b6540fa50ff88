"""Conditions of a release, measured on the model that was audited."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.disclosure import load_policy
from skmia.report import list_measurements, measure_conditions, recommend_release
from skmia.report._document import check_document
from skmia.report._page import render_audit
from skmia.report._release import _holds_answers
from skmia.victims import CallableVictim

pytestmark = pytest.mark.usefixtures("attacks_alone")

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6))
CLEAR = (X[:, 0] > 0).astype(int)  # labels are predicted as well as those of members
NOISY = np.where(RNG.random(N) < 0.3, 1 - CLEAR, CLEAR)
MEMBERS = RNG.permutation(N) < N // 2
POLICY = replace(
    load_policy("research"),
    limits={way: {"auc": 0.65} for way in ("service", "file")},
    required=dict.fromkeys(("service", "file"), ("auc",)),
    structure={},
    groups=("all",),
)
CHANGED = ["answers rounded to 2 decimals", "answers rounded to 1 decimal", "labels alone"]
SERVICE = "a service in place of the file"


def decide(model, y, release, **settings):
    records = Records(X, y)
    model = model.fit(X[MEMBERS], y[MEMBERS])
    settings = {"shadows": 8, "fprs": [0.1], "random_state": 0} | settings
    report = audit(model, records, MEMBERS, **settings)
    asked = {"policy": POLICY, "release": release}
    conditions = measure_conditions(report, model, records, **asked)
    found = recommend_release(report, model, records, conditions=conditions, **asked)
    return report, conditions, found


@pytest.fixture(scope="module")
def leaky():
    """A forest whose answers leak and whose labels do not."""
    attacks = {"LiRA": LiRA()}
    forest = RandomForestClassifier(5, max_features=1, random_state=0)
    return decide(forest, CLEAR, "file", attacks=attacks)


def test_labels_alone_help_where_only_answers_leak(leaky):
    _, conditions, found = leaky
    assert {condition.name for condition in conditions} == {
        "a file without the state that predictions do not use",
        SERVICE,
        *(f"{SERVICE}, {name}" for name in CHANGED),
    }
    assert found.result == "release with conditions"
    assert found.conditions == (f"{SERVICE}, labels alone",)
    assert [condition.helps for condition in found.tried] == [False] * 4 + [True]
    assert [condition.release for condition in found.tried] == ["file"] + ["service"] * 4
    (under,) = found.under_conditions
    assert under.status == "pass"
    assert under.interval.high <= 0.65 < found.limits[0].interval.low


def test_the_generalization_gap_is_measured_under_each_condition(leaky):
    report, conditions, _ = leaky
    model = RandomForestClassifier(5, max_features=1, random_state=0)
    model.fit(X[MEMBERS], CLEAR[MEMBERS])
    records, gaps = Records(X, CLEAR), {}
    for condition in conditions:
        (number,) = (part for part in condition.measurements if part.name == "gap")
        gaps[condition.name] = number.at(0.95, 0.95).estimate
    wrong = model.predict(X) != CLEAR
    labels = wrong[~MEMBERS].mean() - wrong[MEMBERS].mean()
    assert gaps[f"{SERVICE}, labels alone"] == pytest.approx(labels)
    assert gaps[SERVICE] > labels
    policy = replace(POLICY, limits={way: {"auc": 0.65, "gap": 0.2} for way in POLICY.limits})
    found = recommend_release(
        report, model, records, policy=policy, release="file", conditions=conditions
    )
    assert found.result == "release with conditions"
    assert {limit.name for limit in found.under_conditions} == {"auc", "gap"}


def test_what_was_measured_stands_in_each_form(leaky):
    report, _, found = leaky
    report = replace(report, recommendation=found)
    document = check_document(json.loads(report.to_json()))
    assert [part["helps"] for part in document["recommendation"]["tried"]] == [False] * 4 + [True]
    for text in (report.summary(), report.to_markdown()):
        assert "labels alone: suffices." in " ".join(text.split())
    page = pytest.importorskip("jinja2") and render_audit(document)
    assert "Conditions under which this model was measured again" in page
    document["recommendation"]["tried"][-1]["limits"][0]["limit"] = 0.1
    with pytest.raises(ValueError, match="auc does not pass its limit"):
        check_document(document)


@pytest.mark.slow  # four of five conditions do not help in the test above
def test_nothing_helps_where_labels_leak():
    tree, attacks = DecisionTreeClassifier(random_state=0), {"LiRA": LiRA()}
    _, conditions, found = decide(tree, NOISY, "service", file=False, attacks=attacks)
    assert [condition.name for condition in conditions] == CHANGED
    assert found.result == "do not release"
    assert found.conditions == found.under_conditions == ()
    assert [condition.helps for condition in found.tried] == [False] * 3
    assert all("auc" in condition.reasons[0] for condition in found.tried)
    # A tree is certain of its answers, and rounding does not change them.
    assert [condition.cost for condition in conditions] == [0, 0, 0]


def list_numbers(measurements):
    return {(one.name, one.group): one.interval(0.95) for one in measurements if one.name != "gap"}


def test_conditions_are_measured_by_the_attacks_of_the_audit():
    tree = DecisionTreeClassifier(max_features=1, random_state=0)
    attacks = {"RMIA": RMIA(), "pooled": LiRA(variance="pooled")}
    settings = {"file": False, "attacks": attacks, "fprs": [1.0, 0.1], "shadows": 4}
    report, conditions, _ = decide(tree, CLEAR, "service", **settings)
    assert report.attacks.keys() == attacks.keys()
    numbers = list_numbers(list_measurements(report))
    assert {name for name, _ in numbers} == {"auc", "tpr_at_fpr_1"}
    # A tree is certain of its answers, which no condition changes.
    assert len(conditions) == 3 and all(condition.counts for condition in conditions)
    assert all(list_numbers(condition.measurements) == numbers for condition in conditions)


def test_the_default_attacks_stand_in_for_one_that_cannot_use_the_changed_answers():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    settings = {"file": False, "attacks": {"RMIA": RMIA()}, "shadows": 4}
    report, conditions, _ = decide(tree, NOISY, "service", **settings)
    assert [condition.name for condition in conditions] == CHANGED
    assert all(condition.counts for condition in conditions)
    auc = [list_numbers(one.measurements)["auc", "all"].estimate for one in conditions]
    assert 0.55 < auc[2] < auc[0]  # labels of a tree of noisy labels leak less than its answers
    assert report.settings["attacks"] == {"RMIA": "RMIA()"}


def test_a_condition_does_not_count_if_an_attack_brings_answers_that_do_not_change():
    own = ThresholdAttack(FrozenEstimator(DecisionTreeClassifier(max_depth=3).fit(X, CLEAR)))
    settings = {"file": False, "attacks": {"LiRA": LiRA(), "own": own}, "shadows": 4}
    _, conditions, _ = decide(LinearSVC(), CLEAR, "service", **settings)
    assert [condition.adapted for condition in conditions] == [False]
    records = Records(X, CLEAR)
    assert _holds_answers(LiRA(shadows=4))
    assert _holds_answers(RMIA(population=records.with_outputs(own.victim)))
    assert not _holds_answers(RMIA(population=records))


@pytest.mark.parametrize(
    ("model", "y", "names"),
    [
        (LinearSVC(), NOISY, ["labels alone"]),
        (LinearRegression(), X @ np.arange(6.0) + RNG.normal(size=N), []),
    ],
    ids=["decision values", "regressor"],
)
def test_changes_that_the_answers_allow(model, y, names):
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "file": False}
    _, conditions, _ = decide(model, y, "service", **settings)
    assert [condition.name for condition in conditions] == names


def test_answers_that_are_rounded_already(leaky):
    report, _, _ = leaky
    model = RandomForestClassifier(5, max_features=1, random_state=0)
    model.fit(X[MEMBERS], CLEAR[MEMBERS])
    few = replace(report, settings=report.settings | {"n_shadows": 0})
    assert measure_conditions(few, model, Records(X, CLEAR), decimals=1) == []
    with pytest.raises(ValueError, match="must be the 300 of the audit; got 10"):
        measure_conditions(report, model, Records(X, CLEAR)[:10])


WRONG = {
    "decimals below 0": ({"decimals": -1}, "decimals must be an integer from 0 to 17; got -1"),
    "several decimals": ({"decimals": (2, None)}, r"from 0 to 17; got \(2, None\)"),
    "decimals as text": ({"decimals": "2"}, "from 0 to 17; got '2'"),
    "decimals as a truth": ({"decimals": True}, "from 0 to 17; got True"),
    "no report": ({"report": None}, "report must be an AuditReport, as audit returns it; got None"),
    "a model that is none": ({"model": "forest"}, "model must be a fitted classifier or regressor"),
    "neither model nor answers": ({"model": None}, "model is None and the records hold no outputs"),
    "a recipe": ({"model": DecisionTreeClassifier()}, "model must be fitted; this DecisionTree"),
    "no records": ({"records": None}, "records must be the records of the audit; got None"),
    "rows": ({"records": X}, "Expected skmia.Records, got ndarray"),
    "no policy": ({"policy": None}, "policy must be one of .* or a path; got None"),
    "two ways": ({"release": ("service", None)}, "release must be one of 'service', 'file'; got"),
    "a text as estimator": ({"estimator": "tree"}, "'estimator' parameter of measure_conditions"),
    "a regressor": ({"estimator": LinearRegression()}, "must be a classifier, as the model is"),
    "batched": ({"batched": "yes"}, "'batched' parameter of measure_conditions must be"),
    "no process": ({"n_jobs": 0}, "'n_jobs' parameter of measure_conditions must be"),
    "verbose": ({"verbose": None}, "'verbose' parameter of measure_conditions must be"),
}


@pytest.mark.parametrize("release", [pytest.param("service", marks=pytest.mark.slow), "file"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_before_any_training(leaky, monkeypatch, name, release):
    given, message = WRONG[name]
    model = RandomForestClassifier(5, max_features=1, random_state=0)
    model.fit(X[MEMBERS], CLEAR[MEMBERS])
    asked = {"model": model, "records": Records(X, CLEAR), "release": release, "policy": POLICY}

    def train(pool, *args, **kwargs):
        raise AssertionError("shadow models were trained")

    monkeypatch.setattr(ShadowPool, "fit", train)
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        measure_conditions(**{"report": leaky[0], **asked, **given})
    assert "\n" not in str(caught.value)


def test_stored_answers_are_changed_like_those_of_a_model(leaky):
    report, measured, _ = leaky
    recipe = RandomForestClassifier(5, max_features=1, random_state=0)
    model = RandomForestClassifier(5, max_features=1, random_state=0)
    records = Records(X, CLEAR).with_outputs(model.fit(X[MEMBERS], CLEAR[MEMBERS]))
    settings = {"estimator": recipe, "policy": POLICY, "decimals": 2}
    found = measure_conditions(report, None, records, **settings)
    assert len(found) == 2
    theirs = {condition.name.removeprefix(f"{SERVICE}, "): condition for condition in measured}
    for condition in found:
        assert condition.measurements[0].interval(0.95) == pytest.approx(
            theirs[condition.name].measurements[0].interval(0.95)
        )


def test_a_report_is_pickled_without_attacks_that_cannot_be(leaky):
    service = CallableVictim(lambda X: np.full((len(X), 2), 0.5), [0, 1])
    attacks = {"a": ThresholdAttack(victim=service)}
    kept = pickle.loads(pickle.dumps(leaky[0]))
    stored = pickle.loads(pickle.dumps(replace(leaky[0], attacks=attacks)))
    assert list(kept.attacks) == ["LiRA"] and stored.attacks is None
    assert stored.results.equals(leaky[0].results)
    model = DecisionTreeClassifier(random_state=0).fit(X[MEMBERS], CLEAR[MEMBERS])
    with pytest.raises(ValueError, match="Audit the model again"):
        measure_conditions(stored, model, Records(X, CLEAR))
