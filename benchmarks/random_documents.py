"""Whether anything that is told of an audit contradicts its numbers, in drawn documents.

Each document has numbers, intervals, p-values and outcomes of checks that fall as in an audit of 3
to 100,000 records a side; no model is trained. Its text, page, Markdown, sheet, JUnit, SARIF and
exit code are held against the document.

    python benchmarks/random_documents.py --first 0 --n 10000
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from contradictions import list_contradictions, list_strange_numbers, tell
from random_audits import draw_report

from skmia.report import check_document


def look_at(seed):
    """What contradicts a number in one document, and its kind."""
    report = draw_report(seed)
    told = tell(report)
    found = [*list_contradictions(told), *list_strange_numbers(told)]
    if seed % 10 == 0 and check_document(told.document) != told.document:
        found.append("the document that is read is another one")
    return report.evidence, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--n", type=int, default=10_000, help="number of documents")
    arguments = parser.parse_args()
    kinds, n_wrong = Counter(), 0
    for seed in range(arguments.first, arguments.first + arguments.n):
        kind, found = look_at(seed)
        kinds[kind] += 1
        n_wrong += bool(found)
        for text in found:
            print(f"seed {seed}: {text}", flush=True)
        if sum(kinds.values()) % 100 == 0:
            print(f"{sum(kinds.values()):,} documents, {n_wrong} with a contradiction", flush=True)
    print(f"{dict(kinds)}; {n_wrong} of {arguments.n:,} documents contradict themselves")


if __name__ == "__main__":
    main()
