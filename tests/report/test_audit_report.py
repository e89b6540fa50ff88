"""What an audit says and writes: all of the numbers, and no more than they bear."""

import json
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import audit
from skmia._core import pages
from skmia._core.text import WIDTH
from skmia.attacks import ThresholdAttack
from skmia.metrics import auc_interval
from skmia.report import AuditReport, _audit, _document
from skmia.report._report import draw_picture
from skmia.report._words import format_rate

LOSS = {"t": ThresholdAttack()}


def test_verdict_names_the_strongest_attack_with_its_interval(problem, result):
    aucs = result.to_frame().query("metric == 'auc' and scope == 'overall'").set_index("attack")
    best = aucs["told"].idxmax()
    auc, low, high = auc_interval(problem[2], result.scores[best])
    strongest = f"The strongest of 4 attacks, {best}," if best == aucs["estimate"].idxmax() else ""
    strongest = strongest or f"{best}, one of 4 attacks,"
    assert result.verdict.startswith(f"Leakage found. {strongest} ranks")
    assert f"probability {auc:.3f} (95% interval" in result.verdict
    assert f"this attack alone: [{low:.3f}, {high:.3f}]" in result.verdict


@pytest.mark.parametrize(
    "numbers, text",
    [
        ((0.5612, 0.492, 0.61), "56.1% [49.2, 61.0]"),
        ((0.0987, 0.091, 0.1066), "9.87% [9.10, 10.66]"),
        ((1.0, 0.999, 1.0), "100% [99.9, 100]"),
        ((-0.0123, -0.03, 0.004), "-1.23% [-3.00, 0.40]"),
        ((0.0, 0.0, 0.0037), "0.00% [0.00, 0.37]"),
        ((0.0994, 0.05, 0.151), "9.94% [5.00, 15.10]"),
        ((0.0996, 0.05, 0.151), "10.0% [5.0, 15.1]"),
        ((-0.151, -1.0, -0.05), "-15.1% [-100, -5.0]"),
    ],
)
def test_rates_are_shown_in_percent(numbers, text):
    assert format_rate(*numbers) == text


def test_summary_is_a_table_of_at_most_100_columns(problem, result):
    short = result.summary().splitlines()
    lines = result.summary(verbose=True).splitlines()
    assert lines[: len(short)] == short and max(map(len, short)) <= 80
    assert max(map(len, lines)) <= WIDTH == 100
    assert lines[0] == "  \u2582\u2585\u2588  SEVERE LEAKAGE   as a file"
    assert "Membership-inference audit of DecisionTreeClassifier" in lines
    row = result.to_frame().query("attack == 'LiRA' and scope == 'overall' and max_fpr == 0.2")
    cell = format_rate(*row[["estimate", "low", "high"]].iloc[0])
    at = next(k for k, line in enumerate(lines) if line.startswith("LiRA"))
    heading = next(line for line in lines if line.startswith("attack"))
    column = heading.index("TPR @ 20% FPR")
    assert lines[at][column : column + len(cell)] == cell


def test_summary_of_long_names_and_many_rates_stays_narrow(problem):
    names = {"an attack with a name that goes on and on and on": ThresholdAttack()}
    fprs = (0.4, 0.3, 0.2, 0.1, 0.05)
    lines = (
        audit(*problem, attacks=names, fprs=fprs, file=False, random_state=0)
        .summary(verbose=True)
        .splitlines()
    )
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.startswith("attack ") for line in lines) == 3
    assert all(any(f"TPR @ {100 * fpr:g}% FPR" in line for line in lines) for fpr in fprs)


def test_json_holds_the_numbers_and_how_they_came_about(problem, result, tmp_path):
    text = result.to_json(tmp_path / "audit.json")
    assert (tmp_path / "audit.json").read_text() == text
    document = json.loads(text, parse_constant=pytest.fail)  # NaN is no JSON
    assert (document["schema"], document["schema_version"]) == ("skmia.audit", 1)
    assert document["data"] == {"n_records": 400, "n_members": 200, "n_nonmembers": 200}
    assert document["settings"]["n_shadows"] == 8
    assert document["seeds"]["random_state"] == 0
    assert {"skmia", "scikit-learn", "numpy"} <= set(document["versions"])
    assert document["performance"]["members"] == problem[0].score(
        problem[1].X[problem[2] == 1], problem[1].y[problem[2] == 1]
    )
    assert document["seconds"]["total"] >= document["seconds"]["shadow models"]
    assert document["verdict"] == result.verdict
    frame = pd.DataFrame(document["results"]).astype(result.to_frame().dtypes)
    pd.testing.assert_frame_equal(frame, result.to_frame())


