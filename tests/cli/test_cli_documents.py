"""``skmia report`` and ``skmia compare``."""

import copy
import json
import re
import shutil

import numpy as np
import pytest
from scipy.stats import binom

from skmia.attacks import LiRA
from skmia.cli import main
from skmia.metrics import operating_point
from skmia.report import compare_audits, render_comparison

QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1"]


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory, one_attack_in_module):
    """What the command wrote."""
    one_attack_in_module["attacks"] = {"LiRA": LiRA()}
    folder = tmp_path_factory.mktemp("audit")
    table.to_csv(folder / "table.csv", index=False)
    data = ["--data", str(folder / "table.csv"), "--target", "income"]
    assert main(["audit", *data, *QUICK, "--out", str(folder / "out")]) in (0, 4)
    return folder / "out"


@pytest.fixture
def saved(folder, tmp_path):
    """A copy of it."""
    return shutil.copytree(folder, tmp_path / "a") / "audit.json"


def test_report_makes_the_page_again(saved, capsys):
    pytest.importorskip("jinja2")
    assert main(["report", str(saved)]) == 0
    page = saved.with_suffix(".html")
    assert page.read_text() == (saved.parent / "report.html").read_text()
    assert capsys.readouterr().out == f"written: {page}\n"


def test_result_of_an_older_version_has_no_page(saved, capsys):
    document = json.loads(saved.read_text())
    del document["checks"], document["power"]
    saved.write_text(json.dumps(document))
    assert main(["report", str(saved)]) == 2
    error = capsys.readouterr().err
    assert "another version wrote it: the document lacks checks, power; audit again" in error


def test_audits_of_different_tasks_are_not_compared(saved, capsys):
    document = json.loads(saved.read_text())
    document["task"] = "regression"
    other = saved.with_name("other.json")
    other.write_text(json.dumps(document))
    assert main(["compare", str(saved), str(other)]) == 2
    assert "one audit is of a classification, the other of a regression" in capsys.readouterr().err


def test_compare_says_the_level_of_each_audit_and_not_its_verdict(saved, capsys):
    main(["compare", str(saved), str(saved)])
    text = capsys.readouterr().out
    assert json.loads(saved.read_text())["verdict"] not in text
    assert " ".join(text.split()).count("as a service.") >= 2


