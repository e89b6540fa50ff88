"""doc/papers.md names what is there, and leaves no example or printed table out."""

import re
from pathlib import Path

import pytest
from compare_published import OUTCOMES, REASONS, count_outcomes, count_reasons
from published.page import anchor

from tests.test_docs_tables import PUBLIC, read_tables

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "doc" / "papers.md"
TABLES = read_tables(PAGE)
ROWS = [row for name, rows in TABLES.items() if name != "Papers" for row in rows]
LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.mark.parametrize("document", [name for name in TABLES if name != "Papers"])
def test_every_name_is_public(document):
    for row in TABLES[document]:
        for name in re.findall(r"`([^`]+)`", row["class or function"]):
            assert name in PUBLIC, (row["item"], name)


def test_every_link_leads_to_a_file_and_a_place():
    for target in LINK.findall(PAGE.read_text(encoding="utf-8")):
        path, _, place = target.partition("#")
        file = (PAGE.parent / path).resolve()
        assert file.is_file() and file.is_relative_to(ROOT), target
        headings = re.findall(r"^#+ (.*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert not place or place in map(anchor, headings), target


def test_every_row_has_one_outcome_and_a_link_or_a_reason():
    assert len({row["item"] for row in ROWS}) > len(ROWS) - 5
    for row in ROWS:
        assert row["outcome"] in OUTCOMES, row
        named = row["class or function"] or LINK.search(row["see"])
        needs = row["outcome"] != "code"
        assert row["note"] if needs else named or row["note"], row["item"]


def test_outcomes_are_defined_and_counted_from_the_rows():
    text = PAGE.read_text(encoding="utf-8")
    defined = re.findall(r"^\* \*\*([^*]+)\*\*", text, re.MULTILINE)
    assert sorted(defined) == sorted(OUTCOMES)
    assert count_outcomes(text) == text
    *documents, everything = TABLES["Papers"]
    assert [row["document"] for row in documents] == list(TABLES)[1:]
    assert int(everything["all"]) == len(ROWS) == sum(int(everything[name]) for name in OUTCOMES)
    moved = text.replace("| printed number |", "| differs |", 1)
    assert count_outcomes(moved) != moved


def test_each_row_that_differs_or_was_not_run_has_one_reason():
    text = PAGE.read_text(encoding="utf-8")
    defined = re.findall(r"^\* \*([^*]+)\* \(", text, re.MULTILINE)
    assert defined == [one.lower() for one in REASONS]
    for row in ROWS:
        if row["outcome"] in ("differs", "not run"):
            assert [one in REASONS for one in re.findall(r"\*([^*]+)\*", row["note"])] == [True], (
                row
            )
    for outcome, counts in count_reasons(text).items():
        assert sum(counts.values()) == sum(row["outcome"] == outcome for row in ROWS)


def test_a_printed_number_is_one_and_a_difference_says_how_much():
    for row in ROWS:
        if row["outcome"] == "printed number":
            assert re.search(r"\d|authors", row["note"]), row["item"]
        if row["outcome"] == "differs":
            assert "printed" in row["note"] or re.search(r"\d", row["note"]), row["item"]


def test_no_example_and_no_compared_table_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    examples = (ROOT / "examples" / "3_papers").glob("plot_*.py")
    assert not [path.name for path in examples if f"3_papers/{path.name})" not in text]
    page = (ROOT / "benchmarks" / "results" / "published.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)", page, re.MULTILINE)
    assert len(titles) >= 10
    assert not [title for title in titles if f"published.md#{anchor(title)})" not in text]
