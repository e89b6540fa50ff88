"""What a policy recommends after an audit."""

import json
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import AnalyticLiRA, LiRA
from skmia.disclosure import load_policy, render_sheet, structural_checks
from skmia.report import list_measurements, measure_conditions, recommend_release
from skmia.report._document import check_document
from skmia.report._page import render_audit
from skmia.report._release import _bound, _bound_largest, measure_gap

pytestmark = pytest.mark.usefixtures("attacks_alone")

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3))
RECORDS = Records(X, (X[:, 0] + RNG.normal(size=N) > 0).astype(int), sex=np.arange(N) % 2)
MEMBERS = RNG.permutation(N) < N // 2
# A rate that so few records resolve.
LAX = replace(
    load_policy("research"),
    limits={way: {"auc": 0.58, "tpr_at_fpr_1": 0.3} for way in ("service", "file")},
    required=dict.fromkeys(("service", "file"), ("auc", "tpr_at_fpr_1")),
    structure={},
)


def make_audit(model, attacks):
    model = model.fit(X[MEMBERS], RECORDS.y[MEMBERS])
    settings = {"shadows": 4, "fprs": [0.1], "group": "sex", "random_state": 0}
    return model, audit(model, RECORDS, MEMBERS, attacks=attacks, **settings)


@pytest.fixture(scope="module")
def leaky():
    return make_audit(DecisionTreeClassifier(random_state=0), {"LiRA": LiRA()})


@pytest.fixture(scope="module")
def safe():
    return make_audit(LogisticRegression(C=1e-3), {"AnalyticLiRA": AnalyticLiRA()})


def recommend(found, policy=LAX, **settings):
    model, report = found
    return recommend_release(report, model, RECORDS, policy=policy, **settings)


def test_strongest_attack_of_each_group(leaky):
    _, report = leaky
    numbers = {(part.name, part.group): part for part in list_measurements(report)}
    assert {group for _, group in numbers} == {"all", "sex=0", "sex=1", "class=0", "class=1"}
    (row,) = report.results.query("scope == 'overall' and metric == 'auc' and told").to_dict(
        "records"
    )
    found = numbers["auc", "all"].interval(report.settings["confidence_level"])
    assert tuple(found) == pytest.approx((row["estimate"], row["low"], row["high"]))
    assert numbers["auc", "all"].n_records == N


def test_interval_of_the_strongest_covers_as_promised():
    rng = np.random.default_rng(0)
    means, half = np.array([0.1, 0.1, 0.0, -1.0]), -ndtri(0.025)
    above = below = 0
    for _ in range(2000):
        estimates = means + rng.normal(size=4)
        numbers = [(e, e - half, e + half) for e in estimates]
        found = _bound_largest(partial(_bound, 0.95), numbers, 0.95)
        above += found.high < means.max()
        below += found.low > means.max()
    # Each side errs in at most 2.5% of cases; 68 is the 99.9% quantile of that binomial law.
    assert above <= 68 and below <= 68


def test_a_leak_is_not_released_and_no_leak_is(leaky, safe):
    assert recommend(leaky).result == "do not release"
    undecided = recommend(safe)
    assert undecided.result == "release with conditions"
    limits = {"service": {"auc": 0.7, "tpr_at_fpr_1": 0.3}}
    assert recommend(safe, policy=replace(LAX, limits=limits)).result == "release"
    assert recommend(safe, policy="cautious").result == "cannot be said"
    assert recommend(safe, policy="cautious").reasons[0] == "To be measured: tpr_at_fpr_01 (all)."


def test_the_generalization_gap_is_judged(leaky, safe):
    limits = {way: {"gap": 0.05} for way in ("service", "file")}
    policy = replace(LAX, limits=limits, required={})
    model, _ = leaky
    loss = 1 - model.predict_proba(X)[np.arange(N), RECORDS.y]
    gap = loss[~MEMBERS].mean() - loss[MEMBERS].mean()
    for release in ("service", "file"):
        found = recommend(leaky, policy=policy, release=release)
        assert found.result == "do not release"
        (limit,) = found.limits
        assert (limit.name, limit.group, limit.status) == ("gap", "all", "fail")
        assert limit.interval.estimate == pytest.approx(gap)
    (limit,) = recommend(safe, policy=policy).limits
    assert limit.status == "pass"
    assert {limit.name for limit in recommend(safe, policy="cautious").limits} >= {"auc", "gap"}