def test_every_key_of_the_json_is_documented(result):
    document = json.loads(result.to_json())
    assert "the user guide\n" in textwrap.dedent(AuditReport.to_json.__doc__)
    columns = AuditReport.to_frame.__doc__
    assert [key for key in document["results"][0] if f"``{key}``" not in columns] == []
    page = Path(__file__).parents[2] / "doc" / "user_guide" / "audit_format.md"
    text = page.read_text(encoding="utf-8")
    keys = [*document, *document["results"][0], *document["data"], *document["performance"]]
    keys += [*document["settings"], *document["seeds"], *document["baseline"]]
    keys += [*document["permutation"], *document["permutation"]["numbers"][0]]
    keys += [*document["checks"][0], *document["power"], *document["power"]["numbers"][0]]
    keys += [*document["disparity"], *document["disparity"]["scopes"][0]]
    assert [key for key in keys if f"`{key}`" not in text] == []


def test_folders_of_parameters_are_nobody_elses_business(problem, tmp_path):
    _, records, membership = problem
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model = model.fit(records.X[membership == 1], records.y[membership == 1])
    model.set_params(memory=str(tmp_path / "cache"))
    result = audit(model, records, membership, attacks=LOSS, file=False, random_state=0)
    assert str(tmp_path) not in result.to_json()
    assert "memory='cache'" in result.victim


def test_saved_files(result, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    paths = result.save(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["audit.json", "roc.png", "report.html"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert paths[2].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.name for path in paths[0].parent.iterdir()} == {path.name for path in paths}


def test_curves_of_all_forms_are_computed_once_and_stay(result, monkeypatch):
    asked, compute = [], _document.compute_thin_curves

    def note(*given):
        asked.append(given)
        return compute(*given)

    monkeypatch.setattr(_document, "compute_thin_curves", note)
    report = replace(result)
    changed, first = (_document.as_audit_document(report) for _ in range(2))
    assert len(asked) == 2  # of two routes
    assert [curve["attack"] for curve in first["file"]["curves"]] == ["ReleasedModelAttack"]
    assert {curve["attack"] for curve in first["curves"]} == set(report.scores)
    for way in (changed, changed["file"]):
        way["curves"][0]["tpr"][0] = 2.0
    assert _document.as_audit_document(report) == first == _document.as_audit_document(result)


def test_the_picture_shows_what_the_document_holds(result):
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 2)
    document = json.loads(result.to_json())
    draw_picture(document, axes)
    attacks = {"file": document["file"]["curves"][0]["attack"]}
    frame = result.to_frame().query("scope == 'overall' and max_fpr == 0.2 and told")
    (attacks["service"],) = frame["attack"]
    lines = {line.get_label(): line for line in axes[1].get_lines()}
    for way, attack in attacks.items():
        listed = document["curves"] + document["file"]["curves"]
        curve = next(one for one in listed if one["attack"] == attack)
        kept = np.asarray(curve["fpr"]) >= 10 / document["data"]["n_nonmembers"]
        x, y = lines[way].get_data()
        np.testing.assert_array_equal(x, np.asarray(curve["fpr"])[kept])
        np.testing.assert_array_equal(y, np.asarray(curve["tpr"])[kept])
    texts = [text.get_text() for text in axes[0].texts]
    best = round(100 * frame["estimate"].max())
    rates = [result.file.results.query("scope == 'overall' and max_fpr == 0.2"), frame]
    mistaken = [round(100 * found["fpr"].item()) for found in rates]
    mistaken = mistaken[:1] if len(set(mistaken)) == 1 else mistaken
    assert {f"{n} of 100" for n in (best, *mistaken)} <= set(texts)
    filled = [len(dots.get_offsets()) for dots in axes[0].collections[::2]]
    assert filled[1:] == [best, *mistaken]


def test_numbers_are_saved_when_the_figure_cannot_be(problem, tmp_path, monkeypatch):
    result = audit(*problem, attacks={"t": ThresholdAttack()}, file=False, random_state=0)
    before = list(result.notes)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for _ in range(2):
        assert [path.name for path in result.save(tmp_path)] == ["audit.json"]
    assert result.notes == before  # the report is as it was, however often it is saved
    notes = json.loads((tmp_path / "audit.json").read_text())["notes"]
    assert len(notes) == len(before) + 2
    assert 'pip install "skmia[plot]"' in notes[-2] and "roc.png" in notes[-2]
    assert 'pip install "skmia[report]"' in notes[-1] and "report.html" in notes[-1]


def test_interrupted_write_leaves_the_old_file(result, tmp_path, monkeypatch):
    path = tmp_path / "audit.json"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: pytest.fail("no disk"))
    with pytest.raises(pytest.fail.Exception):
        result.to_json(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_plot_leaves_out_an_attack_that_can_judge_one_side_only(result):
    pytest.importorskip("matplotlib").use("Agg")
    one_side = dict(result.judged) | dict.fromkeys(result.scores, result.membership)
    curves = replace(result, judged=one_side, file=None).plot()[1].get_lines()
    assert [line for line in curves if line.get_label() == "service"] == []


def test_plot_draws_on_given_axes(result):
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 2)
    assert list(result.plot(axes)) == list(axes)
    with pytest.raises(ValueError, match=r"axes must be two, .*; got 1"):
        result.plot(axes[0])
    names = [line.get_label() for line in axes[1].get_lines()]
    assert {"file", "service"} <= set(names)
    assert axes[0].get_title(loc="left") == "Severe leakage"


