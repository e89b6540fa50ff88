"""The report of a table: one document, from which page, text and Markdown are made."""

import json

import numpy as np
import pandas as pd
import pytest
from cells import slow
from damages import KINDS, change, make_damages
from given_table import GivesTable
from quick_audits import permute_no_table, shrink_models_of_tables
from scipy.special import ndtri
from sklearn.neighbors import KernelDensity

from skmia._core.levels import LEAK, NONE
from skmia._core.text import wrap, wrap_lines
from skmia.report import recommend_release
from skmia.report._document import check_table_document
from skmia.synthetic import TableGrounds, audit_table, measure_table_level
from skmia.synthetic._copy_test import compute_smallest_share
from skmia.synthetic._table import save_table
from skmia.synthetic._table._evidence import COPIES, share_significance
from skmia.synthetic._table._report import (
    format_short_table,
    format_table_markdown,
    format_table_summary,
    render_table,
)

pytestmark = pytest.mark.usefixtures("quick_tables")

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
    with pytest.MonkeyPatch.context() as patch:
        shrink_models_of_tables(patch)
        permute_no_table(patch)  # copies are the leak
        return audit_table(real, made, holdout, target="y", secrets=[NAME], random_state=0)


def test_all_numbers_but_copies_have_a_pvalue_of_the_permutations_of_the_table(report):
    pvalues = report.results["pvalue"].drop([*COPIES])
    assert len(pvalues) == 9 and {"privacy loss", "linkability", "singling out"} <= {*pvalues.index}
    # Of nine permutations and the table itself, as many as reach it.
    assert pvalues.between(0.1, 1).all()
    np.testing.assert_allclose(10 * pvalues, (10 * pvalues).round())


def test_the_share_of_copies_that_is_found_is_that_of_their_share_of_the_level(report):
    near, names = report.copies.loc["near copies"], list(report.results.index)
    level = 0.05 * share_significance(names)[names.index("near copies")]
    corrected = compute_smallest_share(near, near["share_counted"], level)
    assert near["smallest_share_corrected"] == corrected > near["smallest_share"]


@pytest.fixture
def document(report):
    return json.loads(report.to_json())


def test_the_document_is_read_again(report, document):
    assert (document["schema"], document["schema_version"]) == ("skmia.table", 1)
    assert document["evidence"] == report.evidence == "leak"
    assert check_table_document(document)["verdict"] == report.verdict
    assert [row["name"] for row in document["results"]] == list(report.results.index)
    counts = {"n_real": 80, "n_synthetic": 80, "n_holdout": 80, "n_columns": 3}
    assert document["data"] == {**counts, "unit": "row", "identifiers": []}
    counts = {"train": 30, "n_train": 80, "alone": 30, "test": 0, "n_test": 80}
    assert document["unchanged"] == report.unchanged == counts


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
        (lambda d: d["unchanged"].update(train=81), "unchanged has more copies than rows"),
        (lambda d: d["unchanged"].update(alone=31), "unchanged has more copies than rows"),
    ],
)
def test_damages_are_found(document, damage, message):
    damage(document)
    with pytest.raises(ValueError, match=message):
        check_table_document(document)