def test_the_gap_of_a_policy_is_told_from_the_difference_in_accuracy(leaky):
    pytest.importorskip("jinja2")
    model, report = leaky
    note = "not the difference in accuracy"
    for policy, is_said in (("cautious", True), (LAX, False)):
        found = recommend_release(report, model, RECORDS, policy=policy)
        decided = replace(report, recommendation=found)
        assert (note in decided.to_markdown()) == is_said
        sheet = render_sheet(json.loads(decided.to_json()))
        assert ("less confidence on records it was not trained on" in sheet) == is_said


def test_the_gap_at_another_level(leaky):
    model, report = leaky
    found = structural_checks(model, RECORDS, report.membership)
    (number,) = measure_gap(found)
    assert number.at(0.95, 0.95) == pytest.approx(found.membership.gap)
    factor = ndtri(0.995) / ndtri(0.975)
    estimate, low, _ = found.membership.gap
    assert number.at(0.99, 0.95).low == pytest.approx(estimate - factor * (estimate - low))
    assert number.n_records == N


def test_a_regressor_has_no_gap_in_a_policy():
    records = Records(X, X @ np.arange(3.0) + RNG.normal(size=N))
    model = LinearRegression().fit(X[MEMBERS], records.y[MEMBERS])
    assert measure_gap(structural_checks(model, records, MEMBERS)) == []


def test_a_file_is_judged_by_both_ways(leaky):
    model, report = leaky
    quiet = report.results.assign(estimate=0.5, low=0.4, high=0.6)
    found = replace(report, findings=replace(report.findings, numbers=quiet))
    assert max(m.interval(0.95).estimate for m in list_measurements(found, "service")) == 0.5
    assert max(m.interval(0.95).estimate for m in list_measurements(found, "file")) > 0.8
    no_file = recommend((model, replace(report, file=None)), release="file")
    # What is missing of the file cannot mend a service that is above its limits.
    assert no_file.result == "do not release" and "the limit is" in no_file.reasons[0]
    assert no_file.reasons[-1].startswith("To be measured: The model has no file at hand")
    quiet = quiet.assign(low=0.0)
    low = replace(found, findings=replace(report.findings, numbers=quiet), file=None)
    low = recommend((model, low), release="file")
    assert low.result == "cannot be said" and "was not attacked" in low.reasons[0]


def test_nothing_is_said_of_an_inconclusive_audit(safe):
    model, report = safe
    checks = dict(report.checks)
    checks["positive control"] = replace(checks["positive control"], status="warning")
    found = replace(report, findings=replace(report.findings, checks=checks))
    assert found.evidence == "unknown"
    recommended = recommend((model, found))
    assert recommended.result == "cannot be said"
    assert recommended.reasons == (found.verdict,)


def test_it_stands_on_top_of_each_form(leaky):
    _, report = leaky
    report = replace(report, recommendation=recommend(leaky, provenance={"command": "skmia x"}))
    document = check_document(json.loads(report.to_json()))
    assert document["recommendation"]["result"] == "do not release"
    assert document["recommendation"]["provenance"]["command"] == "skmia x"
    page = pytest.importorskip("jinja2") and render_audit(document)
    assert page.index("leakage: privacy audit") < page.index("do not release")
    for text in (report.summary(verbose=True), report.to_markdown()):
        assert "by the policy research (changed): do not release" in text


def test_markdown_has_what_the_page_has(leaky):
    given = {"command": "skmia audit --members was_trained_on", "purpose": "a_b", "odd": "`x``<b>"}
    found = recommend(leaky, policy="research", release="file", provenance=given)
    lines = replace(leaky[1], recommendation=found).to_markdown().splitlines()
    (gap,) = (limit for limit in found.limits if limit.name == "gap")
    numbers = "{:.3g} \\[{:.3g}, {:.3g}\\]".format(*gap.interval)
    assert f"| gap | all | 0.1 | {numbers} | fail |" in lines
    assert "| tpr\\_at\\_fpr\\_01 | all | 0.1 | - | missing |" in lines
    assert any(line.startswith("| k | review | fail | ") for line in lines)
    assert f"* policy: research; SHA-256 `{load_policy('research').sha256}`" in lines
    assert "* command: `skmia audit --members was_trained_on`" in lines
    assert "* odd: ``` `x``<b> ```" in lines
    assert "* purpose: a\\_b" in lines and not any("recipients" in line for line in lines)
    changed = replace(leaky[1], recommendation=recommend(leaky)).to_markdown()
    assert "* policy: research (changed); it was changed and has no hash" in changed


