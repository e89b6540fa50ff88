"""Write benchmarks/results/published.md: printed tables of the five documents beside ours.

    python benchmarks/compare_published.py

reads the kept results and the printed values of benchmarks/published; nothing is trained. It also
counts the outcomes in the rows of doc/papers.md, and writes the table of counts on that page.
"""

import argparse
import importlib
import re
from pathlib import Path

from published.page import to_table, write_page

RESULTS = Path(__file__).parent / "results"
PAPERS = Path(__file__).parents[1] / "doc" / "papers.md"
OUTCOMES = ("printed number", "direction", "simulated", "differs", "code", "not run")
REASONS = (
    "Not at hand",
    "Larger nets",
    "Not printed",
    "Error in print",
    "No values",
    "Settled",
    "Open",
)
PARTS = ("del_grosso", "odell", "slides", "pedersen")


def make_page():
    parts = [importlib.import_module(f"published.tables_{name}") for name in PARTS]
    sections = [section for part in parts for section in part.make_sections(RESULTS)]
    row = re.compile(r"^\|[^|]*\|([^|]*)\|.*published\.md#([\w-]+)", re.MULTILINE)
    text = PAPERS.read_text(encoding="utf-8")
    outcomes = {place: outcome.strip() for outcome, place in row.findall(text)}
    return write_page(sections, outcomes, count_reasons(text)["differs"])


def read_outcomes(section):
    """Outcomes of the rows of a section, the second cell of each."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.split("|")[2].strip() for line in lines[1:]]


def count_reasons(text):
    """How often each reason stands in the rows that differ and in those that were not run."""
    row = re.compile(r"^\|[^|]*\| (differs|not run) \|[^|]*\*([^|*]+)\*", re.MULTILINE)
    found = row.findall(text)
    return {
        outcome: {reason: found.count((outcome, reason)) for reason in REASONS}
        for outcome in ("differs", "not run")
    }


def count_outcomes(text):
    """The page of papers with the counts that its rows give."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    found = {one.partition("\n")[0]: read_outcomes(one) for one in sections}
    found["all"] = [outcome for outcomes in found.values() for outcome in outcomes]
    rows = [[name, *map(one.count, OUTCOMES), len(one)] for name, one in found.items()]
    rows = [[str(cell) for cell in row] for row in rows]
    table = to_table(rows, ["document", *OUTCOMES, "all"])
    text = re.sub(r"^\| document \|.*?\n\n", f"{table}\n\n", text, flags=re.DOTALL | re.MULTILINE)
    differ, missing = count_reasons(text).values()
    for one in REASONS:
        said = f"* *{one.lower()}* ({differ[one]} differ, {missing[one]} not run)"
        text = re.sub(rf"^\* \*{one.lower()}\*( \(.*?\))?", said, text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAPERS.write_text(count_outcomes(PAPERS.read_text(encoding="utf-8")), encoding="utf-8")
    (RESULTS / "published.md").write_text(make_page(), encoding="utf-8")
