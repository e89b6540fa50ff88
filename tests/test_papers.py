"""doc/papers.md names what is there, and leaves no example or printed table out."""

import re
from pathlib import Path

import pytest
from published.page import anchor

from tests.test_docs_tables import PUBLIC, read_tables

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "doc" / "papers.md"
TABLES = read_tables(PAGE)
ROWS = [row for name, rows in TABLES.items() if name != "Papers" for row in rows]
LINK = re.compile(r"\]\(([^)]+)\)")
STATES = ("works", "reproduced", "differs", "not run")


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


def test_every_row_has_a_state_and_a_link_or_a_reason():
    assert len({row["item"] for row in ROWS}) > len(ROWS) - 5
    for row in ROWS:
        state = next(one for one in STATES if row["state"].startswith(one))
        named = row["class or function"] or LINK.search(row["example"] + row["result"])
        reason = row["state"].removeprefix(state).strip(" ,:;")
        assert reason if state in ("differs", "not run") else named or reason, row["item"]


def test_the_counts_are_those_of_the_rows():
    (counts,) = TABLES["Papers"]
    for state in STATES:
        assert int(counts[state]) == sum(row["state"].startswith(state) for row in ROWS), state
    assert int(counts["all"]) == len(ROWS)


def test_no_example_and_no_compared_table_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    examples = (ROOT / "examples" / "3_papers").glob("plot_*.py")
    assert not [path.name for path in examples if f"3_papers/{path.name})" not in text]
    page = (ROOT / "benchmarks" / "results" / "published.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)", page, re.MULTILINE)
    assert len(titles) >= 10
    assert not [title for title in titles if f"published.md#{anchor(title)})" not in text]