def test_the_sheet_names_what_is_requested(leaky):
    given = {"purpose": "a study <i>", "command": "skmia x"}
    report = replace(leaky[1], recommendation=recommend(leaky, provenance=given))
    document = json.loads(report.to_json())
    page = pytest.importorskip("jinja2") and render_audit(document)
    assert '<a href="decision.html">Decision sheet</a>' in page and "a study" not in page
    page = render_sheet(document)
    assert page.count('rows="1">a study &lt;i&gt;</textarea>') == page.count("a study") == 1
    assert '<textarea id="public" rows="1"></textarea>' in page and "<bdi>skmia x</bdi>" in page
    # Filled in later, and without these names.
    document["recommendation"]["provenance"]["public columns"] = "sex"
    assert 'id="public" rows="1">sex</textarea>' in render_sheet(check_document(document))
    document["recommendation"]["provenance"] = {}
    assert 'id="public" rows="1"></textarea>' in render_sheet(check_document(document))


def test_names_that_were_filled_in_are_on_the_sheet(leaky):
    pytest.importorskip("jinja2")
    report = replace(leaky[1], recommendation=recommend(leaky))
    document = json.loads(report.to_json())
    document["recommendation"]["signatures"][0] |= {"name": "A. <b> Smith", "date": "2026-11-23"}
    page = render_sheet(check_document(document))
    assert 'aria-label="researcher: name" value="A. &lt;b&gt; Smith"' in page
    assert 'aria-label="researcher: date" value="2026-11-23"' in page
    assert 'aria-label="checker: name" value=""' in page


def test_the_sheet_names_the_ways_of_release_that_were_not_asked_for(leaky):
    policy = replace(LAX, limits={"service": LAX.limits["service"]})
    report = replace(leaky[1], recommendation=recommend(leaky, policy=policy))
    page = pytest.importorskip("jinja2") and render_sheet(json.loads(report.to_json()))
    assert "A release as a file or a table was not examined." in " ".join(page.split())


def test_a_forged_recommendation_is_refused(leaky):
    _, report = leaky
    document = json.loads(replace(report, recommendation=recommend(leaky)).to_json())
    for change, message in (
        ({"result": "release"}, "not all limits and checks pass"),
        ({"result": "fine"}, "recommendation.result"),
        ({"reasons": []}, "recommendation.reasons"),
    ):
        forged = document | {"recommendation": document["recommendation"] | change}
        with pytest.raises(ValueError, match=message):
            check_document(forged)


def test_a_limit_that_does_not_pass_is_refused(leaky):
    _, report = leaky
    document = json.loads(replace(report, recommendation=recommend(leaky)).to_json())
    document["recommendation"]["limits"][0]["status"] = "pass"
    with pytest.raises(ValueError, match="auc does not pass its limit"):
        check_document(document)


def test_other_records_are_refused(leaky):
    model, report = leaky
    with pytest.raises(ValueError, match="must be the 400 of the audit; got 10"):
        recommend_release(report, model, RECORDS[:10])
    # The same ones in another order would have the gap of sides that are mixed, which is none.
    for ask in (recommend_release, measure_conditions):
        for others in (RECORDS[::-1], Records(X, 1 - RECORDS.y)):
            with pytest.raises(ValueError, match="must be .*, in their order, of the same types"):
                ask(report, model, others)
    same = Records(pd.DataFrame(X), RECORDS.y.tolist())
    assert recommend_release(pickle.loads(pickle.dumps(report)), model, same) == recommend_release(
        report, model, RECORDS
    )
    with pytest.raises(ValueError, match="release"):
        recommend(leaky, release="table")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"report": None}, "report must be an AuditReport, as audit returns it; got None"),
        ({"records": [None] * 400}, "Expected skmia.Records, got list"),
        ({"conditions": None}, "conditions must be a sequence of Condition; got None"),
        ({"provenance": "me"}, "provenance must be a mapping of texts; got 'me'"),
        ({"provenance": {"public columns": ["sex"]}}, "texts; got .'sex'. for 'public columns'"),
    ],
)
def test_other_types_are_refused(leaky, asked, message):
    model, report = leaky
    with pytest.raises(TypeError, match=message):
        recommend_release(**{"report": report, "model": model, "records": RECORDS, **asked})


def test_numbers_are_listed_for_a_way_of_release_of_a_report(leaky):
    with pytest.raises(TypeError, match="report must be an AuditReport"):
        list_measurements(None)
    with pytest.raises(ValueError, match="release must be one of 'service', 'file'; got 'table'"):
        list_measurements(leaky[1], "table")
