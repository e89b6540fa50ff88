"""The recommendation and the decision sheet of an audit that ended because of its table."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cells import slow_but
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia.attacks import LiRA
from skmia.disclosure import load_policy
from skmia.disclosure._sheet import describe_sheet, render_sheet
from skmia.report import recommend_release
from skmia.report._document import check_document

pytest.importorskip("jinja2")

N = 600
MEMBERS = np.arange(N) < N // 2
# Rows of the sheet that read the records of the audit, by the plain names of the checks.
OF_RECORDS = {
    "Groups that stand alone",
    "Outcomes ruled out",
    "Small counts",
    "Small leaves",
    "More parameters than records",
    "Stored rows",
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    y = (X @ [2.0, -1.0, 0.5, 0.0] + 0.5 * rng.logistic(size=N) > 0).astype(int)
    # Large leaves: every check of the structure passes.
    return X, y, DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=40).fit(X[:300], y[:300])


def make_audit(model, records):
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": [0.1], "random_state": 0}
    return audit(model, records, MEMBERS, **settings)


@pytest.fixture(scope="module")
def sound(table):
    X, y, model = table
    return make_audit(model, Records(X, y))


def make_sheet(report, model, records, release, policy="research"):
    """The sheet and the page of an audit."""
    policy = load_policy(policy)
    # With a limit of the gap that any gap is below.
    limits = policy.limits | {release: policy.limits[release] | {"gap": 0.9}}
    policy = replace(policy, limits=limits)
    found = recommend_release(report, model, records, policy=policy, release=release)
    document = json.loads(replace(report, recommendation=found).to_json())
    check_document(document)
    return describe_sheet(document), render_sheet(document)


def list_ticks(sheet):
    cells = [cell for row in sheet["matrix"]["rows"] for _, cell in row["cells"] if cell]
    cells += sheet["matrix"]["single"]
    ticks = [cell.get("what", "number") for cell in cells if cell["kind"] == "ok"]
    return ticks + [check["name"] for check in sheet["checks"] if check["kind"] == "ok"]


GAP = "less confidence on records it was not trained on"


@pytest.mark.parametrize("release", ["service", "file"])
def test_a_sound_audit_has_ticks(table, sound, release):
    X, y, model = table
    sheet, _ = make_sheet(sound, model, Records(X, y), release)
    assert sound.evidence != "unknown"
    assert GAP in list_ticks(sheet) and {*list_ticks(sheet)} & OF_RECORDS


@pytest.mark.parametrize("policy", ["research", pytest.param("cautious", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "release"),
    slow_but(
        [(kind, way) for kind in ("columns", "classes") for way in ("service", "file")],
        ("columns", "service"),
        ("classes", "file"),
    ),
)
def test_what_rests_on_a_stopped_audit_has_no_tick(table, kind, release, policy):
    X, y, model = table
    records = Records(X[:, ::-1], y) if kind == "columns" else Records(X, 1 - y)
    report = make_audit(model, records)
    sheet, page = make_sheet(report, model, records, release, policy)
    assert report.evidence == "unknown" and report.results.empty
    assert not {*list_ticks(sheet)} & {GAP, "number", *OF_RECORDS}
    row = next(one for one in sheet["matrix"]["single"] if one["what"] == GAP)
    assert (row["kind"], row["number"], row["span"]) == ("info", "", "not measured")
    assert sheet["result"] == "cannot be said" and "not measured" in page
    # What only reads the settings stands.
    assert "Flagged settings" in list_ticks(sheet)


def test_stored_answers_in_another_order_have_no_tick(table):
    X, y, model = table
    rng = np.random.default_rng(1)
    answers = Outputs(model.predict_proba(X)[rng.permutation(N)], model.classes_)
    records = Records(X, y, outputs=answers)
    report = make_audit(None, records)
    sheet, _ = make_sheet(report, None, records, "service")
    assert report.evidence == "unknown"
    assert not {*list_ticks(sheet)} & {GAP, "number", *OF_RECORDS}