def test_compare_with_itself(saved, capsys):
    assert main(["compare", str(saved), str(saved)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "NO CHANGE SHOWN" in lines[0]
    assert all(line.endswith("not shown to change") for line in lines if "(AUC)" in line)


def test_intervals_of_two_confidence_levels_are_not_joined(saved, capsys):
    document = json.loads(saved.read_text())
    document["settings"]["confidence_level"] = 0.951  # near enough to leave the verdict
    other = saved.with_name("other.json")
    other.write_text(json.dumps(document))
    assert main(["compare", str(saved), str(other)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"95% in {saved} and 95.1% in {other}" in error


def write_audit(document, membership, scores):
    """Give one attack of a document another TPR."""
    point = operating_point(membership, scores, 0.01)
    numbers = {"estimate": point.tpr, "low": point.tpr_low, "high": point.tpr_high}
    numbers |= {"fpr": point.fpr, "status": "ok"}
    row = next(
        row
        for row in document["results"]
        if (row["attack"], row["scope"], row["max_fpr"]) == ("LiRA", "overall", 0.01)
    )
    row.update(numbers)


@pytest.mark.slow
def test_two_audits_of_one_law_seldom_differ(saved):
    rng = np.random.default_rng(0)
    document = json.loads(saved.read_text())
    membership, n_pairs, excluded = np.repeat([1, 0], 1000), 100, 0
    for _ in range(n_pairs):
        pair = [copy.deepcopy(document) for _ in "ab"]
        for one in pair:
            write_audit(one, membership, rng.normal(size=2000) + membership)
        found = [one for one in compare_audits(*pair).numbers if one.metric == "tpr"]
        low, high = found[0].difference[1:]
        excluded += not low <= 0 <= high
    assert excluded <= binom.ppf(0.999, n_pairs, 0.05)


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "is not valid JSON (line 1, column 2)"),
        ("[]", "was not written by skmia audit"),
        ('{"schema": "skmia.audit", "schema_version": 9}', "has version 9 of the schema"),
    ],
)
def test_files_that_are_no_audits(tmp_path, capsys, command, content, message):
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content)
    assert main([command, str(path), *([str(path)] if command == "compare" else [])]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith(f"skmia {command}: ")


@pytest.mark.parametrize(
    ("shift", "heading"),
    [(-0.3, "Less leakage"), (0, "No change shown"), (0.3, "More leakage")],
)
def test_the_page_says_first_what_became_of_the_leakage(saved, shift, heading):
    pytest.importorskip("jinja2")
    first, second = (json.loads(saved.read_text()) for _ in range(2))
    for document, auc in ((first, 0.65), (second, 0.65 + shift)):
        document["file"] = None
        document["evidence"], document["level"]["name"] = "leak", "clear"
        for row in document["results"]:
            if row["metric"] == "auc":
                row |= {"estimate": auc, "low": auc - 0.01, "high": auc + 0.01}
        document["results"] = [row for row in document["results"] if row["metric"] == "auc"]
    page = render_comparison(first, second, "ab")
    still = ", still at least clear" if heading == "Less leakage" else ""
    assert f"<h1>{heading}{still}</h1>" in page and f"<title>{heading}{still}: " in page
    second["level"]["name"] = "unknown"
    assert "<h1>No verdict</h1>" in render_comparison(first, second, "ab")


def test_nothing_in_common(saved, tmp_path, capsys):
    text = saved.read_text()
    for name in [*json.loads(text)["settings"]["attacks"], "ReleasedModelAttack"]:
        text = text.replace(json.dumps(name), json.dumps(f"other {name}"))
    other = tmp_path / "b.json"
    other.write_text(text)
    assert main(["compare", str(saved), str(other)]) == 2
    assert "no number in common" in capsys.readouterr().err


def test_compare_writes_a_page_with_all_groups(saved, tmp_path, capsys):
    pytest.importorskip("jinja2")
    document = json.loads(saved.read_text())
    other = shutil.copytree(saved.parent, tmp_path / "b") / "audit.json"
    row = next(row for row in document["results"] if row["metric"] == "auc" and row["told"])
    row |= {"estimate": 0.99, "low": 0.98, "high": 1.0}
    saved.write_text(json.dumps(document))
    page = tmp_path / "both.html"
    assert main(["compare", str(other), str(saved), "--out", str(page)]) == 0
    assert f"written: {page}" in capsys.readouterr().out
    text = page.read_text()
    assert "a/audit.json" in text and "b/audit.json" in text
    rows = [row for row in document["results"] if row["status"] == "ok"]
    groups = {(row["scope"], row["group"]) for row in rows} - {("overall", "all")}
    folded = text.partition('id="groups"')[2].partition("</section>")[0]
    assert folded.count("<details><summary>") == len(groups) and "<details open" not in text
    assert len(re.findall(r"<b>0\.[0-9]+ \[", text)) == 1  # the number that was changed
    places = [text.index(part) for part in ("<h1>", "What changed", "Numbers that", "All numbers")]
    assert places == sorted(places)
    assert "style=" not in text.partition("</head>")[2] and "<script" not in text
    assert main(["compare", str(saved), str(other.parent), "--out", f"{tmp_path}/pages/"]) == 0
    assert (tmp_path / "pages" / "compare.html").is_file()
    capsys.readouterr()
    assert main(["compare", str(saved), str(saved), "--out", str(page / "inside.html")]) == 2
    told = capsys.readouterr()
    assert "--out: cannot write" in told.err
    assert "NO CHANGE" in told.out  # the comparison, which was printed first