# What may be anything of its kind, and parts of arrays that can be shorter.
ESTIMATES = {"estimate", "low", "high", "share", "real", "chance", "synthetic"}
FREE = {"versions", "seeds", "seconds", "recommendation", "spread"}
FREE |= {"level"}  # which is derived again
# What documents of before lack.
ADDED = {("unchanged",), ("data", "identifiers"), ("data", "unit"), ("settings", "identifiers")}
ADDED |= {("settings", "group_by")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field(document, kind):
    pytest.importorskip("jinja2")
    unnoticed = []
    for place, new in make_damages(document, kind):
        if (kind == "gone" and isinstance(place[-1], int)) or place[0] in FREE:
            continue
        if kind == "gone" and tuple(place) in ADDED:
            continue
        changed = change(document, place, new)
        try:
            render_table(check_table_document(changed))
        except ValueError:
            continue
        if place[-1] != "leak" or new is not True:  # which it was
            unnoticed.append(place)
    if kind == "a negative number":  # excesses and similarities have no limit from below
        unnoticed = [place for place in unnoticed if place[-1] not in ESTIMATES]
    assert unnoticed == []


def test_names_cannot_forge_lines(report):
    pytest.importorskip("jinja2")
    for text in (report.summary(), report.to_markdown(), report.to_html()):
        assert NAME not in text
    for width, verbose in ((80, False), (100, True)):
        assert max(map(len, report.summary(verbose).split("\n"))) <= width
    page = report.to_html(title="A <b>table</b>")
    assert "<script>window.ran" not in page and "<b>table" not in page
    assert "At least clear leakage</h1>" in page and "mirrored" in page
    assert "script\\>" in report.to_markdown()
    assert 'sandbox=""' in report._repr_html_()


def test_files(report, tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    paths = report.save(tmp_path / "out")
    assert [path.name for path in paths] == ["table.json", "report.html"]
    assert paths[1].read_text() == report.to_html()

    def fail(*_, **__):
        raise ImportError("jinja2 is not installed.")

    monkeypatch.setattr("skmia.synthetic._table._report.render_table", fail)
    monkeypatch.setattr("skmia.synthetic._table._audit.render_table", fail)
    saved = save_table(json.loads(report.to_json()), tmp_path / "again")
    assert [path.name for path in saved.paths] == ["table.json"]
    assert "report.html could not be made" in json.loads(saved.paths[0].read_text())["notes"][0]
    assert report._repr_html_().startswith("<pre ")


def test_texts_end_with_the_reasons_of_a_policy_and_notes(report, document):
    found = recommend_release(report, policy="cautious").to_dict()
    assert found["result"] == "do not release" and found["reasons"]
    bare = format_table_summary(document)
    assert bare.endswith(f"\n\n{wrap(document['verdict'])}") and "Note: " not in bare
    assert "## Notes" not in format_table_markdown(document, "T")
    decided = document | {"recommendation": found, "notes": ["One.", "a|b."]}
    text = format_table_summary(decided)
    reasons = "\n".join(wrap_lines(f"  {one}" for one in found["reasons"]))
    assert text.endswith(f"{wrap(document['verdict'])}\n\n{reasons}")
    assert "\nNote: One.\nNote: a|b.\n" in text
    page = format_table_markdown(decided, "a|b")
    assert page.startswith("# a\\|b\n\n**") and page.endswith("\n\n## Notes\n\n* One.\n* a\\|b.\n")
    assert page.count("policy: cautious") == 1
    assert "By the policy cautious: do not release." in " ".join(page.split())


@pytest.mark.parametrize("evidence", ["leak", "none"])
def test_the_parts_of_a_short_summary_are_aligned(report, document, evidence):
    found = recommend_release(report, policy="cautious").to_dict()
    document |= {"evidence": evidence, "recommendation": found}
    if evidence == "none":
        document["level"] |= {"name": "none", "at_least": False}
    for check in document["checks"][1:]:  # so that each part has several lines
        check["status"] = "warning"
    document["checks"] += [{"name": "further " * 30, "status": "not run"}]
    document["columns"] = [{"name": "of a long name " * 3, "estimate": k / 4} for k in range(4)]
    lines = format_short_table(document)
    # The first sentence of a leak counts the copies itself.
    named = ["Copies"] * (evidence == "none") + ["Trust", "Use", "Next", "Policy", "Table"]
    first = next(k for k, line in enumerate(lines) if line.startswith(f"  {named[0]}  "))
    heads = [line for line in lines[first:] if line[:10].strip()]
    assert [line[:10].strip() for line in heads] == named
    assert all(line[9] == " " != line[10] for line in heads)
    # The second lines of steps stand behind their number.
    others = {len(line) - len(line.lstrip()) for line in {*lines[first:]} - {*heads, ""}}
    assert others == {10, 13} and max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert ("such as a mirrored one" in text) == (evidence == "none")
    assert "Not run: further further" in text and "As a table, by the policy cautious" in text
    assert "Least alike: of a long name of a long name of a long name (0)," in text


def test_a_report_without_holdout():
    pytest.importorskip("jinja2")
    X = np.random.default_rng(0).normal(size=(30, 2))
    report = audit_table(X, X, random_state=0)
    found = check_table_document(json.loads(report.to_json()))
    assert found["evidence"] == "unknown" and found["results"] == []
    page = report.to_html()
    assert "<h1>No verdict</h1>" in page and "Singling out" not in page
    assert "no holdout" in report.to_markdown()
    assert repr(report) == "TableReport(30 rows, evidence='unknown')"


def test_further_tables_of_the_generator(monkeypatch):
    pytest.importorskip("jinja2")
    permute_no_table(monkeypatch)
    X = np.random.default_rng(0).normal(size=(80, 2))
    generator = KernelDensity(bandwidth=0.01).fit(X[:40])
    made = generator.sample(40, random_state=0)
    report = audit_table(X[:40], made, X[40:], generator=generator, random_state=0)
    assert list(report.spread.index) == ["quality", "privacy loss", "rare copies"]
    assert report.spread.loc["privacy loss", "smallest"] > 0.2
    assert (report.spread["smallest"] <= report.spread["mean"]).all()
    found = check_table_document(json.loads(report.to_json()))
    assert found["spread"][0]["n_tables"] == 5
    for text in (report.summary(verbose=True), report.to_html(), report.to_markdown()):
        assert "5 further tables of the generator" in text
    with pytest.raises(TypeError, match="sample method"):
        audit_table(X, X, generator=3)
    wide = KernelDensity().fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="columns"):
        audit_table(X, X, generator=wide, random_state=0)


@pytest.mark.parametrize(
    ("group_by", "secrets"),
    [(None, ["city"]), ("who", None), slow(None, None), slow("who", ["city"])],
)
def test_further_tables_are_measured_as_the_given_one(group_by, secrets, monkeypatch):
    monkeypatch.setattr("skmia.synthetic._table._audit.N_TABLES", 2)
    permute_no_table(monkeypatch)
    rng = np.random.default_rng(1)
    tables = []
    for k in range(3):
        who = np.repeat(np.arange(12), 3)
        numbers = rng.normal(size=(12, 2))[who] + 0.1 * rng.normal(size=(36, 2))
        table = pd.DataFrame(numbers, columns=["a", "b"]).assign(city=rng.choice([*"xyz"], 36))
        tables.append(table.assign(who=who + 12 * k) if group_by else table)
    real, made, held = tables
    made[:16] = real[:16].to_numpy()  # of the sixth person one row of three
    made["city"] = made["city"].map({"x": "1", "y": "2", "z": "3"})  # no value of a real row
    settings = {"group_by": group_by, "secrets": secrets, "random_state": 0}
    report = audit_table(real, made, held, generator=GivesTable(made).fit(None), **settings)
    numbers = pd.concat([report.results, report.utility])["estimate"]
    for name, row in report.spread.iterrows():
        assert row["smallest"] == row["largest"] == pytest.approx(numbers[name], abs=1e-12)
    hides = secrets is None
    assert (report.spread.loc["rare copies", "mean"] > 0) == hides


def test_long_names_end_in_dots_in_a_terminal(report):
    assert "inference of a\\n<script>win...  " in report.summary(verbose=True)
    assert "  inference of a\\n<script…" in report.summary()


def make_grounds(evidence=LEAK, loss=None, **numbers):
    """Grounds with numbers, each an estimate and the lower end of its interval."""
    rows = {name.replace("_", " "): pair for name, pair in numbers.items()}
    frame = pd.DataFrame(rows, index=["estimate", "low"]).T
    if loss is not None:
        frame.loc["privacy loss"] = loss, loss
    frame["leak"] = evidence == LEAK
    return TableGrounds(frame, {}, 0.95, 0.01, None)


@pytest.mark.parametrize(
    "low, estimate, word",
    [
        (0.33, 0.33, "Severe"),
        (0.3299, 0.3299, "Clear"),
        (0.3299, 0.4, "At least clear"),
        (0.09, 0.2, "Clear"),
        (0.0899, 0.0899, "Slight"),
        (0.01, 0.1, "At least slight"),
        (-0.5, 0.02, "Slight"),
    ],
)
def test_limits_of_the_levels(low, estimate, word):
    # Of a single number, nothing is corrected.
    level = measure_table_level(make_grounds(linkability=(estimate, low)), LEAK)
    assert level.word == word and level.groups[0]["number"] == "linkability"
    for evidence in ("shift", "reversed", "unknown"):
        assert (
            measure_table_level(make_grounds(linkability=(estimate, low)), evidence).name
            == "unknown"
        )
    assert measure_table_level(make_grounds(NONE, linkability=(estimate, low)), NONE).name == "none"


def test_lower_ends_are_corrected_for_all_numbers_and_the_highest_counts():
    numbers = {"near_copies": (0.4, 0.34), "rare_copies": (0.02, 0.01), "linkability": (0.1, 0.08)}
    found = measure_table_level(make_grounds(**numbers), LEAK)
    low = found.numbers["excess"]["low"]
    assert found.word == "At least clear" and found.numbers["excess"]["attack"] == "near copies"
    # Rare copies have 0.63 of the significance level, and the two others share the rest.
    wider = ndtri(1 - 0.05 * 0.185 / 2) / ndtri(1 - 0.05 / 2)
    assert low == pytest.approx(0.4 - wider * 0.06)
    # Of a number that is not beyond chance, nothing is shown; a loss is no share of attacks.
    grounds = make_grounds(**numbers, loss=0.4)
    grounds.results.loc["near copies", "leak"] = False
    levels = {one["number"]: one["name"] for one in measure_table_level(grounds, LEAK).groups}
    assert levels == {"near copies": "none", "rare copies": "clear", "linkability": "slight"}
    grounds.results["leak"] = grounds.results.index == "privacy loss"
    assert measure_table_level(grounds, LEAK).word == "Slight"


def test_a_level_never_falls_with_a_number_or_a_narrower_interval():
    def rank(estimate, width):
        grounds = make_grounds(linkability=(estimate, estimate - width), singling_out=(0.1, 0.05))
        return measure_table_level(grounds, LEAK).rank

    grid = np.linspace(0, 1, 11)
    ranks = np.array([[rank(estimate, width) for width in grid[::-1]] for estimate in grid])
    assert (np.diff(ranks, axis=0) >= 0).all() and (np.diff(ranks, axis=1) >= 0).all()
    assert ranks.min() < ranks.max()


def test_the_level_is_the_same_in_all_forms(report, document):
    pytest.importorskip("jinja2")
    heading = report.level.heading
    assert document["level"]["name"] == report.level.name
    assert document["level"]["limits"] == {"excess": {"clear": 0.09, "severe": 0.33}}
    assert heading.upper() in report.summary() and f"**{heading}**" in report.to_markdown()
    page = report.to_html()
    assert f"<title>{heading}: " in page and f"<h1>{heading}</h1>" in page
    forged = document | {"level": document["level"] | {"name": "none"}}
    assert check_table_document(forged)["level"] == document["level"]


def test_the_page_begins_with_what_matters_and_holds_each_number(report, document):
    pytest.importorskip("jinja2")
    page = report.to_html()
    order = ["<h1>", 'class="lead"', 'id="next"', "Singling out", "Linkability", "Inference</h2>"]
    order += [f'<section id="{name}"' for name in ("copies", "inference", "members", "use")]
    order += [f'<section id="{name}"' for name in ("trust", "all", "repeat")]
    places = [page.index(part) for part in order]
    assert places == sorted(places) and "style=" not in page and "<script" not in page
    assert page.count('<td data-l="p">') == len(document["results"])
    assert "&lt; 0.001" in page and len(page) < 60_000


@pytest.mark.parametrize("evidence", ["none", "shift", "reversed"])
def test_each_evidence_has_its_words_and_steps(document, evidence):
    pytest.importorskip("jinja2")
    document["evidence"] = evidence
    name = "none" if evidence == "none" else "unknown"
    document["level"] |= {"name": name, "at_least": False}
    for one in document["level"]["groups"]:
        one |= {"name": name, "at_least": False}
    page = render_table(document)
    told = {
        "none": "would have been found with a probability of 80%. A stronger attack may still",
        "shift": "Training rows and rows never seen differ even without the table.",
        "reversed": "The most common reason is that the two tables were swapped.",
    }
    assert told[evidence] in page and page.count("<li>") >= 2
    assert ('class="evidence risks"' in page) == (evidence == "none")
    assert ("Severe" in page.partition('id="trust"')[0]) is False
