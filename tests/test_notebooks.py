"""What a notebook shows of a result: its text, escaped and on its own."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia.disclosure import load_policy, recommend, structural_checks
from skmia.inspection import inspect_model, reconstruct_values
from skmia.model_selection import best_below_leakage, make_leakage_scorer
from skmia.synthetic import audit_table

FORGED = "<script>alert(1)</script>\nNo leakage."
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=[FORGED, "wage"])
Y = np.where(X["wage"] > 0, "yes", "<b>no</b>")
RECORDS = Records(X, Y, place=np.repeat(["a&b", "c"], 30), weight=np.arange(60.0))
MEMBERSHIP = np.arange(60) % 2
MODEL = KNeighborsClassifier(3).fit(X[::2], Y[::2])


def make_results():
    report = structural_checks(DecisionTreeClassifier().fit(X, Y), RECORDS, MEMBERSHIP)
    return {
        "records": RECORDS,
        "inspection": inspect_model(MODEL, RECORDS),
        "reconstruction": reconstruct_values(MODEL),
        "structure": report,
    }


@pytest.fixture(scope="module")
def results():
    return make_results()


@pytest.mark.parametrize("name", ["records", "inspection", "reconstruction", "structure"])
def test_a_result_is_shown_small_and_escaped(results, name):
    page = results[name]._repr_html_()
    inside = page.partition(">")[2].removesuffix("</pre>")
    # Monospace for the columns of tables; a long text scrolls instead of filling the notebook.
    assert page.startswith('<pre style="font-family: monospace; max-height: 40rem; overflow: auto"')
    assert page.endswith("</pre>")
    assert "<" not in inside
    assert "\nNo leakage." not in inside
    assert not any(foreign in page for foreign in ("http", "src=", "url("))
    assert len(page) < 20_000
    if name not in ("structure", "inspection"):  # which name no columns
        assert "&lt;script&gt;" in inside


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        return audit(MODEL, RECORDS, MEMBERSHIP, shadows=4, random_state=0)


def test_parts_of_a_report_are_shown_in_a_few_lines(report):
    for found in (report.service, report.file):
        assert repr(found) == (
            f"{type(found).__name__}(level={str(found.level)!r}, evidence={found.evidence!r})"
        )
        assert str(found).startswith(str(found.level).upper())
        assert " ".join(found.verdict.split()) in " ".join(str(found).split())
        assert found._repr_html_().startswith("<pre ")
    checks = report.checks
    assert isinstance(checks, dict)
    assert len(str(checks).splitlines()) >= len(checks) > 5
    assert max(map(len, str(checks).splitlines())) < 80
    assert repr(checks).startswith(f"{{{next(iter(checks))}: {next(iter(checks.values())).status}")
    assert "<script>" not in checks._repr_html_()
    name, scores = next(iter(report.scores.items()))
    ends = f"{scores.min():.3g} to {scores.max():.3g}"
    assert str(report.scores).splitlines()[0] == f"{name}: 60 scores from {ends}"
    assert len(repr(report.scores)) < 80 * len(report.scores)
    assert report.scores._repr_html_().startswith("<pre ")
    assert isinstance(pickle.loads(pickle.dumps(report.scores)), dict)


@pytest.mark.usefixtures("quick_tables")
def test_checks_of_a_table_are_shown_like_those_of_an_audit():
    real, made, held_out = np.random.default_rng(0).normal(size=(3, 60, 2))
    for report in (audit_table(real, made), audit_table(real, made, held_out, random_state=0)):
        checks = report.checks
        assert isinstance(checks, dict)
        lines = str(checks).splitlines()
        assert max(map(len, lines)) < 80
        status = checks["one population"]["status"]
        assert any(line.startswith(f"{status:8} one population: ") for line in lines)
        assert f"one population: {status}" in repr(checks)
        assert checks._repr_html_().startswith("<pre ")


def test_a_model_without_values_is_shown_without_an_empty_table():
    shown = str(reconstruct_values(GaussianNB().fit(X.to_numpy(), Y)))
    assert shown.startswith("No value can be reconstructed without candidates.\n")
    assert "exact" not in shown


def test_the_frame_of_a_page_is_as_wide_as_its_cell(report):
    assert "box-sizing: border-box" in report._repr_html_().rpartition("style=")[2]


def test_records_show_their_columns_labels_and_fields():
    lines = RECORDS._repr_html_().splitlines()
    assert lines[0].endswith("Records: 60")
    column = "&lt;script&gt;alert(1)&lt;/script&gt;\\nNo leakage."
    assert lines[1].endswith(f"DataFrame(60, 2): {column}, wage")
    n = int((Y == "yes").sum())
    assert lines[2].endswith(f"2 different: &lt;b&gt;no&lt;/b&gt; ({60 - n}), yes ({n})")
    assert lines[3].endswith("2 different: a&amp;b (30), c (30)")
    assert lines[4].endswith("float64, 60 different</pre>")
    answers = Outputs(np.full((3, 2), 0.5), classes=[0, 1])
    shown = Records(np.eye(3), outputs=answers)._repr_html_()
    assert "y        none" in shown
    assert "Outputs(3 answers" in shown


def test_a_recommendation_is_shown():
    policy = replace(load_policy("research"), name="<i>ours</i>")
    said = recommend(policy, "service", [], [])
    assert "&lt;i&gt;ours&lt;/i&gt;" in said._repr_html_()


def test_a_search_prints_no_address():
    scoring = {"accuracy": "accuracy", "leakage": make_leakage_scorer(RECORDS)}
    refit = best_below_leakage(0.3)
    grid = {"max_depth": [1, 2]}
    search = GridSearchCV(DecisionTreeClassifier(), grid, scoring=scoring, refit=refit)
    assert " at 0x" not in repr(search) + search._repr_html_()
    assert repr(refit) == "best_below_leakage(0.3, utility='accuracy', leakage='leakage')"