@pytest.mark.parametrize("paper", ["#ffffff", "#000000"])
def test_picture_and_page_have_the_same_colors(result, paper):
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 2)
    for ax in axes:
        ax.set_facecolor(paper)
    result.plot(axes)
    css = Path(pages.__file__).with_name("page.css").read_text(encoding="utf-8")
    light, dark = css.split("@media (prefers-color-scheme: dark)")[:2]
    of_page = dict(re.findall(r"--(\w+): (#\w+)", light if paper == "#ffffff" else dark[:400]))
    drawn = {line.get_label(): line.get_color() for line in axes[1].get_lines()}
    assert drawn["file"] == of_page["severe"]
    words = {text.get_text(): text.get_color() for text in axes[1].texts}
    assert words["guessing"] == of_page["quiet"]
    assert {text.get_color() for text in axes[0].texts} <= set(of_page.values())


def test_addresses_are_not_shown():
    columns = make_column_transformer((StandardScaler(), make_column_selector()))
    shown = _audit._show_on_one_line(make_pipeline(columns, LogisticRegression()))
    assert " at 0x" not in shown
    assert "make_column_selector object>" in shown


def test_the_summary_begins_with_the_levels_and_shows_the_worst_of_many_groups(problem):
    victim, records, membership = problem
    names = [f"group {place}\n\x1b[2J of a long name" for place in range(20)]
    records = records.with_fields(town=np.resize(names, len(records)))
    settings = {"attacks": {"loss": ThresholdAttack()}, "fprs": [0.2], "random_state": 0}
    report = audit(victim, records, membership, group="town", **settings)
    lines = report.summary().splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in "".join(lines)
    ways = [line.rsplit("as a ")[-1].split(";")[0] for line in lines[:2]]
    assert ways == ["file", "service"]
    table = lines[next(k for k, line in enumerate(lines) if line.endswith("level")) :]
    rows = [line for line in table if line.lstrip().startswith("town ")]
    assert len(rows) == 16 and sum("12 more groups: --verbose" in line for line in table) == 2
    auc = report.file.results.query("scope == 'overall' and metric == 'auc'")["estimate"].item()
    assert next(line for line in table if line.startswith("  file")).split("[")[-2][-6:-1] == (
        f"{auc:.3f}"
    )


def test_without_a_valid_comparison_there_is_no_table(problem):
    victim, records, membership = problem
    settings = {"attacks": {"loss": ThresholdAttack()}, "fprs": [0.2], "random_state": 0}
    report = audit(victim, records, 1 - membership, file=False, **settings)
    assert report.evidence == "reversed"
    lines = report.summary().splitlines()
    assert lines[0].startswith("  ???  NO VERDICT")
    assert "Were the two sides swapped?" in " ".join(lines) and "ranks higher" not in " ".join(
        lines
    )
