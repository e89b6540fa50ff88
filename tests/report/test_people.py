"""What an audit says about people with several records."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import compare_audits, render_comparison
from skmia.report._authority_sheet import describe_authority_sheet
from skmia.report._document import check_document, list_wrong_people
from skmia.report._examine import measure_people
from skmia.report._json_schema import PEOPLE
from skmia.report.checks import PersonLevelCheck

pytestmark = pytest.mark.usefixtures("attacks_alone")


def make_people(rng, counts, n_mixed=0):
    person, inside = (
        np.repeat(np.arange(len(counts)), counts),
        rng.permutation(len(counts)) % 2 == 1,
    )
    X = rng.normal(size=(len(person), 6)) + rng.normal(size=(len(counts), 6))[person]
    y = (X[:, 0] + 2 * rng.normal(size=len(counts))[person] > 0).astype(int)
    membership = inside[person]
    for mixed in range(n_mixed):
        membership[np.flatnonzero(person == mixed)[0]] ^= True
    return Records(X, y, group_by=np.char.add("p", person.astype(str))), membership


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    records, membership = make_people(rng, [10] * 60, n_mixed=2)
    model = RandomForestClassifier(10, min_samples_leaf=4, random_state=0)
    model.fit(records.X[membership], records.y[membership])
    attacks = {"LiRA": LiRA(), "loss": ThresholdAttack()}
    return audit(model, records, membership, attacks=attacks, shadows=8, file=False, random_state=0)


def test_people_with_ten_records_are_found_more_surely_than_records(report):
    found = report.person_level
    assert (found["n_members"] + found["n_nonmembers"], found["n_mixed"]) == (58, 2)
    assert (found["attack"], found["combine"], found["pvalue"]) == ("LiRA", "sum", 0.01)
    assert found["n_permutations"] == 99
    records = report.results.query("attack == 'LiRA' and metric == 'auc' and scope == 'overall'")
    assert records["high"].item() < found["auc"] and records["estimate"].item() < found["low"]


def test_the_most_exposed_people_by_hand(report):
    found, people = report.person_level, report.people
    names = np.unique(people)
    sums = np.array([report.scores["LiRA"][people == name].sum() for name in names])
    sides = np.array([set(report.membership[people == name]) for name in names])
    members, others = sums[sides == {True}], sums[sides == {False}]
    scores = [row["score"] for row in found["exposed"]]
    np.testing.assert_allclose(scores, np.sort(members)[::-1][:20])
    for row in found["exposed"]:
        assert row["n_records"] == 10
        assert row["score"] == pytest.approx(sums[names == row["person"]].item())
        assert row["n_above"] == (others >= row["score"]).sum()
        assert row["n_equal"] == np.isclose(members, row["score"]).sum()
        assert row["pvalue"] == pytest.approx((1 + row["n_above"]) / (1 + len(others)))


def test_the_sheet_of_evidence_counts_people(report):
    told = describe_authority_sheet(report)["samples"][0]
    assert told.endswith(
        "58 people were attacked, each with all of their records; 2 more with records on both "
        "sides were left out."
    )


def test_all_views_name_the_same_people(report):
    first = report.person_level["exposed"][0]["person"]
    (line,) = [one for one in report.summary().split("\n") if one.startswith("  People  ")]
    n, auc = report.person_level["n_members"], report.person_level["auc"]
    told = f"  People  {n} who are members, AUC {auc:.3f}; most exposed: {first}"
    assert line.startswith(told) and len(line) <= 80
    assert f"Most exposed people: {first} (10 records, p = 0.03" in report.summary(verbose=True)
    assert f"| {first} | 10 |" in report.to_markdown()
    document = json.loads(report.to_json())
    assert document["person_level"]["exposed"][0]["person"] == first
    assert check_document(document)["person_level"] == document["person_level"]
    page = report.to_html()
    assert "<h3>Most exposed people</h3>" in page and f"<li><bdi>{first}</bdi></li>" in page
    assert "2 with records on both sides who are left out" in page
    assert "Rates are counted in records" in page


def list_of_people(documents):
    return [one for one in compare_audits(*documents).numbers if one.scope.startswith("people")]


def test_two_audits_are_compared_on_people(report):
    documents = [json.loads(report.to_json()) for _ in range(2)]
    documents[1]["person_level"] |= {"auc": 0.75, "low": 0.65, "high": 0.85, "attack": "loss"}
    found = list_of_people(documents)
    auc = report.person_level["auc"]
    assert [(part.attack, part.first[0], part.second[0]) for part in found] == [
        ("LiRA / loss", auc, 0.75)
    ]
    assert found[0].difference[0] == pytest.approx(0.75 - auc)
    assert "people with all their records" in render_comparison(*documents, "ab")
    documents[1]["person_level"] = None
    assert not list_of_people(documents)


@pytest.mark.parametrize("fitted", [None, LiRA()], ids=["mean", "sum"])
def test_people_with_equal_scores_in_another_order_tie(fitted):
    rng = np.random.default_rng(0)
    case, run = play(rng, 60, 0.0)
    case.people, inside = np.repeat(np.arange(60), 6), rng.permutation(60) % 2 == 1
    case.membership, run.judged = inside[case.people], {"a": np.ones(360, dtype=bool)}
    run.scores = {"a": np.concatenate([rng.permutation(np.arange(1, 7) / 10) for _ in range(60)])}
    run.fitted = {"a": fitted}
    if fitted is not None:
        fitted._comparison = SimpleNamespace(neutral=0.05)
    found = measure_people(case, run)
    assert (found["auc"], found["combine"]) == (0.5, "mean" if fitted is None else "sum")


def test_sums_are_of_what_says_something_and_people_who_cannot_be_judged_are_no_units():
    case, run = play(np.random.default_rng(0), 60, 0.0)
    inside = np.arange(60) % 2 == 1
    case.people = np.repeat(np.arange(60), np.where(inside, 6, 3))
    case.membership, run.judged = inside[case.people], {"a": case.people >= 4}
    run.scores, run.fitted = {"a": np.full(len(case.people), 0.05)}, {"a": LiRA()}
    run.fitted["a"]._comparison = SimpleNamespace(neutral=0.05)
    found = measure_people(case, run)
    assert (found["n_members"], found["n_nonmembers"], found["auc"]) == (28, 28, 0.5)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_members": 10**6}, "more people than there are records"),
        ({"auc": None}, "some but not all"),
        ({"low": 1.0, "high": 0.5}, "a lower limit above"),
        ({"n_nonmembers": 0}, "more non-members above a person"),
        ({"attack": "another"}, "names an attack that settings or results lack"),
        ({"combine": "max"}, "combine"),
    ],
)
def test_contradictions_are_refused(report, change, message):
    document = json.loads(report.to_json())
    document["person_level"]["exposed"][-1]["n_above"] = 1
    document["person_level"] |= change
    with pytest.raises(ValueError, match=message):
        check_document(document)


def test_without_people_or_with_one_record_each_nothing_is_said():
    rng = np.random.default_rng(0)
    records, membership = make_people(rng, [1] * 60)
    model = DecisionTreeClassifier(random_state=0)
    model.fit(records.X[membership], records.y[membership])
    for some in (records, Records(records.X, records.y)):
        found = audit(model, some, membership, attacks={"loss": ThresholdAttack()}, file=False)
        assert found.person_level is None and "  People  " not in found.summary()
        assert "<h2>People</h2>" not in found.to_html()


def ask(pvalue, adjusted):
    found = {"attack": "a", "auc": 0.7, "low": 0.6, "high": 0.8, "pvalue": pvalue}
    found["n_permutations"] = 999
    test = SimpleNamespace(frame=pd.DataFrame({"pvalue_adjusted": [0.5, adjusted]}))
    findings = SimpleNamespace(person_level=found, permutation=test)
    return PersonLevelCheck().ask(SimpleNamespace(level=0.95), None, findings)


def test_people_who_are_found_though_no_record_is_are_a_warning():
    assert ask(0.001, 0.2).is_warning and "(p ≤ 0.001), although no number" in ask(0.001, 0.2).text
    assert not ask(0.03, 0.2).is_warning and "not beyond chance" in ask(0.03, 0.2).text
    assert not ask(0.001, 0.01).is_warning and "found as well" in ask(0.001, 0.01).text


def play(rng, n_people, correlation):
    """Scores of two attacks without leakage."""
    person = np.repeat(np.arange(n_people), rng.integers(1, 10, size=n_people))
    membership = (rng.permutation(n_people) % 2 == 1)[person]
    scores = {
        name: correlation * rng.normal(size=n_people)[person] + rng.normal(size=len(person))
        for name in "ab"
    }
    judged = dict.fromkeys(scores, np.ones(len(person), dtype=bool))
    run = SimpleNamespace(scores=scores, judged=judged, fitted=dict.fromkeys(scores))
    seeds = {"checks": int(rng.integers(2**31))}
    return SimpleNamespace(people=person, membership=membership, level=0.95, seeds=seeds), run


@few_and_many(150)
def test_pvalues_of_people_keep_their_level_for_the_best_of_two_attacks(n_draws):
    rng = np.random.default_rng(0)
    pvalues = [measure_people(*play(rng, 30, 1.0))["pvalue"] for _ in range(n_draws)]
    assert sum(p <= 0.1 for p in pvalues) <= most_by_chance(n_draws, 0.1)


def test_too_few_people_have_no_number():
    case, run = play(np.random.default_rng(0), 3, 1.0)
    found = measure_people(case, run)
    assert found["auc"] is None and found["exposed"] == []
    PEOPLE(found, "person_level")
    document = {"person_level": found, "data": {"n_records": len(case.people)}}
    assert list(list_wrong_people(document)) == []
