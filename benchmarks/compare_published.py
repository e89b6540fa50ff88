"""Write benchmarks/results/published.md: printed tables of the five documents beside ours.

    python benchmarks/compare_published.py

reads the kept results and the printed values of benchmarks/published; nothing is trained.
"""

import importlib
from pathlib import Path

from published.page import write_page

RESULTS = Path(__file__).parent / "results"
PARTS = ("del_grosso", "odell", "slides", "pedersen")


def make_page():
    parts = [importlib.import_module(f"published.tables_{name}") for name in PARTS]
    return write_page([section for part in parts for section in part.make_sections(RESULTS)])


if __name__ == "__main__":
    (RESULTS / "published.md").write_text(make_page(), encoding="utf-8")
