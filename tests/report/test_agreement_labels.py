"""Labels that are coded otherwise than the victim's, and models that are weak on purpose."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia._core.splits import number_units
from skmia.attacks import ThresholdAttack
from skmia.cli._gate import judge, list_findings
from skmia.report._document import check_document
from skmia.report.agreement import _assignment as labels
from skmia.report.agreement._answered_rows import AnsweredRows
from skmia.report.agreement._repairs import LabelsQuestion

pytestmark = pytest.mark.usefixtures("attacks_alone")

QUESTION = LabelsQuestion()


def make_problem(n_classes=2, n=1200, seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = signal * X[:, 0] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    return X, y, rng.permutation(n) % 2 == 1


def ask(outputs, y, membership, seed=0, **fields):
    """What is found in outputs of any kind; None for nothing."""
    records = Records(np.arange(len(y)), y, **fields)
    met = AnsweredRows(
        case=SimpleNamespace(seeds={"agreement": seed}),
        rows=slice(None),
        records=records,
        inside=np.asarray(membership, dtype=bool) & (np.arange(len(y)) > 0),
        units=number_units(records.fingerprint, records.fields.get("group_by")),
        outputs=outputs,
        model=None,
    )
    return QUESTION.ask(met, [])


def as_outputs(model, X, kind):
    if kind == "label":
        return Outputs(model.predict(X), model.classes_, "label")
    return Outputs(model.predict_proba(X), model.classes_)


@pytest.mark.parametrize("kind", ["proba", "label"])
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(20)])
def test_codes_that_were_turned_are_found(model, n_classes, kind):
    X, y, membership = make_problem(n_classes)
    model = clone(model).fit(X[membership], y[membership])
    outputs = as_outputs(model, X, kind)
    assert ask(outputs, y, membership) is None
    turned = (y + 1) % n_classes
    found = ask(outputs, turned, membership)
    assert found.status == "stop"
    assert found.cure.startswith("Check the coding of the labels (--label-map ")
    share = np.mean(model.predict(X)[membership & (turned == 1)] == 0)
    assert f"with label 1, {100 * share:.0f}% are predicted as 0" in found.text


@pytest.mark.parametrize("names", [["no", "yes"], [False, True], [-1, 7]])
def test_classes_of_any_type_are_named(names):
    X, y, membership = make_problem()
    y = np.array(names)[y]
    model = DecisionTreeClassifier(random_state=0).fit(X[membership], y[membership])
    turned = np.where(y == np.array(names)[0], *np.array(names)[::-1])
    found = ask(as_outputs(model, X, "proba"), turned, membership)
    first, second = (str(model.classes_[k]) for k in (0, 1))
    assert found.text.startswith(
        f"Of the members with label {first}, 100% are predicted as {second}, and of those with "
        f"label {second}, 100% are predicted as {first}."
    )


WEAK = {
    "balanced weights, 2% positives": (LogisticRegression(class_weight="balanced"), 0.02),
    "a weight of 100": (LogisticRegression(class_weight={0: 1, 1: 100}), 0.1),
    "a balanced stump": (DecisionTreeClassifier(max_depth=1, class_weight="balanced"), 0.02),
    "a stump": (DecisionTreeClassifier(max_depth=1), 0.5),
}


@pytest.mark.parametrize("signal", [0.0, 0.5])
@pytest.mark.parametrize("name", WEAK)
def test_models_that_are_weak_or_weighted_are_left_alone(name, signal):
    model, share = WEAK[name]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 5))
        score = signal * X[:, 0] + rng.normal(size=1500)
        y = (score > np.quantile(score, 1 - share)).astype(int)
        membership = rng.permutation(1500) % 2 == 1
        fitted = clone(model).fit(X[membership], y[membership])
        assert ask(as_outputs(fitted, X, "proba"), y, membership) is None
        # A model that was trained on other records knows neither side.
        assert ask(as_outputs(fitted, X, "proba"), y, ~membership) is None


def test_answers_of_one_person_count_once():
    # The model is wrong about 2 of the 60 people with label 0, who have most of the rows.
    rng = np.random.default_rng(0)
    people = np.r_[np.repeat(np.arange(2), 100), np.arange(2, 1060)]
    y = (people >= 60).astype(int)
    answers = np.where(people < 2, 1, y)
    answers[people >= 60] = rng.random(1000) < 0.4
    outputs, everyone = Outputs(answers, [0, 1], "label"), np.ones(len(y))
    for seed in range(20):  # of the halves
        assert ask(outputs, y, everyone, seed=seed, group_by=people) is None


def test_classes_with_few_members_are_not_judged():
    _, y, membership = make_problem(n=60)
    outputs = Outputs(1 - y, [0, 1], "label")
    assert ask(outputs, y, membership) is None
    # Of many classes, two have enough members; the others may be anything.
    y = np.r_[np.arange(40), np.repeat([40, 41], 60)]
    answers = np.where(y < 40, 39 - y, 81 - y)
    found = ask(Outputs(answers, np.arange(42), "label"), y, np.ones(160))
    assert found.status == "stop" and "label 40, 100% are predicted as 41" in found.text
    assert "label 0," not in found.text
    right = np.where(y < 40, 39 - y, y)
    assert ask(Outputs(right, np.arange(42), "label"), y, np.ones(160)) is None


def test_ten_members_of_each_half_are_judged():
    # One of the halves has ten of 19 members, and the other one has not.
    y = np.arange(38) % 2
    everyone = Outputs(1 - y, [0, 1], "label"), y, np.ones(38)
    assert ask(*everyone) is None
    for n, is_found in ((20, False), (21, True)):  # one is no member
        y = np.arange(float(n))
        assert (ask(Outputs(-y, kind="value"), y, np.ones(n)) is not None) == is_found


def test_the_best_assignment_is_tested_on_the_other_half(monkeypatch):
    y, sizes = np.arange(202) % 2, []
    test, recalls = labels._test_assignment, labels._measure_recalls
    monkeypatch.setattr(
        labels, "_test_assignment", lambda *given: sizes.append(len(given[0])) or test(*given)
    )
    monkeypatch.setattr(
        labels, "_measure_recalls", lambda *given: sizes.append(len(given[0])) or recalls(*given)
    )
    assert ask(Outputs(1 - y, [0, 1], "label"), y, np.ones(202)).status == "stop"
    assert sizes == [101, 100, 100]  # of 201 members


@pytest.mark.parametrize("error, least", [(1e-9, 0.1), (0.01, 0.1309), (0.05, 0.2545)])
def test_another_assignment_has_to_be_much_better(error, least, monkeypatch):
    y = np.arange(200) % 2
    for gain, is_found in ((least + 1e-6, True), (least - 1e-6, False)):
        monkeypatch.setattr(labels, "_test_assignment", lambda *given, gain=gain: (gain, error))
        found = ask(Outputs(1 - y, [0, 1], "label"), y, np.ones(200))
        assert (found is not None) == is_found


def test_targets_that_fall_by_chance_are_left_alone(monkeypatch):
    # Of 103 people the standard error of a rank correlation, by Fisher's transformation, is .103.
    y = np.arange(206.0)
    people = np.arange(206) // 2
    for z, is_found in ((3.08, False), (3.1, True)):
        correlation = -np.tanh(z * np.sqrt(1.06 / 100))
        monkeypatch.setattr(labels, "correlate_ranks", lambda *given, found=correlation: found)
        found = ask(Outputs(y, kind="value"), y, np.ones(206), group_by=people)
        assert (found is not None) == is_found


def test_many_turned_classes_are_counted():
    y = np.repeat(np.arange(5), 100)
    found = ask(Outputs((y + 1) % 5, np.arange(5), "label"), y, np.ones(500))
    assert found.text.startswith("Of the members with label 0, 100% are predicted as 1, and of ")
    assert "predicted as 3; the same holds for 2 more labels." in found.text


def test_targets_of_the_other_sign_are_found():
    X, _, membership = make_problem()
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    outputs = Outputs(Ridge().fit(X, y).predict(X), kind="value")
    assert ask(outputs, y, membership) is None
    found = ask(outputs, -y, membership)
    assert found.status == "stop" and "coding of the targets" in found.cure
    assert ask(Outputs(np.ones(len(y)), kind="value"), y, membership) is None
    noise = Outputs(np.random.default_rng(2).normal(size=len(y)), kind="value")
    assert ask(noise, y, membership) is None
    few = Outputs(-y[:15], kind="value")
    assert ask(few, y[:15], np.arange(15) > 1) is None


@pytest.mark.parametrize("form", ["model", "stored"])
def test_the_verdict_stays_open_and_the_gate_shut(form):
    X, y, membership = make_problem(n=600)
    victim = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    fitted = clone(victim).fit(X[membership], y[membership])
    records = Records(X, 1 - y)
    if form == "stored":
        records = Records(X, 1 - y, outputs=as_outputs(fitted, X, "label"))
    given = victim if form == "stored" else fitted
    report = audit(given, records, membership, shadows=4, fprs=(0.1,), random_state=0)
    assert report.evidence == "unknown"
    assert report.verdict.startswith("Inconclusive: model and table do not agree. The model is")
    assert " Of the members with label 0, " in report.verdict
    code, _ = judge(list_findings(report, []))
    assert code == 4
    assert next(iter(report.checks)) == "model and table"
    document = check_document(json.loads(report.to_json()))
    assert (document["evidence"], document["verdict"]) == (report.evidence, report.verdict)
    if form == "model":
        assert report.file is None
        page = report.to_html()
        assert "<h1>No verdict</h1>" in page
        assert "<b>Model and table do not agree.</b> The model is right on " in page


def test_swapped_membership_stays_reversed_and_names_the_fit():
    X, y, membership = make_problem(n=600)
    fitted = DecisionTreeClassifier(random_state=0).fit(X[membership], y[membership])
    report = audit(
        fitted,
        Records(X, y),
        ~membership,
        attacks={"loss": ThresholdAttack()},
        fprs=(0.1,),
        file=False,
        random_state=0,
    )
    assert report.evidence == "reversed"
    accuracy = 100 * fitted.score(X[~membership], y[~membership])
    assert f"The model is right on {accuracy:.0f}% of the rows that are called" in report.verdict
    assert "the two sides are most likely swapped" in report.verdict
