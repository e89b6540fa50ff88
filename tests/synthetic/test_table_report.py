"""The report of a table: one document, from which page, text and Markdown are made."""

import json

import numpy as np
import pandas as pd
import pytest
from damages import KINDS, change, find_places
from sklearn.neighbors import KernelDensity

from skmia.report._table_schema import check_table_document
from skmia.synthetic import audit_table
from skmia.synthetic._table import save_table
from skmia.synthetic._table._report import render

NAME = "a\n<script>window.ran = true</script>"


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame(rng.normal(size=(80, 2)), columns=[NAME, "b"]).assign(
            y=rng.integers(2, size=80)
        )
        for _ in range(3)
    ]
    real, made, holdout = tables
    made = pd.concat([real[:30], made[30:]])
    return audit_table(real, made, holdout, target="y", secrets=[NAME], random_state=0)


@pytest.fixture
def document(report):
    return json.loads(report.to_json())


def test_the_document_is_read_again(report, document):
    assert (document["schema"], document["schema_version"]) == ("skmia.table", 1)
    assert document["evidence"] == report.evidence == "leak"
    assert check_table_document(document)["verdict"] == report.verdict
    assert [row["name"] for row in document["results"]] == list(report.results.index)
    assert document["data"] == {"n_real": 80, "n_synthetic": 80, "n_holdout": 80, "n_columns": 3}


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda d: d.update(evidence="none"), "evidence is 'none', but its numbers .* say 'leak'"),
        (
            lambda d: d["results"][0].update(pvalue_holm=0.9),
            "pvalue_holm of results does not follow",
        ),
        (lambda d: d["results"][0].update(leak=not d["results"][0]["leak"]), "leak of results"),
        (lambda d: d["results"].append(d["results"][0]), "each number once"),
        (lambda d: d["results"][0].update(low=1.0), "an estimate outside of its limits"),
        (lambda d: d.update(reversed=["x"]), "reversed does not follow"),
        (lambda d: d.update(copies=None), "results and copies must be there"),
        (lambda d: d["copies"].pop(1), "copies lacks rare copies"),
        (lambda d: d.update(checks=[d["checks"][1]]), "checks lacks one population"),
        (lambda d: d.pop("pairs"), "the document lacks pairs"),
        (lambda d: d["data"].update(n_holdout="many"), "data.n_holdout must be a whole number"),
    ],
)
def test_damages_are_found(document, damage, message):
    damage(document)
    with pytest.raises(ValueError, match=message):
        check_table_document(document)


# What may be anything of its kind, and parts of arrays that can be shorter.
ESTIMATES = {"estimate", "low", "high", "share", "real", "chance", "synthetic"}
FREE = {"versions", "seeds", "seconds", "recommendation", "spread"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field(document, kind):
    pytest.importorskip("jinja2")
    unnoticed = []
    for place in find_places(document):
        if not place or (kind == "gone" and isinstance(place[-1], int)) or place[0] in FREE:
            continue
        changed = change(document, place, KINDS[kind])
        try:
            render(check_table_document(changed))
        except ValueError:
            continue
        if place[-1] != "leak" or kind != "true":  # which it was
            unnoticed.append(place)
    if kind == "a negative number":  # excesses and similarities have no limit from below
        unnoticed = [place for place in unnoticed if place[-1] not in ESTIMATES]
    assert unnoticed == []


def test_names_cannot_forge_lines(report):
    pytest.importorskip("jinja2")
    for text in (report.summary(), report.to_markdown(), report.to_html()):
        assert NAME not in text
    assert all(len(line) <= 100 for line in report.summary().split("\n"))
    page = report.to_html(title="A <b>table</b>")
    assert "<script>window.ran" not in page and "<b>table" not in page
    assert "Leakage found" in page and "mirrored" in page
    assert "script\\>" in report.to_markdown()
    assert 'sandbox=""' in report._repr_html_()


def test_files(report, tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    paths = report.save(tmp_path / "out")
    assert [path.name for path in paths] == ["table.json", "report.html"]
    assert paths[1].read_text() == report.to_html()

    def fail(*_, **__):
        raise ImportError("jinja2 is not installed.")

    monkeypatch.setattr("skmia.synthetic._table._report.render", fail)
    saved = save_table(json.loads(report.to_json()), tmp_path / "again")
    assert [path.name for path in saved.paths] == ["table.json"]
    assert "report.html could not be made" in json.loads(saved.paths[0].read_text())["notes"][0]
    assert report._repr_html_().startswith("<pre>")


def test_a_report_without_holdout():
    pytest.importorskip("jinja2")
    X = np.random.default_rng(0).normal(size=(30, 2))
    report = audit_table(X, X, random_state=0)
    found = check_table_document(json.loads(report.to_json()))
    assert found["evidence"] == "unknown" and found["results"] == []
    page = report.to_html()
    assert "It cannot be said whether the table leaks" in page and "Privacy:" not in page
    assert "no holdout" in report.to_markdown()
    assert repr(report) == "TableReport(30 rows, evidence='unknown')"


def test_further_tables_of_the_generator():
    pytest.importorskip("jinja2")
    X = np.random.default_rng(0).normal(size=(80, 2))
    generator = KernelDensity(bandwidth=0.01).fit(X[:40])
    made = generator.sample(40, random_state=0)
    report = audit_table(X[:40], made, X[40:], generator=generator, random_state=0)
    assert list(report.spread.index) == ["quality", "privacy loss", "rare copies"]
    assert report.spread.loc["privacy loss", "smallest"] > 0.2
    assert (report.spread["smallest"] <= report.spread["mean"]).all()
    found = check_table_document(json.loads(report.to_json()))
    assert found["spread"][0]["n_tables"] == 5
    for text in (report.summary(), report.to_html(), report.to_markdown()):
        assert "5 further tables of the generator" in text
    with pytest.raises(TypeError, match="sample method"):
        audit_table(X, X, generator=3)
    wide = KernelDensity().fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="columns"):
        audit_table(X, X, generator=wide, random_state=0)


def test_long_names_end_in_dots_in_a_terminal(report):
    assert "inference of a\\n<script>win...  " in report.summary()
    assert max(map(len, report.summary().splitlines())) <= 100
